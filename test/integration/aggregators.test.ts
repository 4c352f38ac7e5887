/** Routes of aggregators elsewhere: their interfaces as their documents have them, behind local servers, since they cannot run here. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, beforeEach, test } from 'node:test'
import {
  getBase64EncodedWireTransaction,
  getTransactionDecoder,
  type KeyPairSigner,
  partiallySignTransaction,
} from '@solana/kit'
import { decodeFunctionData, parseAbi, parseEther } from 'viem'
import { type Jupiter, openJupiter } from '../../serving/dex/aggregators/jupiter.ts'
import { type Kyberswap, openKyberswap } from '../../serving/dex/aggregators/kyberswap.ts'
import { transferSol } from '../../serving/dex/solana-calls.ts'
import { unsignedTransaction } from '../../serving/dex/solana-message.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import { createDeployer } from '../support/nodes/contract-deployer.ts'
import { fundedWallet, type LocalSvm, startLocalSvm } from '../support/nodes/local-svm.ts'

const SOL = 1_000_000_000n
const WSOL = 'So11111111111111111111111111111111111111112'
const MINT = addressFor('aggregated mint')
const ROUTER = '0x6131B5fae19EA4f9D964eAc0408E4408b66337b5'
const [KEY, CLIENT] = ['the-key-of-jupiter', 'sluice-test']
const owner = devAccount(4).address

type Body = Readonly<Record<string, unknown>>
interface Asked {
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: Body
}
/** Answers of both aggregators by path; a function may answer anything. */
let answers: Record<string, Body | ((response: ServerResponse) => void)>
const asked: Asked[] = []
const server = createServer(async (request, response) => {
  const url = new URL(request.url ?? '', 'http://aggregator')
  const sent = await text(request)
  const body = sent === '' ? {} : (JSON.parse(sent) as Body)
  asked.push({ path: url.pathname, query: url.searchParams, headers: request.headers, body })
  const answer = answers[url.pathname]
  if (typeof answer === 'function') return answer(response)
  response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(answer ?? {}))
})

let anvil: Anvil
let svm: LocalSvm
let api: TestApi
let wallet: KeyPairSigner
let token: string
let jupiter: Jupiter
let kyberswap: Kyberswap

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  anvil = await startAnvil()
  svm = await startLocalSvm()
  wallet = await fundedWallet(svm, 1, 50n * SOL)
  const deployer = createDeployer(anvil.client, { token: '@uniswap/v2-core/build/ERC20.json' })
  token = (await deployer.deploy('token', ['uint256'], [parseEther('1000')])).toLowerCase()
  await anvil.client.setCode({ address: ROUTER, bytecode: '0x00' })
  jupiter = openJupiter(`${url}/jupiter/`, KEY)
  kyberswap = openKyberswap(`${url}/kyber`, CLIENT)
  api = await startApi({
    chains: ['eth', 'sol'],
    overrides: { chainRpcUrls: { eth: [anvil.httpUrl], sol: [svm.url] } },
    aggregators: { jupiter, kyberswap },
  })
})
after(async () => {
  await api.stop()
  await jupiter.close()
  await kyberswap.close()
  await anvil.stop()
  await svm.stop()
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  asked.length = 0
  answers = {
    '/jupiter/quote': jupiterQuote(),
    '/jupiter/swap': { swapTransaction: swapOf(wallet.address), lastValidBlockHeight: 777 },
    '/kyber/ethereum/api/v1/routes': { code: 0, data: kyberRoutes() },
    '/kyber/ethereum/api/v1/route/build': { code: 0, data: kyberBuilt() },
  }
})

const swapOf = (payer: string): string => {
  const lifetime = { blockhash: svm.svm.latestBlockhash(), lastValidBlockHeight: 777 }
  return unsignedTransaction(payer, lifetime, [transferSol(payer, addressFor('pool'), 5_000_000n)])
}
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
const NATIVE = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'
const kyberRoutes = (more: Body = {}): Body => ({
  routerAddress: ROUTER,
  routeSummary: {
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
  data: '0xe21fd0e9',
  routerAddress: ROUTER,
  transactionValue: '1000000000000000000',
  ...more,
})

const post = async (chain: 'eth' | 'sol', body: Body) => {
  const answer = await callApi(api, `/v2/dex/${chain}/route`, {
    method: 'POST',
    headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: answer.status, body: answer.body as Body & { readonly code?: number } }
}
const overJupiter = (more: Body = {}) =>
  post('sol', {
    dex: 'jupiter',
    userAddress: wallet.address,
    amount: '1000000000',
    slippage: 1,
    inputMint: WSOL,
    outputMint: MINT,
    ...more,
  })
const overKyberswap = (more: Body = {}) =>
  post('eth', {
    dex: 'kyberswap',
    userAddress: owner,
    amount: '1000000000000000000',
    slippage: 1,
    inputMint: NATIVE,
    outputMint: token,
    ...more,
  })

test('a route of Jupiter is its transaction, run at the node, with what it quotes', async () => {
  const { status, body } = await overJupiter({ priorityFee: '5000' })
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.serializedTx, (answers['/jupiter/swap'] as Body).swapTransaction)
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
  })
  assert.equal(quoted?.headers['x-api-key'], KEY)
  assert.deepEqual(built?.body, {
    quoteResponse: jupiterQuote(),
    userPublicKey: wallet.address,
    wrapAndUnwrapSol: true,
    prioritizationFeeLamports: 5_000,
  })
})

