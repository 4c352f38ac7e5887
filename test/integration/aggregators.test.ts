/** Routes of aggregators elsewhere: their interfaces as their documents have them, behind local servers, since they cannot run here. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  address,
  getBase64EncodedWireTransaction,
  getTransactionDecoder,
  type KeyPairSigner,
  partiallySignTransaction,
} from '@solana/kit'
import {
  decodeFunctionData,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  parseAbi,
  parseAbiParameters,
  parseEther,
} from 'viem'
import {
  associatedTokenAddress,
  computeLimit,
  computePrice,
  createTokenAccount,
  dataOf,
  SYSTEM_PROGRAM,
  TOKEN_PROGRAM,
  transferSol,
  unwrapSol,
  wrapSol,
} from '../../serving/dex/solana-calls.ts'
import { type SolanaInstruction, unsignedTransaction } from '../../serving/dex/solana-message.ts'
import { TIP_ACCOUNTS } from '../../serving/dex/solana-tip.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { addressBytes, addressFor } from '../support/builders/svm-block.ts'
import { createCapturedLogger } from '../support/captured-logger.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import { callingCode } from '../support/nodes/calling-contract.ts'
import { createDeployer } from '../support/nodes/contract-deployer.ts'
import {
  fundedWallet,
  type LocalSvm,
  putAccount,
  startLocalSvm,
} from '../support/nodes/local-svm.ts'

const SOL = 1_000_000_000n
const JSON_TYPE = { 'content-type': 'application/json' }
const WSOL = 'So11111111111111111111111111111111111111112'
const MINT = addressFor('aggregated mint')
const POOL = addressFor('pool')
const JUPITER = 'JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4'
const ROUTER = '0x6131B5fae19EA4f9D964eAc0408E4408b66337b5'
const [KEY, PATH_KEY, CLIENT] = ['the-key-of-jupiter', 'path-key', 'sluice-test']
const [QUOTE, SWAP] = [`/${PATH_KEY}/quote`, `/${PATH_KEY}/swap`]
const [ROUTES, BUILD] = ['/kyber/ethereum/api/v1/routes', '/kyber/ethereum/api/v1/route/build']
const owner = devAccount(4).address

type Body = Readonly<Record<string, unknown>>
interface Asked {
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: Body
  readonly sent: string
}
/** Answers of both aggregators by path; a function may answer anything. */
let answers: Record<string, Body | ((response: ServerResponse) => void)>
const asked: Asked[] = []
const server = createServer(async (request, response) => {
  const url = new URL(request.url ?? '', 'http://aggregator')
  const sent = await text(request)
  const body = sent === '' ? {} : (JSON.parse(sent) as Body)
  asked.push({ path: url.pathname, query: url.searchParams, headers: request.headers, body, sent })
  const answer = answers[url.pathname]
  if (typeof answer === 'function') return answer(response)
  response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(answer ?? {}))
})

/** The node, which can be one that takes no code of the caller's. */
let takesOverrides: boolean
const evmNode = createServer(async (request, response) => {
  const sent = await text(request)
  const { id, method, params } = JSON.parse(sent)
  response.setHeader('content-type', 'application/json')
  if (method === 'eth_call' && params.length > 2 && !takesOverrides) {
    const error = { code: -32_602, message: 'too many arguments, want at most 2' }
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, error }))
  }
  const answer = await fetch(anvil.httpUrl, { method: 'POST', headers: JSON_TYPE, body: sent })
  response.end(await answer.text())
})

/** Of the aggregators. */
let host: string
let anvil: Anvil
let svm: LocalSvm
let api: TestApi
let wallet: KeyPairSigner
let token: string
/** The wallet's accounts of wrapped SOL, of what it buys, and of another token. */
let [wrapped, bought, savings] = ['', '', '']
/** The same without aggregators. */
let plain: TestApi
const { log, lines } = createCapturedLogger()

