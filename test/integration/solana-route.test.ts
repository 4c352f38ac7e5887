/** Swaps on Solana over HTTP: quotes and unsigned transactions of stored pools, and a typed refusal for wrong requests and wrong nodes. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
} from '@solana/kit'
import { base58Decode } from '../../core/base58.ts'
import { feeOnInputAmountOut } from '../../core/prices/fee-on-input.ts'
import type { DexQuote, SwapRouteResponse } from '../../schemas/api/swap.ts'
import { associatedTokenAddress } from '../../serving/dex/solana-calls.ts'
import { programAddress } from '../../serving/dex/solana-message.ts'
import { TIP_ACCOUNTS } from '../../serving/dex/solana-tip.ts'
import { type PoolStateRow, poolStatesQuery } from '../../serving/queries/pool-states.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import {
  fundedWallet,
  type LocalSvm,
  putAccount,
  startLocalSvm,
} from '../support/nodes/local-svm.ts'
import { createRestReader } from '../support/rest-reader.ts'

const WSOL = 'So11111111111111111111111111111111111111112'
const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const CPMM = 'CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C'
const PUMP = '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P'
const PUMP_AMM = 'pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA'
const [MINT, CURVED, SWAPPED, DOUBTED, SHORT] = [
  ...['cpmm mint', 'curve mint', 'amm mint', 'doubted mint', 'short mint'],
].map(addressFor) as [string, string, string, string, string]
const [POOL, SHORT_POOL] = ['cpmm pool', 'short pool'].map(addressFor) as [string, string]
const SOL = 1_000_000_000n
const RESERVES = { [WSOL]: 1_000n * SOL, token: 10n ** 12n }
const FEE_PIPS = 2_500
const RAN = { value: { err: null, logs: [], unitsConsumed: 90_000 } }

let node: LocalSvm
let api: TestApi
let owner = ''
let poolData: Uint8Array
const { read, codeOf } = createRestReader(() => api)

interface StoredPool {
  readonly pool: string
  readonly mint: string
  readonly family: string
  readonly program: string
  readonly fees: readonly number[]
  readonly feeToken?: string
  readonly doubted?: boolean
}

const poolRow = ({ pool, mint, family, program, fees, feeToken = '', doubted }: StoredPool) => {
  const isFirst = mint < WSOL
  const pair = <Value>(token: Value, sol: Value): readonly [Value, Value] =>
    isFirst ? [token, sol] : [sol, token]
  const [token_a, token_b] = pair(mint, WSOL)
  const [reserve_a, reserve_b] = pair(String(RESERVES.token), String(RESERVES[WSOL]))
  const [decimals_a, decimals_b] = pair(6, 9)
  return {
    pool_address: pool,
    token_a,
    token_b,
    base_is_a: isFirst ? 1 : 0,
    _ver: 9,
    decimals_a,
    decimals_b,
    reserve_a,
    reserve_b,
    liquidity_usd: '300000',
    priced_reserve_a: reserve_a,
    priced_reserve_b: reserve_b,
    priced_fees: fees,
    fee_token: feeToken,
    is_doubted: doubted ? 1 : 0,
    program_address: program,
    protocol_family: family,
    protocol_name: family,
    last_updated: new Date().toISOString(),
  }
}

const mintData = (): Buffer => {
  const mint = Buffer.alloc(82)
  mint.writeUInt8(6, 44)
  mint.writeUInt8(1, 45)
  return mint
}

before(async () => {
  node = await startLocalSvm()
  owner = (await fundedWallet(node, 1, 50n * SOL)).address
  const data = Buffer.alloc(637)
  const keys = { 8: addressFor('config'), 72: addressFor('vault 0'), 104: addressFor('vault 1') }
  for (const [at, key] of Object.entries({ ...keys, 168: WSOL, 200: MINT, 296: POOL })) {
    data.set(base58Decode(key) ?? [], Number(at))
  }
  poolData = data
  putAccount(node, POOL, { owner: CPMM, data })
  putAccount(node, SHORT_POOL, { owner: CPMM, data: data.subarray(0, 90) })
  for (const mint of [MINT, SHORT])
    putAccount(node, mint, { owner: TOKEN_PROGRAM, data: mintData() })
  api = await startApi({
    chains: ['eth', 'sol'],
    overrides: { chainRpcUrls: { sol: [node.url] }, rpcTimeoutMs: 1_000 },
  })
  const cpmm = { family: 'raydium_cpmm', program: CPMM, fees: [FEE_PIPS] }
  const market = api.markets.get('sol')
  assert.ok(market)
  const families = [...market.venues.quotable]
  await api.warehouse.insert('sol_dex_pools', [
    poolRow({ ...cpmm, pool: POOL, mint: MINT }),
    poolRow({ ...cpmm, pool: SHORT_POOL, mint: SHORT }),
    poolRow({ ...cpmm, pool: addressFor('doubted pool'), mint: DOUBTED, doubted: true }),
    ...[
      { pool: addressFor('curve'), mint: CURVED, family: 'pump_fun', program: PUMP },
      { pool: addressFor('amm pool'), mint: SWAPPED, family: 'pumpswap', program: PUMP_AMM },
    ].map((row) => poolRow({ ...row, fees: [9_300, 500], feeToken: WSOL })),
  ])
  await api.warehouse.insert('sol_blocks', [
    {
      block_time: new Date(Date.now() - 400).toISOString(),
      block_slot: 7,
      block_height: 7,
      block_hash: addressFor('7'),
      parent_hash: addressFor('6'),
      seq: 1,
      _ver: 1,
    },
  ])
  const pools = await api.warehouse.query<PoolStateRow>(poolStatesQuery('sol', families, 10))
  market.pools.load(pools.rows, [], [])
  market.progress.block({ seq: 1, place: { height: 7, slot: 7 }, records: 0 })
})
after(async () => {
  await api.stop()
  await node.stop()
})

const quotePath = (asked: Readonly<Record<string, string>>): string =>
  `/v2/dex/sol/quote?${new URLSearchParams({
    dex: 'auto',
    amount: '1000000000',
    inputMint: WSOL,
    outputMint: MINT,
    exactIn: 'true',
    slippage: '0.5',
    ...asked,
  })}`

interface Refusal {
  readonly code?: number
  readonly details?: { readonly reason?: string; readonly logs?: readonly string[] }
}

const route = (asked: object = {}) => build('/v2/dex/sol/route', asked)

const build = async (path: string, asked: object) => {
  const body = JSON.stringify({
    dex: 'auto',
    userAddress: owner,
    amount: '1000000000',
    slippage: 1,
    inputMint: WSOL,
    outputMint: MINT,
    ...asked,
  })
  const answer = await callApi(api, path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': api.apiKey },
    body,
  })
  return { status: answer.status, body: answer.body as SwapRouteResponse & Refusal }
}

const answering = async <T>(
  answers: Readonly<Record<string, unknown>>,
  work: () => Promise<T>,
): Promise<T> => {
  for (const [method, answer] of Object.entries(answers)) node.answers.set(method, answer)
  try {
    return await work()
  } finally {
    node.answers.clear()
  }
}

test('pools of Raydium, PumpSwap and pump.fun are quoted both ways to the unit', async () => {
  const sold = await read<DexQuote>(quotePath({}))
  const pool = { in: RESERVES[WSOL], out: RESERVES.token, feePips: FEE_PIPS }
  assert.equal(sold.amountOut, String(feeOnInputAmountOut(SOL, pool)))
  for (const outputMint of [MINT, SWAPPED, CURVED]) {
    const bought = { outputMint, exactIn: 'false', amount: '900000000' }
    const exact = await read<DexQuote>(quotePath(bought))
    assert.equal(exact.amountOut, '900000000')
    const back = await read<DexQuote>(quotePath({ outputMint, amount: exact.amountIn }))
    // Each way is an instruction of its own that rounds for the pool: the other way may get a unit less.
    assert.ok(BigInt(back.amountOut) >= 900_000_000n - 1n, `${outputMint}: ${back.amountOut}`)
    const less = String(BigInt(exact.amountIn) - 2n)
    const short = await read<DexQuote>(quotePath({ outputMint, amount: less }))
    assert.ok(BigInt(short.amountOut) < 900_000_000n + 1_000n, 'and hardly more')
  }
})

test('a pool whose events do not explain its reserves is not quoted', async () => {
  assert.deepEqual(await codeOf(quotePath({ outputMint: DOUBTED })), [422, 50_010])
})

test('the answer repeats the request as it came, without what was left out', async () => {
  const { body } = await answering({ simulateTransaction: RAN }, () =>
    route({ slippage: undefined, swapMode: undefined }),
  )
  assert.deepEqual((body as { readonly args?: unknown }).args, {
    dex: 'auto',
    userAddress: owner,
    amount: '1000000000',
    inputMint: WSOL,
    outputMint: MINT,
  })
})

test('a route is an unsigned transaction of version 0 with the limit of its run', async () => {
  const { status, body } = await answering({ simulateTransaction: RAN }, route)
  assert.equal(status, 200, JSON.stringify(body))
  const { messageBytes, signatures } = getTransactionDecoder().decode(
    getBase64Encoder().encode(body.serializedTx),
  )
  assert.deepEqual(signatures, { [owner]: null })
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes)
  assert.equal(message.version, 0)
  const [limit] = message.instructions
  assert.equal(Buffer.from(limit?.data ?? []).readUInt32LE(1), 103_500)
  assert.equal(body.recentBlockhash, node.svm.latestBlockhash())
  assert.equal(body.routeInfo.inAmount, '1000000000')
})

/** Programs of a transaction in their order, with the first byte of those of tokens and the system. */
const calledBy = (serializedTx: string): readonly string[] => {
  const { messageBytes } = getTransactionDecoder().decode(getBase64Encoder().encode(serializedTx))
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes)
  assert.ok(message.version === 0)
  return message.instructions.map(({ programAddressIndex, data }) => {
    const program = message.staticAccounts[programAddressIndex] ?? ''
    const hasKinds = [TOKEN_PROGRAM, '11111111111111111111111111111111'].includes(program)
    return `${program.slice(0, 5)}${hasKinds ? ` ${data?.[0]}` : ''}`
  })
}