test('what Jupiter answers otherwise than it was asked is refused', async () => {
  const signed = await partiallySignTransaction(
    [wallet.keyPair],
    getTransactionDecoder().decode(Buffer.from(swapOf(wallet.address), 'base64')),
  )
  const quotes: readonly Body[] = [
    { inAmount: '2000000000' },
    { outputMint: WSOL },
    { otherAmountThreshold: '1' },
    { outAmount: 'much' },
    { routePlan: [] },
    { routePlan: [{ percent: 100 }] },
    { contextSlot: null },
  ]
  for (const quote of quotes) {
    answers['/jupiter/quote'] = jupiterQuote(quote)
    const { status, body } = await overJupiter()
    assert.deepEqual([status, body.code], [502, 50_016], JSON.stringify(quote))
  }
  answers['/jupiter/quote'] = jupiterQuote()
  for (const swapTransaction of [
    swapOf(addressFor('somebody')),
    getBase64EncodedWireTransaction(signed),
    'AAAA',
    7,
    Buffer.alloc(1_300, 1).toString('base64'),
  ]) {
    answers['/jupiter/swap'] = { swapTransaction, lastValidBlockHeight: 777 }
    const { status, body } = await overJupiter()
    assert.deepEqual([status, body.code], [502, 50_016], String(swapTransaction).slice(0, 20))
  }
})

test('a transaction of Jupiter that fails at the node is not handed out; another recipient, two fees and a high impact are refused', async () => {
  const lifetime = { blockhash: svm.svm.latestBlockhash(), lastValidBlockHeight: 777 }
  const tooMuch = transferSol(wallet.address, addressFor('pool'), 5_000n * SOL)
  const swapTransaction = unsignedTransaction(wallet.address, lifetime, [tooMuch])
  answers['/jupiter/swap'] = { swapTransaction, lastValidBlockHeight: 777 }
  const codeOf = async (more?: Body) => (await overJupiter(more)).body.code
  assert.equal(await codeOf(), 50_012)
  assert.equal(await codeOf({ recipientAddress: addressFor('other') }), 40_024)
  assert.equal(await codeOf({ tipFee: '5000', priorityFee: '5000' }), 40_022)
  answers['/jupiter/quote'] = jupiterQuote({ priceImpactPct: '0.2' })
  assert.equal(await codeOf(), 40_007)
})

test('a route of KyberSwap is a call of its router, with an approval where that is missing', async () => {
  const { status, body } = await overKyberswap()
  assert.equal(status, 200, JSON.stringify(body))
  const { to, value, data } = body.tx as Body
  assert.deepEqual([String(to).toLowerCase(), value], [ROUTER.toLowerCase(), '1000000000000000000'])
  assert.equal(data, '0xe21fd0e9')
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

  await anvil.client.writeContract({
    address: token as `0x${string}`,
    abi: parseAbi(['function transfer(address,uint256)']),
    functionName: 'transfer',
    args: [owner, parseEther('2')],
  })
  await anvil.client.mine({ blocks: 1 })
  answers['/kyber/ethereum/api/v1/route/build'] = { data: kyberBuilt({ transactionValue: '0' }) }
  const sold = await overKyberswap({ inputMint: token, outputMint: NATIVE })
  assert.equal(sold.status, 200, JSON.stringify(sold.body))
  const approval = sold.body.approval as { readonly spender: string; readonly data: `0x${string}` }
  const abi = parseAbi(['function approve(address,uint256)'])
  const { args } = decodeFunctionData({ abi, data: approval.data })
  assert.deepEqual(args, [ROUTER, parseEther('1')])
})

test('what KyberSwap answers otherwise than it was asked is refused, and so is an exact output', async () => {
  const build = '/kyber/ethereum/api/v1/route/build'
  const routes = '/kyber/ethereum/api/v1/routes'
  const cases: readonly (readonly [string, Body])[] = [
    [build, { data: kyberBuilt({ routerAddress: `0x${'11'.repeat(20)}` }) }],
    [build, { data: kyberBuilt({ transactionValue: '1' }) }],
    [build, { data: kyberBuilt({ amountOut: '1' }) }],
    [build, { data: kyberBuilt({ data: '0x0' }) }],
    [build, { data: null }],
    [routes, { data: kyberRoutes({ amountIn: '5' }) }],
    [routes, { data: kyberRoutes({ route: [] }) }],
    [routes, { data: { ...kyberRoutes(), routerAddress: owner } }],
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

test('without an aggregator, and for other words, the own router answers', async () => {
  await post('eth', {
    dex: 'auto',
    userAddress: owner,
    amount: '1',
    inputMint: NATIVE,
    outputMint: token,
  })
  assert.equal(asked.length, 0)
})

test('refusals of an aggregator have codes of their own, and after five outages it is not asked', async () => {
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
    answers['/jupiter/quote'] = answer
    const { status: got, body } = await overJupiter()
    assert.deepEqual([got, body.code], [wantedStatus, code])
    assert.ok(!JSON.stringify(body).includes(KEY) && !JSON.stringify(body).includes('127.0.0.1'))
  }
  answers['/jupiter/quote'] = status(500)
  for (let call = 0; call < 5; call += 1) await overJupiter()
  const before = asked.length
  assert.equal((await overJupiter()).body.code, 50_016)
  assert.equal(asked.length, before, 'it is not asked any more')
})