const urlOf = async (listening: typeof server): Promise<string> => {
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}
before(async () => {
  const [url = '', nodeUrl = ''] = await Promise.all([server, evmNode].map(urlOf))
  host = new URL(url).host
  anvil = await startAnvil()
  svm = await startLocalSvm()
  wallet = await fundedWallet(svm, 1, 50n * SOL)
  const accountOf = (mint: string) => associatedTokenAddress(wallet.address, mint, TOKEN_PROGRAM)
  wrapped = await accountOf(WSOL)
  bought = await accountOf(MINT)
  savings = await accountOf(addressFor('other mint'))
  putAccount(svm, MINT, { owner: TOKEN_PROGRAM, data: Buffer.alloc(82) })
  const saved = tokenAccount(addressFor('other mint'), 7_000n)
  putAccount(svm, savings, { owner: TOKEN_PROGRAM, data: saved })
  const deployer = createDeployer(anvil.client, { token: '@uniswap/v2-core/build/ERC20.json' })
  token = (await deployer.deploy('token', ['uint256'], [parseEther('1000')])).toLowerCase()
  const transfer = { address: token as Hex, abi: ERC20, functionName: 'transfer' } as const
  for (const holder of [owner, ROUTER] as const) {
    await anvil.client.writeContract({ ...transfer, args: [holder, parseEther('2')] })
    await anvil.client.mine({ blocks: 1 })
  }
  await anvil.client.setBalance({ address: ROUTER, value: parseEther('1') })
  const nodes = { chainRpcUrls: { eth: [nodeUrl], sol: [svm.url] } }
  const aggregators = {
    jupiterUrl: `${url}/${PATH_KEY}/`,
    jupiterApiKey: KEY,
    kyberswapUrl: `${url}/kyber`,
    kyberswapClientId: CLIENT,
  }
  const chains = ['eth', 'sol'] as const
  api = await startApi({ chains, overrides: { ...nodes, ...aggregators }, log })
  const warehouse = { ...api.warehouse, close: async () => undefined }
  plain = await startApi({ chains, overrides: nodes, warehouse })
})
after(async () => {
  await plain.stop()
  await api.stop()
  await anvil.stop()
  await svm.stop()
  for (const each of [server, evmNode]) {
    each.closeAllConnections()
    each.close()
  }
})
beforeEach(async () => {
  asked.length = 0
  takesOverrides = true
  swapRuns(quotedRun())
  await routerPays(2_990_000_000n)
  answers = {
    [QUOTE]: jupiterQuote(),
    [SWAP]: { swapTransaction: swapOf(wallet.address), lastValidBlockHeight: 777 },
    [ROUTES]: { code: 0, data: kyberRoutes() },
    [BUILD]: { code: 0, data: kyberBuilt() },
  }
})

/** What a run of Jupiter's swap changes: token units of accounts by their address, lamports, and bytes of accounts. */
interface RunChanges {
  readonly lamports?: Readonly<Record<string, bigint>>
  readonly tokens?: Readonly<Record<string, bigint>>
  readonly bytes?: Readonly<Record<string, readonly [at: number, bytes: Uint8Array]>>
}
const lifetime = () => ({ blockhash: svm.svm.latestBlockhash(), lastValidBlockHeight: 777 })
/** Sets the budget, makes the accounts, wraps SOL, swaps and unwraps, as recorded transactions of Jupiter do. */
const jupiterCalls = (extra: readonly SolanaInstruction[] = [], swap = routeCall()) => [
  computeLimit(200_000),
  createTokenAccount(wallet.address, WSOL, { account: wrapped, tokenProgram: TOKEN_PROGRAM }),
  ...wrapSol(wallet.address, wrapped, SOL),
  createTokenAccount(wallet.address, MINT, { account: bought, tokenProgram: TOKEN_PROGRAM }),
  swap,
  unwrapSol(wallet.address, wrapped),
  ...extra,
]
/** route_v2 of Jupiter: amounts, slippage and fees before the route. */
const routeCall = (name = 'bb64facc31c4af14', amounts = [SOL, 250_000_000n]): SolanaInstruction => {
  const rest = Buffer.alloc(10)
  rest.writeUInt16LE(100)
  const named = [wallet.address, wrapped, bought, WSOL, MINT, TOKEN_PROGRAM, TOKEN_PROGRAM, JUPITER]
  const places = ['sign', 'write', 'write', 'read', 'read', 'read', 'read', 'read'] as const
  const data = Buffer.concat([dataOf(name, ...amounts), rest])
  const accounts = named.map((account, at) => [account, places[at] ?? 'read'] as const)
  return { program: JUPITER, accounts: [...accounts, [POOL, 'write'], [savings, 'write']], data }
}
const swapOf = (payer: string, calls = jupiterCalls()): string =>
  unsignedTransaction(payer, lifetime(), calls)