test('a route leads over two pools: SOL between them is unwrapped for a curve, and wrapped behind one', async () => {
  putAccount(node, CURVED, { owner: TOKEN_PROGRAM, data: mintData() })
  putAccount(node, addressFor('curve'), { owner: PUMP, data: Buffer.alloc(151, 1) })
  const settings = await programAddress(PUMP, [{ word: 'global' }])
  putAccount(node, settings, { owner: PUMP, data: Buffer.alloc(1_045, 2) })
  for (const mint of [MINT, CURVED]) {
    const held = Buffer.alloc(165)
    held.writeBigUInt64LE(10n ** 12n, 64)
    const account = await associatedTokenAddress(owner, mint, TOKEN_PROGRAM)
    putAccount(node, account, { owner: TOKEN_PROGRAM, data: held })
  }
  const called = async (inputMint: string, outputMint: string, swapMode: string) => {
    const { status, body } = await answering({ simulateTransaction: RAN }, () =>
      route({ inputMint, outputMint, swapMode, amount: '1000000' }),
    )
    assert.equal(status, 200, JSON.stringify(body))
    const [first, second] = body.routeInfo.hops
    assert.ok(first && second && body.routeInfo.hops.length === 2)
    assert.ok(BigInt(second.inAmount) < BigInt(first.outAmount), 'what stays between is SOL')
    return calledBy(body.serializedTx)
  }
  const budget = ['Compu']
  for (const mode of ['ExactIn', 'ExactOut']) {
    assert.deepEqual(await called(MINT, CURVED, mode), [
      ...[...budget, 'AToke', 'CPMMo', 'Token 9'],
      ...['AToke', '6EF8r'],
    ])
    assert.deepEqual(await called(CURVED, MINT, mode), [
      ...[...budget, '6EF8r', 'AToke', '11111 2', 'Token 17'],
      ...['AToke', 'CPMMo', 'Token 9'],
    ])
  }
})

test('a part of a balance is sold: of SOL a hundredth stays, of a token all can go', async () => {
  const sold = async (asked: object, work = route) => {
    const { status, body } = await answering({ simulateTransaction: RAN }, () => work(asked))
    assert.equal(status, 200, JSON.stringify(body))
    return BigInt(body.routeInfo.inAmount)
  }
  const held = 50n * SOL
  assert.equal(await sold({ amount: 'auto' }), held - SOL / 100n)
  const paid = { tipFee: String(SOL), priorityFee: String(2n * SOL) }
  assert.equal(await sold({ amount: 'auto', ...paid }), held - SOL / 100n - 3n * SOL)
  for (const extra of [paid, { ...paid, tipFee: undefined }]) {
    const all = await answering({ simulateTransaction: RAN }, () =>
      route({ amount: String(held), ...extra }),
    )
    assert.equal(all.status, 422, 'fees beside the swap are paid from the same balance')
    assert.equal(all.body.code ?? JSON.stringify(all.body), 50_017)
  }
  assert.equal(await sold({ amount: '50%' }), held / 2n)
  assert.equal(await sold({ amount: '50%' }, swap), held / 2n)
  const account = await associatedTokenAddress(owner, MINT, TOKEN_PROGRAM)
  const data = Buffer.alloc(165)
  data.writeBigUInt64LE(1_000_000_001n, 64)
  putAccount(node, account, { owner: TOKEN_PROGRAM, data })
  const ofToken = { inputMint: MINT, outputMint: WSOL }
  assert.equal(await sold({ ...ofToken, amount: 'auto' }), 1_000_000_001n)
  assert.equal(await sold({ ...ofToken, amount: '33.33%' }), 333_300_000n)
})