const tokenAccount = (mint: string, amount: bigint): Buffer => {
  const data = Buffer.alloc(165)
  for (const [at, key] of [
    [0, mint],
    [32, wallet.address],
  ] as const)
    data.set(addressBytes(key), at)
  data.writeBigUInt64LE(amount, 64)
  data.writeUInt8(1, 108)
  return data
}
/** Jupiter's program cannot be had here: the node says that a transaction ran, and what the owner's accounts are then. */
const swapRuns = ({ lamports = {}, tokens = {}, bytes = {} }: RunChanges): void => {
  const afterRun = (key: string) => {
    const account = svm.svm.getAccount(address(key))
    const [at, changed] = bytes[key] ?? []
    if (!account.exists && tokens[key] === undefined) return null
    const data = Buffer.from(account.exists ? account.data : tokenAccount(MINT, 0n))
    if (tokens[key] !== undefined) data.writeBigUInt64LE(data.readBigUInt64LE(64) + tokens[key], 64)
    if (changed !== undefined) data.set(changed, at)
    const held = account.exists ? account.lamports : 0n
    const owner = key === wallet.address ? SYSTEM_PROGRAM : TOKEN_PROGRAM
    const json = [data.toString('base64'), 'base64']
    return { owner, lamports: Number(held + (lamports[key] ?? 0n)), data: json }
  }
  svm.answers.set('simulateTransaction', (params: readonly [string, RunOptions]) => {
    const { addresses } = params[1].accounts
    return { value: { err: null, logs: [], unitsConsumed: 1, accounts: addresses.map(afterRun) } }
  })
}
interface RunOptions {
  readonly accounts: { readonly addresses: readonly string[] }
}
/** A new account's rent, and the swap as it was quoted. */
const RENT = 2_039_280n
const quotedRun = (): RunChanges => ({
  lamports: { [wallet.address]: -SOL - RENT - 5_000n, [bought]: RENT },
  tokens: { [bought]: 250_000_000n },
})
const jupiterQuote = (more: Body = {}): Body => ({
  inputMint: WSOL,
  outputMint: MINT,
  inAmount: '1000000000',
  outAmount: '250000000',
  otherAmountThreshold: '247500000',
  swapMode: 'ExactIn',
  slippageBps: 100,
  priceImpactPct: '0.0123456',
  contextSlot: 4_711,
  routePlan: [
    {
      percent: 100,
      swapInfo: {
        ammKey: addressFor('pool'),
        label: 'Some AMM',
        inputMint: WSOL,
        outputMint: MINT,
        inAmount: '1000000000',
        outAmount: '250000000',
      },
    },
  ],
  ...more,
})
const addressOf = (byte: string): Hex => `0x${byte.repeat(20)}`
/** What a call says where a token is sold: the executor gets it, as recorded calls have it. */
const EXECUTOR = addressOf('e0')
const TO_EXECUTOR = { srcReceivers: [EXECUTOR], srcAmounts: [parseEther('1')] }
const NATIVE = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'
const ERC20 = parseAbi([
  'function transfer(address,uint256)',
  'function transferFrom(address,address,uint256)',
  'function approve(address,uint256)',
])
const DESCRIPTION =
  '(address srcToken, address dstToken, address[] srcReceivers, uint256[] srcAmounts, address[] feeReceivers, uint256[] feeAmounts, address dstReceiver, uint256 amount, uint256 minReturnAmount, uint256 flags, bytes permit) desc'
const KYBER_ROUTER = parseAbi([
  `function swap((address callTarget, address approveTarget, bytes targetData, ${DESCRIPTION}, bytes clientData) execution) payable`,
  `function swapGeneric((address callTarget, address approveTarget, bytes targetData, ${DESCRIPTION}, bytes clientData) execution) payable`,
  `function swapSimpleMode(address caller, ${DESCRIPTION}, bytes executorData, bytes clientData)`,
])
const describe = (more: Body) => ({
  srcToken: NATIVE as Hex,
  dstToken: token as Hex,
  srcReceivers: [],
  srcAmounts: [],
  feeReceivers: [],
  feeAmounts: [],
  dstReceiver: owner,
  amount: parseEther('1'),
  minReturnAmount: 2_960_100_000n,
  flags: 0x200n,
  permit: '0x' as const,
  ...more,
})

const kyberCall = (
  more: Body = {},
  targetData: Hex = '0x01',
  functionName: 'swap' | 'swapGeneric' = 'swap',
): Hex => {
  const targets = { callTarget: EXECUTOR, approveTarget: addressOf('00') }
  const execution = { ...targets, targetData, clientData: '0x02' } as const
  return encodeFunctionData({
    abi: KYBER_ROUTER,
    functionName,
    args: [{ ...execution, desc: describe(more) }],
  })
}
/** The router's contract cannot be had here: another one is at its address and pays so much of the token, whatever it is called with. */
const routerPays = async (amount: bigint) => {
  const data = encodeFunctionData({ abi: ERC20, functionName: 'transfer', args: [owner, amount] })
  await anvil.client.setCode({
    address: ROUTER,
    bytecode: callingCode([{ to: token as Hex, data }]),
  })
}
/** One that takes so much of the token and pays the native token. */
const routerTakes = async (amount: bigint, value = 3_000_000_000n) => {
  const args = [owner, ROUTER, amount] as const
  const data = encodeFunctionData({ abi: ERC20, functionName: 'transferFrom', args })
  const bytecode = callingCode([
    { to: token as Hex, data },
    { to: owner, value },
  ])
  await anvil.client.setCode({ address: ROUTER, bytecode })
}
const kyberRoutes = (more: Body = {}): Body => ({
  routerAddress: ROUTER,
  routeSummary: {
    tokenIn: NATIVE.toLowerCase(),
    tokenOut: token,
    amountIn: '1000000000000000000',
    amountOut: '3000000000',
    route: [
      [
        {
          pool: '0x1111111111111111111111111111111111111111',
          exchange: 'some-dex',
          tokenIn: NATIVE,
          tokenOut: token,
          swapAmount: '1000000000000000000',
          amountOut: '3000000000',
        },
      ],
    ],
    ...more,
  },
})
const kyberBuilt = (more: Body = {}): Body => ({
  amountIn: '1000000000000000000',
  amountOut: '2990000000',
  data: kyberCall(),
  routerAddress: ROUTER,
  transactionValue: '1000000000000000000',
  ...more,
})