test('a node that does not report what a run took leaves the limit of the run', async () => {
  const ran = { value: { err: null, logs: [] } }
  const { body } = await answering({ simulateTransaction: ran }, route)
  const { messageBytes } = getTransactionDecoder().decode(
    getBase64Encoder().encode(body.serializedTx),
  )
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes)
  assert.ok(message.version === 0)
  assert.equal(Buffer.from(message.instructions[0]?.data ?? []).readUInt32LE(1), 400_000)
})

test('invalid Solana route requests answer with a code for each mistake', async () => {
  const wrong: readonly (readonly [object, number, number])[] = [
    [{ outputMint: WSOL }, 400, 40_017],
    [{ amount: '0' }, 400, 40_015],
    [{ amount: '-1' }, 400, 40_014],
    [{ amount: '1.5' }, 400, 40_014],
    [{ amount: '101%' }, 400, 40_014],
    [{ amount: 'auto', swapMode: 'ExactOut' }, 400, 40_014],
    [{ amount: 'auto', userAddress: addressFor('poor') }, 422, 50_017],
    [{ slippage: 0 }, 400, 40_019],
    [{ slippage: 51 }, 400, 40_008],
    [{ dex: 'nowhere' }, 404, 40_406],
    [{ userAddress: 'nobody' }, 400, 40_005],
    // Letters of an address, but too few for 32 bytes.
    [{ userAddress: addressFor('poor').slice(4) }, 400, 40_005],
    [{ userAddress: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2' }, 400, 40_005],
  ]
  for (const [asked, status, code] of wrong) {
    const answer = await route(asked)
    assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(asked))
  }
  const huge = await route({ amount: String(2n ** 64n) })
  assert.ok(huge.status === 422 && huge.body.code !== undefined, JSON.stringify(huge.body))
})

test('an invalid node response is an outage of the chain, never an internal error', async () => {
  const account = { owner: CPMM, lamports: 1, data: ['AAAA', 'base64'] }
  const accounts = (more: object) => ({ value: Array(5).fill({ ...account, ...more }) })
  const bad: readonly (readonly [string, unknown])[] = [
    ['getLatestBlockhash', { value: { blockhash: 'not base 58 !', lastValidBlockHeight: 9 } }],
    ['getLatestBlockhash', { value: { blockhash: addressFor('x'), lastValidBlockHeight: 1.5 } }],
    ['getLatestBlockhash', { value: { blockhash: addressFor('x'), lastValidBlockHeight: -1 } }],
    ['getLatestBlockhash', 'nothing'],
    ['simulateTransaction', { value: { err: null, unitsConsumed: 'many' } }],
    ['simulateTransaction', { value: { err: null, unitsConsumed: 2 ** 40 } }],
    ['simulateTransaction', { value: {} }],
    ['getMultipleAccounts', { value: [null] }],
    ['getMultipleAccounts', accounts({ owner: '0OIl' })],
    ['getMultipleAccounts', accounts({ lamports: 0.5 })],
    ['getMultipleAccounts', accounts({ data: ['***', 'base64'] })],
  ]
  for (const [method, answer] of bad) {
    const { status, body } = await answering({ simulateTransaction: RAN, [method]: answer }, () =>
      route(),
    )
    assert.deepEqual([status, body.code], [503, 50_002], `${method} ${JSON.stringify(answer)}`)
  }
})

test('a node that hangs is an outage of the chain', async () => {
  const { status } = await answering({ getLatestBlockhash: null }, route)
  assert.equal(status, 503)
})

test('an account that is shorter than its layout and a swap that fails are refused with the reason', async () => {
  const short = await route({ outputMint: SHORT })
  assert.deepEqual(
    [short.status, short.body.details?.reason],
    [422, 'an account is shorter than its layout'],
  )
  const failed = await route()
  assert.ok((failed.body.details?.logs ?? []).length > 0, JSON.stringify(failed))
})

test('a permit and the choice of a router, which only EVM chains have, answer 501', async () => {
  for (const asked of [{ permit: '0x00' }, { router: 'universal' }]) {
    const { status, body } = await route(asked)
    assert.deepEqual([status, body.code], [501, 40_024], JSON.stringify(asked))
  }
})

const lastCall = (serializedTx: string) => {
  const { messageBytes } = getTransactionDecoder().decode(getBase64Encoder().encode(serializedTx))
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes)
  assert.ok(message.version === 0)
  const called = message.instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
    program: message.staticAccounts[programAddressIndex],
    accounts: accountIndices.map((index) => String(message.staticAccounts[index])),
    data: Buffer.from(data ?? []),
  }))
  return { last: called.at(-1), called }
}

test('a tip is a transfer to one of the accounts for tips in the last instruction of a route and of a swap', async () => {
  const cases: readonly (readonly [object, bigint])[] = [
    [{ tipFee: '1000' }, 1_000n],
    [{ tipFee: '0.002' }, 2_000_000n],
    [{ isAntiMev: true }, 1_000n],
    [{ isAntiMev: true, tipFee: '5000' }, 5_000n],
  ]
  for (const [asked, lamports] of cases) {
    for (const ask of [route, swap]) {
      const { status, body } = await answering({ simulateTransaction: RAN }, () => ask(asked))
      assert.equal(status, 200, JSON.stringify(body))
      const { last } = lastCall(body.serializedTx)
      assert.ok(last)
      assert.equal(last.program, '11111111111111111111111111111111')
      assert.equal(last.accounts[0], owner)
      assert.ok(new Set<string>(TIP_ACCOUNTS).has(last.accounts[1] ?? ''))
      assert.equal(last.data.readBigUInt64LE(4), lamports)
    }
  }
  const none = await answering({ simulateTransaction: RAN }, () => route({ isAntiMev: false }))
  assert.match(String(lastCall(none.body.serializedTx).last?.program), /^Token/)
  for (const tipFee of ['999', '0', '0.0000009', '11.0', 'much', '-1']) {
    const { status, body } = await route({ tipFee })
    assert.deepEqual([status, body.code], [400, 40_022], tipFee)
  }
})

test('another recipient has the token account that is created; one that cannot be paid is refused with the reason', async () => {
  const recipientAddress = addressFor('friend')
  const { status, body } = await answering({ simulateTransaction: RAN }, () =>
    route({ recipientAddress }),
  )
  assert.equal(status, 200, JSON.stringify(body))
  const paid = await associatedTokenAddress(recipientAddress, MINT, TOKEN_PROGRAM)
  const { called } = lastCall(body.serializedTx)
  const created = called.filter(({ program }) => program?.startsWith('AToken'))
  assert.deepEqual(created.at(-1)?.accounts.slice(0, 4), [owner, paid, recipientAddress, MINT])
  const call = called.find(({ program }) => program === CPMM)
  assert.equal(call?.accounts[5], paid)
  const refused: readonly (readonly [object, number, number])[] = [
    [{ recipientAddress, inputMint: MINT, outputMint: WSOL }, 501, 40_024],
    [{ recipientAddress, outputMint: CURVED }, 501, 40_024],
    [{ recipientAddress, outputMint: SWAPPED }, 501, 40_024],
    [{ recipientAddress: MINT }, 400, 40_005],
    [{ recipientAddress: 'nobody' }, 400, 40_005],
  ]
  for (const [asked, expected, code] of refused) {
    const answer = await route(asked)
    assert.deepEqual([answer.status, answer.body.code], [expected, code], JSON.stringify(asked))
    if (expected === 501) assert.match(String(answer.body.details?.reason), /signer/)
  }
})