const post = async (chain: 'eth' | 'sol', body: Body, to = api) => {
  const answer = await callApi(to, `/v2/dex/${chain}/route`, {
    method: 'POST',
    headers: { 'x-api-key': to.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: answer.status, body: answer.body as Body & { readonly code?: number } }
}
const overJupiter = (more: Body = {}, to = api) =>
  post(
    'sol',
    {
      dex: 'jupiter',
      userAddress: wallet.address,
      amount: '1000000000',
      slippage: 1,
      inputMint: WSOL,
      outputMint: MINT,
      ...more,
    },
    to,
  )
const overKyberswap = (more: Body = {}, to = api) =>
  post(
    'eth',
    {
      dex: 'kyberswap',
      userAddress: owner,
      amount: '1000000000000000000',
      slippage: 1,
      inputMint: NATIVE,
      outputMint: token,
      ...more,
    },
    to,
  )

test('a route of Jupiter is its transaction, run at the node, with what it quotes', async () => {
  const { status, body } = await overJupiter({ priorityFee: '5000' })
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.serializedTx, (answers[SWAP] as Body).swapTransaction)
  assert.equal(body.lastValidBlockHeight, 777)
  assert.equal(body.recentBlockhash, svm.svm.latestBlockhash())
  const { hops, ...info } = body.routeInfo as Body
  assert.deepEqual(info, {
    inAmount: '1000000000',
    outAmount: '250000000',
    minOutAmount: '247500000',
    maxInAmount: '1000000000',
    priceImpact: '1.2346',
    feeAmount: null,
    route: [WSOL, MINT],
    block: 4_711,
    simulated: true,
  })
  assert.equal((hops as readonly Body[])[0]?.dex, 'Some AMM')
  const [quoted, built] = asked
  assert.deepEqual(Object.fromEntries(quoted?.query ?? []), {
    inputMint: WSOL,
    outputMint: MINT,
    amount: '1000000000',
    slippageBps: '100',
    swapMode: 'ExactIn',
    instructionVersion: 'V2',
  })
  assert.equal(quoted?.headers['x-api-key'], KEY)
  assert.deepEqual(built?.body, {
    quoteResponse: jupiterQuote(),
    userPublicKey: wallet.address,
    wrapAndUnwrapSol: true,
    prioritizationFeeLamports: 5_000,
  })
})

test('without a fee of the request Jupiter is to choose none, a tip is its own kind, and the quote goes back as it came', async () => {
  await overJupiter()
  assert.equal(asked[1]?.body.prioritizationFeeLamports, 0)
  answers[QUOTE] = (response) => {
    const exact = JSON.stringify(jupiterQuote({ routeId: 'here' }))
    response.end(exact.replace('"here"', '1461446703485210103287273052203988822378723970341'))
  }
  const { status } = await overJupiter({ tipFee: '5000' })
  assert.equal(status, 200)
  assert.deepEqual(asked[3]?.body.prioritizationFeeLamports, { jitoTipLamports: 5_000 })
  assert.match(
    asked[3]?.sent ?? '',
    /"routeId":1461446703485210103287273052203988822378723970341\b/,
  )
})

test('an exact output of Jupiter has a limit of what it costs', async () => {
  const amounts = { amount: '250000000', swapMode: 'ExactOut' }
  answers[QUOTE] = jupiterQuote({ otherAmountThreshold: '1010000000' })
  const swap = routeCall('9d8ab85215f4f324', [250_000_000n, SOL])
  const swapTransaction = swapOf(wallet.address, jupiterCalls([], swap))
  answers[SWAP] = { swapTransaction, lastValidBlockHeight: 777 }
  const { status, body } = await overJupiter(amounts)
  assert.equal(status, 200, JSON.stringify(body))
  const { maxInAmount, minOutAmount } = body.routeInfo as Body
  assert.deepEqual([maxInAmount, minOutAmount], ['1010000000', '250000000'])
  assert.equal(asked[0]?.query.get('swapMode'), 'ExactOut')
  for (const quote of [
    { otherAmountThreshold: '1010000001' },
    { otherAmountThreshold: '999999999' },
    { otherAmountThreshold: '1010000000', outAmount: '249999999' },
  ]) {
    answers[QUOTE] = jupiterQuote(quote)
    assert.equal((await overJupiter(amounts)).body.code, 50_016, JSON.stringify(quote))
  }
})

test('what Jupiter answers otherwise than it was asked is refused', async () => {
  const signed = await partiallySignTransaction(
    [wallet.keyPair],
    getTransactionDecoder().decode(Buffer.from(swapOf(wallet.address), 'base64')),
  )
  const quotes: readonly Body[] = [
    { inAmount: '2000000000' },
    { outputMint: WSOL },
    { otherAmountThreshold: '247499999' },
    { otherAmountThreshold: '250000001' },
    { priceImpactPct: 'none' },
    { contextSlot: '9'.repeat(70) },
    { outAmount: 'much' },
    { routePlan: [] },
    { routePlan: [{ percent: 100 }] },
    { contextSlot: null },
  ]
  for (const quote of quotes) {
    answers[QUOTE] = jupiterQuote(quote)
    const { status, body } = await overJupiter()
    assert.deepEqual([status, body.code], [502, 50_016], JSON.stringify(quote))
  }
  answers[QUOTE] = jupiterQuote()
  for (const swapTransaction of [
    unsignedTransaction(addressFor('somebody'), lifetime(), [computeLimit(1)]),
    getBase64EncodedWireTransaction(signed),
    'AAAA',
    7,
    Buffer.alloc(1_300, 1).toString('base64'),
  ]) {
    answers[SWAP] = { swapTransaction, lastValidBlockHeight: 777 }
    const { status, body } = await overJupiter()
    assert.deepEqual([status, body.code], [502, 50_016], String(swapTransaction).slice(0, 20))
  }
})

test('a transaction of Jupiter that fails at the node is not handed out; another recipient, two fees and a high impact are refused', async () => {
  const codeOf = async (more?: Body) => (await overJupiter(more)).body.code
  svm.answers.delete('simulateTransaction')
  assert.equal(await codeOf(), 50_012, 'the program is not there')
  svm.answers.set('simulateTransaction', { value: { err: null, logs: [], unitsConsumed: 1 } })
  assert.equal(await codeOf(), 50_002, 'the node does not tell the accounts')
  swapRuns(quotedRun())
  assert.equal(await codeOf({ recipientAddress: addressFor('other') }), 40_024)
  assert.equal(await codeOf({ tipFee: '5000', priorityFee: '5000' }), 40_022)
  answers[QUOTE] = jupiterQuote({ priceImpactPct: '0.2' })
  assert.equal(await codeOf(), 40_007)
})

test('a transaction of Jupiter that is not the swap alone is refused, although it would run', async () => {
  const payer = wallet.address
  const stranger = addressFor('stranger')
  const close = { ...unwrapSol(payer, wrapped), accounts: [[wrapped, 'write'] as const] }
  const transactions: readonly (readonly [readonly SolanaInstruction[], RegExp])[] = [
    [[transferSol(payer, stranger, 49n * SOL)], /transfers SOL to another account/],
    [jupiterCalls([transferSol(payer, stranger, 1n)]), /transfers SOL to another account/],
    [jupiterCalls([transferSol(payer, TIP_ACCOUNTS[0], 5_000n)]), /larger tip/],
    [jupiterCalls([computePrice(100_000n)]), /larger fee/],
    [jupiterCalls([close]), /more with tokens/],
    [jupiterCalls([], routeCall('e517cb977ae3ad2a')), /another swap/],
    [jupiterCalls([], routeCall('bb64facc31c4af14', [SOL, 249_999_999n])), /another amount/],
  ]
  for (const [calls, reason] of transactions) {
    answers[SWAP] = { swapTransaction: swapOf(payer, [...calls]), lastValidBlockHeight: 777 }
    const { status, body } = await overJupiter()
    assert.deepEqual([status, body.code], [502, 50_016], String(reason))
    assert.match(JSON.stringify(body), reason)
  }
  const tipped = swapOf(payer, jupiterCalls([transferSol(payer, TIP_ACCOUNTS[0], 5_000n)]))
  answers[SWAP] = { swapTransaction: tipped, lastValidBlockHeight: 777 }
  assert.equal((await overJupiter({ tipFee: '5000' })).status, 200)
})

test('a run of Jupiter’s swap takes what is sold and gives the least, and leaves the other accounts of the wallet as they were', async () => {
  const usual = quotedRun()
  const rent = { [bought]: RENT }
  const cases: readonly (readonly [RunChanges, number | undefined, RegExp])[] = [
    [{ ...usual, tokens: { [bought]: 247_500_000n } }, undefined, /./],
    [{ ...usual, tokens: { [bought]: 247_499_999n } }, 50_012, /"received":"247499999"/],
    [{ lamports: rent }, 50_012, /price_moved/],
    [{ ...usual, lamports: { [wallet.address]: -49n * SOL, ...rent } }, 50_016, /more SOL/],
    [
      { ...usual, lamports: { ...rent, [wallet.address]: -SOL - RENT - 5_005_001n - 5_000n } },
      50_016,
      /more SOL/,
    ],
    [{ ...usual, tokens: { ...usual.tokens, [savings]: -1n } }, 50_016, /more of a token/],
    [{ ...usual, bytes: { [savings]: [72, Uint8Array.of(1)] } }, 50_016, /who may use/],
    [{ ...usual, bytes: { [savings]: [129, Uint8Array.of(1)] } }, 50_016, /who may use/],
    [{ ...usual, bytes: { [savings]: [32, addressBytes(POOL)] } }, 50_016, /who may use/],
    [{ ...usual, bytes: { [bought]: [32, addressBytes(POOL)] } }, 50_016, /who may use/],
  ]
  for (const [changes, code, reason] of cases) {
    swapRuns(changes)
    const { body } = await overJupiter()
    assert.equal(body.code, code, `${reason}: ${JSON.stringify(body)}`)
    assert.match(JSON.stringify(body), reason)
  }
})

test('a token that is sold for SOL over Jupiter is measured in lamports of the wallet', async () => {
  answers[QUOTE] = jupiterQuote({ inputMint: MINT, outputMint: WSOL })
  const [from, to] = [bought, wrapped]
  const call = routeCall('bb64facc31c4af14', [SOL, 250_000_000n])
  const places: Readonly<Record<string, string>> = { [from]: to, [to]: from }
  const accounts = call.accounts.map(([key, use]) => [places[key] ?? key, use] as const)
  const calls = [{ ...call, accounts }, unwrapSol(wallet.address, to)]
  answers[SWAP] = { swapTransaction: swapOf(wallet.address, calls), lastValidBlockHeight: 777 }
  putAccount(svm, from, { owner: TOKEN_PROGRAM, data: tokenAccount(MINT, 3n * SOL) })
  const sale = { inputMint: MINT, outputMint: WSOL }
  const codeOf = async (sold: bigint, gained: bigint) => {
    swapRuns({ lamports: { [wallet.address]: gained }, tokens: { [from]: -sold } })
    return (await overJupiter(sale)).body.code
  }
  assert.equal(await codeOf(SOL, 247_500_000n - 5_000n), undefined)
  assert.equal(await codeOf(SOL, 247_500_000n - 5_005_001n), 50_012)
  assert.equal(await codeOf(SOL + 1n, 250_000_000n), 50_016)
})

test('a route of KyberSwap is a call of its router, with an approval where that is missing', async () => {
  const { status, body } = await overKyberswap()
  assert.equal(status, 200, JSON.stringify(body))
  const { to, value, data } = body.tx as Body
  assert.deepEqual([String(to).toLowerCase(), value], [ROUTER.toLowerCase(), '1000000000000000000'])
  assert.equal(data, kyberCall())
  const info = body.routeInfo as Body
  assert.deepEqual(
    [info.outAmount, info.minOutAmount, info.priceImpact, info.simulated],
    ['2990000000', '2960100000', null, true],
  )
  assert.equal(asked[0]?.headers['x-client-id'], CLIENT)
  const { slippageTolerance, sender, recipient } = asked[1]?.body ?? {}
  assert.deepEqual(
    [slippageTolerance, sender, recipient],
    [100, owner.toLowerCase(), owner.toLowerCase()],
  )
})

const SIMPLE = parseAbiParameters(
  '(address[] firstPools, uint256[] firstSwapAmounts, bytes[] swapDatas, uint256 deadline, bytes destTokenFeeData)',
)
const simpleData = (deadline: number): Hex =>
  encodeAbiParameters(SIMPLE, [
    {
      firstPools: [addressOf('11')],
      firstSwapAmounts: [parseEther('1')],
      swapDatas: ['0x01'],
      deadline: BigInt(deadline),
      destTokenFeeData: '0x',
    },
  ])
/** Sells the token for the native token from here on. */
const tokenSale = (data: Hex): Body => {
  const named = { tokenIn: token, tokenOut: NATIVE }
  answers[ROUTES] = { code: 0, data: kyberRoutes(named) }
  answers[BUILD] = { code: 0, data: kyberBuilt({ transactionValue: '0', data, gas: '900000' }) }
  return { inputMint: token, outputMint: NATIVE }
}

test('in simple mode the router itself reads the deadline, and a later one than that of the request is refused', async () => {
  const deadline = Math.floor(Date.now() / 1_000) + 600
  const sold = { srcToken: token, dstToken: NATIVE }
  await routerTakes(parseEther('1'))
  const simple = (executorData: Hex, more: Body = {}) =>
    encodeFunctionData({
      abi: KYBER_ROUTER,
      functionName: 'swapSimpleMode',
      args: [EXECUTOR, describe({ ...sold, ...more }), executorData, '0x'],
    })
  const statusOf = async (data: Hex) =>
    (await overKyberswap({ ...tokenSale(data), deadline })).status
  assert.equal(await statusOf(simple(simpleData(deadline))), 200)
  assert.equal(await statusOf(kyberCall({ ...sold, flags: 0x220n }, simpleData(deadline))), 200)
  for (const data of [
    simple(simpleData(deadline + 1)),
    simple('0x'),
    simple(simpleData(deadline), { flags: 0x81n }),
    kyberCall({ ...sold, flags: 0x220n }, simpleData(deadline + 1)),
    kyberCall({ ...sold, flags: 0x220n }),
  ])
    assert.equal(await statusOf(data), 502, data)
})

test('a call of KyberSwap that takes fees, may fill a part, uses a permit or pays others than its executor is refused', async () => {
  const sold = { srcToken: token, dstToken: NATIVE, ...TO_EXECUTOR }
  const refuses = async (data: Hex, reason: RegExp, more: Body = {}) => {
    const { status, body } = await overKyberswap(more)
    assert.deepEqual([status, body.code], [502, 50_029], data)
    assert.match(JSON.stringify(body), reason)
  }
  const cases: readonly (readonly [Body, RegExp])[] = [
    ...[0x01n, 0x02n, 0x04n, 0x08n, 0x10n, 0x40n, 0x80n, 0x81n, 0x100n, 0x400n].map(
      (flags) => [{ flags }, /flags/] as const,
    ),
    [{ feeReceivers: [addressOf('a7')], feeAmounts: [10_000n] }, /takes a fee/],
    [{ feeAmounts: [1n] }, /takes a fee/],
    [{ permit: '0x01' }, /permit/],
  ]
  for (const [more, reason] of cases) {
    const data = kyberCall(more)
    answers[BUILD] = { code: 0, data: kyberBuilt({ data }) }
    await refuses(data, reason)
  }
  const paid = kyberCall(TO_EXECUTOR)
  answers[BUILD] = { code: 0, data: kyberBuilt({ data: paid }) }
  await refuses(paid, /others than its executor/)
  await routerTakes(parseEther('1'))
  const half = parseEther('0.5')
  const receivers: readonly Body[] = [
    { srcReceivers: [addressOf('a7')] },
    { srcReceivers: [EXECUTOR, addressOf('a7')], srcAmounts: [half, half] },
    { srcAmounts: [half] },
    { srcAmounts: [half, half] },
    { srcReceivers: [], srcAmounts: [] },
  ]
  for (const more of receivers) {
    const data = kyberCall({ ...sold, ...more })
    await refuses(data, /others than its executor/, tokenSale(data))
  }
  const shared = { srcReceivers: [EXECUTOR, EXECUTOR], srcAmounts: [half, half] }
  const { status } = await overKyberswap(tokenSale(kyberCall({ ...sold, ...shared })))
  assert.equal(status, 200)
})

test('between the output that is shown and the least there is the slippage and not more, whichever quote of KyberSwap is the smaller', async () => {
  answers[BUILD] = { code: 0, data: kyberBuilt({ amountOut: '3100000000' }) }
  assert.equal((await overKyberswap()).body.code, 50_029)
  const data = kyberCall({ minReturnAmount: 2_970_000_000n })
  answers[BUILD] = { code: 0, data: kyberBuilt({ amountOut: '3100000000', data }) }
  const { body } = await overKyberswap()
  const info = body.routeInfo as Body
  assert.deepEqual([info.outAmount, info.minOutAmount], ['3000000000', '2970000000'])
})

test('where the node takes no code of the caller, the answer says that nothing was tried', async () => {
  takesOverrides = false
  const { status, body } = await overKyberswap()
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal((body.routeInfo as Body).simulated, false)
})

test('a token that is sold over KyberSwap is tried with its approval, which is handed out where it is missing', async () => {
  const sale = tokenSale(kyberCall({ srcToken: token, dstToken: NATIVE, ...TO_EXECUTOR }))
  await routerTakes(parseEther('1'))
  const sold = await overKyberswap(sale)
  assert.equal(sold.status, 200, JSON.stringify(sold.body))
  const { approval } = sold.body as { readonly approval?: { readonly data: Hex } }
  const { args } = decodeFunctionData({ abi: ERC20, data: approval?.data ?? '0x' })
  assert.deepEqual(args, [ROUTER, parseEther('1')])
  const { value, gas } = sold.body.tx as Body
  assert.deepEqual([value, gas], ['0', '1080000'])
  assert.equal((sold.body.routeInfo as Body).simulated, false)
  await routerTakes(parseEther('1.5'))
  assert.equal((await overKyberswap(sale)).body.code, 50_012)
  await routerTakes(parseEther('1'), 2_960_100_000n)
  assert.equal((await overKyberswap(sale)).status, 200)
  await routerTakes(parseEther('1'), 2_960_099_999n)
  const less = await overKyberswap(sale)
  assert.equal(less.body.code, 50_012)
  assert.match(JSON.stringify(less.body), /"received":"2960099999"/)
})

test('a call of KyberSwap that reverts or gives less than its least is not handed out', async () => {
  await routerPays(2_960_100_000n)
  assert.equal((await overKyberswap()).status, 200)
  await routerPays(2_960_099_999n)
  const less = await overKyberswap()
  assert.deepEqual([less.status, less.body.code], [422, 50_012])
  assert.match(JSON.stringify(less.body), /price_moved/)
  await routerPays(parseEther('5'))
  assert.equal((await overKyberswap()).body.code, 50_012)
})

test('a route of KyberSwap goes back to it as it came', async () => {
  const digits = '1461446703485210103287273052203988822378723970341'
  answers[ROUTES] = (response) => {
    const exact = JSON.stringify({ code: 0, data: kyberRoutes({ priceLimit: 'here' }) })
    response.end(exact.replace('"here"', digits))
  }
  assert.equal((await overKyberswap()).status, 200)
  assert.ok(asked[1]?.sent.includes(`"priceLimit":${digits}`))
})

test('what KyberSwap answers otherwise than it was asked is refused, and so is an exact output', async () => {
  const cases: readonly (readonly [string, Body])[] = [
    [BUILD, { data: kyberBuilt({ routerAddress: `0x${'11'.repeat(20)}` }) }],
    [BUILD, { data: kyberBuilt({ transactionValue: '1' }) }],
    [BUILD, { data: kyberBuilt({ amountOut: '1' }) }],
    [BUILD, { data: kyberBuilt({ data: '0x0' }) }],
    [BUILD, { data: null }],
    [BUILD, { code: 4008, data: kyberBuilt() }],
    [BUILD, { data: kyberBuilt({ amountIn: '5' }) }],
    [BUILD, { data: kyberBuilt({ data: '0xe21fd0e9' }) }],
    [BUILD, { data: kyberBuilt({ data: kyberCall({}, '0x01', 'swapGeneric') }) }],
    [BUILD, { data: kyberBuilt({ data: kyberCall({ dstReceiver: ROUTER }) }) }],
    [BUILD, { data: kyberBuilt({ data: kyberCall({ srcToken: token }) }) }],
    [BUILD, { data: kyberBuilt({ data: kyberCall({ dstToken: ROUTER }) }) }],
    [BUILD, { data: kyberBuilt({ data: kyberCall({ amount: 5n }) }) }],
    [BUILD, { data: kyberBuilt({ data: kyberCall({ minReturnAmount: 2_960_099_999n }) }) }],
    [ROUTES, { data: kyberRoutes({ tokenOut: ROUTER }) }],
    [ROUTES, { data: kyberRoutes({ tokenIn: token }) }],
    [ROUTES, { data: kyberRoutes({ amountIn: '5' }) }],
    [ROUTES, { data: kyberRoutes({ route: [] }) }],
    [ROUTES, { data: { ...kyberRoutes(), routerAddress: owner } }],
  ]
  for (const [path, answer] of cases) {
    const before = answers[path]
    answers[path] = answer
    const { status, body } = await overKyberswap()
    assert.deepEqual([status, body.code], [502, 50_029], JSON.stringify(answer))
    if (before) answers[path] = before
  }
  const { body } = await overKyberswap({ swapMode: 'ExactOut' })
  assert.equal(body.code, 40_021)
  assert.equal((await overKyberswap({ router: 'universal' })).body.code, 40_024)
})

test('without configuration, and for other words, the own router answers', async () => {
  for (const over of [overJupiter, overKyberswap]) {
    const auto = await over({ dex: 'auto' })
    const named = await over({}, plain)
    assert.deepEqual([named.status, named.body.code], [auto.status, auto.body.code])
    assert.ok(named.status >= 400 && named.status !== 502, 'there are no pools')
  }
  const query = { dex: 'kyberswap', inputMint: NATIVE, outputMint: token, amount: '1' }
  const search = new URLSearchParams({ ...query, exactIn: 'true', slippage: '1' })
  await callApi(api, `/v2/dex/eth/quote?${search}`)
  assert.equal(asked.length, 0)
})

test('refusals of an aggregator have codes of their own, and after five outages it is not asked for ten seconds', async () => {
  const status =
    (code: number, text = 'no') =>
    (response: ServerResponse) => {
      response.writeHead(code, { location: 'http://127.0.0.1:9/' })
      response.end(text)
    }
  const failing: readonly (readonly [(response: ServerResponse) => void, number, number])[] = [
    [status(401), 502, 50_013],
    [status(429), 503, 50_014],
    [status(400), 502, 50_015],
    [status(302), 502, 50_016],
    [status(200, 'not json'), 502, 50_016],
    [status(200, `{"a":"${'a'.repeat(2_000_000)}"}`), 502, 50_016],
    [status(500), 502, 50_016],
    [() => undefined, 502, 50_016],
  ]
  for (const [answer, wantedStatus, code] of failing) {
    answers[QUOTE] = answer
    const { status: got, body } = await overJupiter()
    assert.deepEqual([got, body.code], [wantedStatus, code])
    for (const secret of [KEY, PATH_KEY, host])
      assert.ok(!JSON.stringify([body, lines]).includes(secret), secret)
    if (code === 50_013 || answer === failing.at(-1)?.[0]) continue
    answers[ROUTES] = answer
    const other = await overKyberswap()
    assert.deepEqual([other.status, other.body.code], [502, 50_029])
  }
  const askedBefore = asked.length
  answers[QUOTE] = status(400)
  for (let call = 0; call < 7; call += 1) await overJupiter()
  assert.equal(asked.length, askedBefore + 7, 'refusals do not count as outages')
  answers[QUOTE] = status(500)
  for (let call = 0; call < 5; call += 1) await overJupiter()
  const before = asked.length
  assert.equal((await overJupiter()).body.code, 50_016)
  assert.equal(asked.length, before, 'it is not asked any more')
  answers[QUOTE] = jupiterQuote()
  await sleep(10_100)
  assert.equal((await overJupiter()).status, 200, 'it is asked again')
})