const swap = (asked: object = {}, version = 'v2') =>
  build(`/${version}/dex/sol/swap`, { dex: 'raydium', poolAddress: POOL, ...asked })

test('a swap over a named pool is the transaction that a route over it is', async () => {
  const routed = await answering({ simulateTransaction: RAN }, route)
  for (const version of ['v1', 'v2']) {
    for (const asked of [
      {},
      { outputMint: undefined },
      { inputMint: undefined },
      { dex: 'auto' },
    ]) {
      const { status, body } = await answering({ simulateTransaction: RAN }, () =>
        swap(asked, version),
      )
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(body.serializedTx, routed.body.serializedTx)
      assert.deepEqual(body.routeInfo.hops, routed.body.routeInfo.hops)
      assert.equal(body.lastValidBlockHeight, routed.body.lastValidBlockHeight)
      assert.equal(body.args, undefined)
    }
  }
  const unnamed = await answering({ simulateTransaction: RAN }, () =>
    swap({ poolAddress: undefined }),
  )
  assert.equal(unnamed.body.serializedTx, routed.body.serializedTx)
})

test('a swap without a slippage allows ten percent', async () => {
  const { body } = await answering({ simulateTransaction: RAN }, () =>
    swap({ slippage: undefined }),
  )
  const { outAmount, minOutAmount } = body.routeInfo
  assert.equal(minOutAmount, String((BigInt(outAmount) * 9n) / 10n))
})

test('invalid Solana swaps over a named pool answer with a code for each mistake', async () => {
  const wrong: readonly (readonly [object, number, number])[] = [
    [{ poolAddress: addressFor('nowhere') }, 404, 40_401],
    [{ poolAddress: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2' }, 400, 40_005],
    [{ poolAddress: addressFor('doubted pool'), outputMint: DOUBTED }, 422, 50_010],
    [{ poolAddress: addressFor('curve') }, 400, 40_030],
    [{ poolAddress: addressFor('curve'), outputMint: CURVED }, 400, 40_030],
    [{ outputMint: CURVED }, 400, 40_030],
    [{ dex: 'pumpfun' }, 400, 40_030],
    [{ dex: 'pumpswap' }, 400, 40_030],
    [{ dex: 'kyberswap' }, 404, 40_406],
    [{ dex: 'moonshot' }, 400, 50_009],
    [{ outputMint: WSOL }, 400, 40_017],
    [{ inputMint: undefined, outputMint: undefined }, 400, 40_004],
    [{ recipientAddress: addressFor('another wallet') }, 501, 40_024],
    [{ recipientAddress: 'nobody' }, 400, 40_005],
    [{ permit: '0x00' }, 501, 40_024],
    [{ deadline: 1 }, 400, 40_031],
    [{ gasPrice: '1' }, 400, 40_022],
    [{ gasLimit: '1' }, 400, 40_022],
    [{ amount: '0' }, 400, 40_015],
    [{ amount: '-1' }, 400, 40_014],
    [{ amount: '1.5' }, 400, 40_014],
    [{ amount: String(2n ** 256n) }, 400, 40_016],
    [{ slippage: 0 }, 400, 40_019],
    [{ slippage: 51 }, 400, 40_008],
  ]
  for (const [asked, status, code] of wrong) {
    const answer = await swap(asked)
    assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(asked))
  }
})

test('a pool that is gone when its transaction is built is refused', async () => {
  putAccount(node, POOL, { owner: TOKEN_PROGRAM, data: poolData })
  try {
    const { status, body } = await answering({ simulateTransaction: RAN }, swap)
    assert.deepEqual(
      [status, body.code, body.details?.reason],
      [422, 50_010, 'the pool is not of its program'],
    )
  } finally {
    putAccount(node, POOL, { owner: CPMM, data: poolData })
  }
  const failed = await swap()
  assert.deepEqual([failed.status, failed.body.code], [422, 50_012])
})
