/** Quotes of swaps over REST: from tables to answers, and a typed refusal for each way in which a request is wrong. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sqrtPriceAtTick } from '../../core/prices/tick-math.ts'
import type { DexQuote } from '../../schemas/api/swap.ts'
import {
  type PoolStateRow,
  type PoolTickRow,
  poolStatesQuery,
  poolTicksQuery,
} from '../../serving/queries/pool-states.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { addressFromNumber } from '../support/builders/market-trade.ts'
import { createRestReader } from '../support/rest-reader.ts'
import { until } from '../support/until.ts'

const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const [FROG, LONE, PAIR, RANGED] = [1, 2, 101, 102].map(addressFromNumber) as [
  string,
  string,
  string,
  string,
]
const ZERO = addressFromNumber(0)
/** A pool of a protocol that is not quoted, one whose older positions are not known, and one that holds next to nothing. */
const [CURVED, UNSEEN, DRAINED] = [103, 104, 105].map(addressFromNumber) as [string, string, string]
/** Every fee of which a pool is known; positions of the ranged pool, the last of them taken back. */
const POSITIONS = [
  { lower: -600, upper: 600, moved: 10n ** 21n, ver: 1, gone: 0 },
  { lower: -60, upper: 60, moved: 10n ** 20n, ver: 2, gone: 0 },
  { lower: -60, upper: 60, moved: -(10n ** 19n), ver: 3, gone: 0 },
  { lower: -120, upper: 120, moved: 10n ** 22n, ver: 4, gone: 1 },
]

let api: TestApi
const { read, codeOf } = createRestReader(() => api)

const poolRow = (pool: string, tokens: readonly [string, string], more: object): object => ({
  pool_address: pool,
  token_a: tokens[0],
  token_b: tokens[1],
  base_is_a: 1,
  _ver: 9,
  decimals_a: 18,
  decimals_b: 18,
  last_updated: new Date().toISOString(),
  ...more,
})

const headRow = (timeMs: number, version: number): object => ({
  block_time: new Date(timeMs).toISOString(),
  block_slot: 7,
  block_height: 7,
  _ver: version,
  block_hash: '0x07',
  parent_hash: '0x06',
  seq: version,
})

before(async () => {
  api = await startApi()
  const { warehouse, market } = api
  const v2 = {
    protocol_family: 'uniswap_v2',
    protocol_name: 'Uniswap V2',
    liquidity_usd: '4000000',
    program_address: '0x5c69bee701ef814a2b6a3edd4b1652cb9cc5aa6f',
  }
  const v3 = {
    protocol_family: 'uniswap_v3',
    protocol_name: 'Uniswap V3',
    depth_usd: '900000',
    program_address: '0x1f98431c8ad98523631ae4a59f267346ea31f984',
    fee_pips: 3_000,
    sqrt_price_x96: String(sqrtPriceAtTick(0)),
    tick: 0,
    is_complete: 1,
  }
  await warehouse.insert('eth_dex_pools', [
    poolRow(PAIR, [WETH, USDC], {
      ...v2,
      decimals_b: 6,
      reserve_a: String(1_000n * 10n ** 18n),
      reserve_b: String(2_000_000n * 10n ** 6n),
    }),
    poolRow(RANGED, [FROG, WETH], { ...v3, range_liquidity: String(109n * 10n ** 19n) }),
    poolRow(CURVED, [WETH, USDC], {
      protocol_family: 'curve',
      protocol_name: 'Curve',
      program_address: ZERO,
    }),
    poolRow(UNSEEN, [WETH, USDC], { ...v3, decimals_b: 6, fee_pips: 500, is_complete: 0 }),
    poolRow(DRAINED, [WETH, USDC], {
      ...v2,
      decimals_b: 6,
      liquidity_usd: '0',
      reserve_a: '1',
      reserve_b: '1',
    }),
  ])
  await warehouse.insert(
    'eth_dex_pool_positions',
    POSITIONS.map(({ lower, upper, moved, ver, gone }) => ({
      pool_address: RANGED,
      block_time: new Date().toISOString(),
      block_slot: ver,
      block_height: ver,
      block_hash: '',
      tx_index: 0,
      event_index: 0,
      _ver: ver,
      _del: gone,
      tick_lower: lower,
      tick_upper: upper,
      liquidity_change: String(moved),
    })),
  )
  await warehouse.insert('eth_blocks', [headRow(Date.now() - 12_000, 1)])
  const families = [...market.venues.quotable]
  const pools = await warehouse.query<PoolStateRow>(poolStatesQuery('eth', families, 10))
  const ticks = await warehouse.query<PoolTickRow>(poolTicksQuery('eth', 100))
  market.pools.load(pools.rows, ticks.rows, [])
  market.progress.block({ seq: 1, place: { height: 7, slot: 7 }, records: 0 })
})
after(() => api.stop())

const quotePath = (asked: Readonly<Record<string, string>> = {}, chain = 'eth'): string =>
  `/v2/dex/${chain}/quote?${new URLSearchParams({
    dex: 'auto',
    amount: '1000000000000000000',
    inputMint: WETH,
    outputMint: USDC,
    exactIn: 'true',
    slippage: '0.5',
    ...asked,
  })}`

test('ticks are the sum of what positions moved, without what was taken back', () => {
  const pool = api.market.pools.pool(RANGED, 0)
  assert.ok(pool?.kind === 'concentrated')
  assert.deepEqual(pool.ticks, [
    { tick: -600, liquidityNet: 10n ** 21n },
    { tick: -60, liquidityNet: 9n * 10n ** 19n },
    { tick: 60, liquidityNet: -9n * 10n ** 19n },
    { tick: 600, liquidityNet: -(10n ** 21n) },
  ])
})

test('a quote has amounts in base units, prices in token units, and the same body under every spelling', async () => {
  const quote = await read<DexQuote>(quotePath())
  // 1 of 1,000 WETH at 0.3 %: 0.997 * 2,000,000 / 1,000.997
  assert.equal(quote.amountOut, '1992013962')
  assert.equal(quote.minAmountOut, String((1_992_013_962n * 9_950n) / 10_000n))
  assert.deepEqual([quote.amountIn, quote.maxAmountIn], ['1000000000000000000', quote.amountIn])
  assert.equal(quote.currentPrice, '2000')
  assert.ok(Math.abs(Number(quote.executionPrice) - 1_992.013962) < 1e-6)
  assert.deepEqual([quote.priceImpact, quote.fee], ['0.0996', '3000000000000000'])
  assert.deepEqual(quote.hops, [
    {
      pool: PAIR,
      dex: 'uniswap_v2',
      inputMint: WETH,
      outputMint: USDC,
      shareBps: 10_000,
      inAmount: quote.amountIn,
      outAmount: quote.amountOut,
    },
  ])
  for (const path of [
    quotePath({}, 'ethereum'),
    quotePath().replace('/v2/', '/v1/'),
    quotePath({ inputMint: ZERO }),
    quotePath({ inputMint: '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE' }),
    quotePath({ dex: 'kyberswap' }),
    quotePath({ dex: 'uniswap_v2', outputMint: USDC.toUpperCase().replace('0X', '0x') }),
  ]) {
    assert.deepEqual(await read<DexQuote>(path), quote, path)
  }
})

test('a path over two venues, and what buys exactly as much', async () => {
  const over = await read<DexQuote>(quotePath({ inputMint: FROG }))
  assert.deepEqual(
    over.hops.map(({ pool }) => pool),
    [RANGED, PAIR],
  )
  const bought = await read<DexQuote>(
    quotePath({ inputMint: FROG, amount: over.amountOut, exactIn: 'false' }),
  )
  assert.equal(bought.amountOut, over.amountOut)
  assert.equal(bought.minAmountOut, over.amountOut)
  assert.ok(BigInt(bought.amountIn) <= BigInt(over.amountIn))
  assert.ok(BigInt(bought.maxAmountIn) > BigInt(bought.amountIn))
})

test('invalid quote requests answer with a code for each mistake', async () => {
  const cases: readonly (readonly [string, Readonly<Record<string, string>>, number, number])[] = [
    ['no tokens', { inputMint: 'x' }, 400, 40009],
    ['the same token', { outputMint: WETH }, 400, 40017],
    ['the coin and its wrapped token', { inputMint: ZERO, outputMint: WETH }, 400, 40017],
    ['an unknown venue', { dex: 'nowhere' }, 404, 40406],
    ['a venue of another chain', { dex: 'jupiter' }, 404, 40406],
    ['a venue that cannot be quoted', { dex: 'curve' }, 400, 50009],
    ['nothing', { amount: '0' }, 400, 40015],
    ['an amount below zero', { amount: '-1' }, 400, 40014],
    ['a fraction', { amount: '1.5' }, 400, 40014],
    ['an exponent', { amount: '1e18' }, 400, 40014],
    ['2^256', { amount: String(2n ** 256n) }, 400, 40016],
    ['no percentage', { slippage: 'much' }, 400, 40018],
    ['three decimals', { slippage: '0.125' }, 400, 40018],
    ['a slippage of 0', { slippage: '0' }, 400, 40019],
    ['a slippage above 50', { slippage: '50.01' }, 400, 40008],
    ['too little to buy anything', { amount: '1' }, 400, 40015],
    [
      'more than the pool holds',
      { amount: String(3_000_000n * 10n ** 6n), exactIn: 'false' },
      422,
      40006,
    ],
    ['a price moved too far', { amount: String(300n * 10n ** 18n) }, 422, 40007],
    ['tokens without a pool', { inputMint: LONE }, 422, 50010],
  ]
  for (const [name, asked, status, code] of cases) {
    assert.deepEqual(await codeOf(quotePath(asked)), [status, code], name)
  }
  assert.ok(await read<DexQuote>(quotePath({ amount: String(300n * 10n ** 18n), slippage: '50' })))
  assert.deepEqual(await codeOf(quotePath({}, 'nochain')), [404, 40405])
  assert.deepEqual(await codeOf(quotePath({}, 'bsc')), [400, 50008])
  assert.equal((await codeOf(quotePath().replace(/&slippage=[^&]*/, '')))[0], 400)
})

test('without a node a route answers 503, invalid requests keep their own error codes', async () => {
  const codeOfRoute = async (more: object = {}, chain = 'eth') => {
    const body = {
      dex: 'auto',
      userAddress: addressFromNumber(7),
      amount: '1000000000000000000',
      inputMint: WETH,
      outputMint: USDC,
      ...more,
    }
    const answer = await callApi(api, `/v1/dex/${chain}/route`, {
      method: 'POST',
      headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return [answer.status, (answer.body as { readonly code: number }).code]
  }
  assert.deepEqual(await codeOfRoute(), [503, 50018])
  assert.deepEqual(await codeOfRoute({ outputMint: WETH }), [400, 40017])
  assert.deepEqual(await codeOfRoute({ slipage: 0.1 }), [400, 40001], 'a misspelt field')
  for (const fee of [{ tipFee: '1000' }, { priorityFee: '0.1' }])
    assert.deepEqual(await codeOfRoute(fee), [400, 40022], 'fees of Solana')
  assert.deepEqual(await codeOfRoute({ tipFee: '0', priorityFee: '0' }), [503, 50018])
  assert.deepEqual(await codeOfRoute({ swapMode: 'Both' }), [400, 40021])
  assert.deepEqual(await codeOfRoute({ inputMint: LONE }), [422, 50010])
  assert.deepEqual(await codeOfRoute({ dex: 'pancakeswap_v3' }), [400, 50009])
  assert.deepEqual(await codeOfRoute({}, 'bsc'), [400, 50008])
})

interface SwapRefusal {
  readonly code: number
  readonly details?: Readonly<Record<string, unknown>>
}

const askSwap = async (more: object = {}, path = '/v2/dex/eth/swap') => {
  const body = {
    dex: 'auto',
    userAddress: addressFromNumber(7),
    amount: '1000000000000000000',
    poolAddress: PAIR,
    inputMint: WETH,
    outputMint: USDC,
    ...more,
  }
  const answer = await callApi(api, path, {
    method: 'POST',
    headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: answer.status, ...(answer.body as SwapRefusal) }
}

test('a swap over one pool is refused with a code for each way in which it is wrong', async () => {
  const cases: readonly (readonly [string, object, number, number])[] = [
    ['no pool of this address', { poolAddress: addressFromNumber(109) }, 404, 40401],
    ['no address', { poolAddress: 'pool' }, 400, 40005],
    ['a misspelt field', { Slippage: 0.1 }, 400, 40001],
    ['another recipient', { recipientAddress: addressFromNumber(8) }, 501, 40024],
    ['a recipient that is not an address', { recipientAddress: 'nobody' }, 400, 40005],
    ['a permit', { permit: '0x00' }, 501, 40024],
    ['a deadline that is over', { deadline: 1 }, 400, 40031],
    ['fees of two kinds', { gasPrice: '1', maxFeePerGas: '1' }, 400, 40022],
    ['a tip of Solana', { tipFee: '1000' }, 400, 40022],
    ['a pool of a protocol that is not quoted', { poolAddress: CURVED }, 400, 40020],
    ['a pool whose state is not known', { poolAddress: UNSEEN }, 422, 50010],
    ['a pool without money', { poolAddress: DRAINED }, 422, 40006],
    ['a pool of another DEX', { dex: 'uniswap_v3' }, 400, 40030],
    ['tokens of another pool', { poolAddress: RANGED }, 400, 40030],
    ['one token that is not of the pool', { inputMint: FROG, outputMint: undefined }, 400, 40030],
    ['neither token', { inputMint: undefined, outputMint: undefined }, 400, 40004],
    ['one token and no pool', { poolAddress: undefined, outputMint: undefined }, 400, 40004],
    ['the same token', { outputMint: WETH }, 400, 40017],
    ['the coin and its wrapped token', { inputMint: ZERO, outputMint: WETH }, 400, 40017],
    ['an unknown venue', { dex: 'nowhere' }, 404, 40406],
    ['a venue of another chain', { dex: 'jupiter' }, 404, 40406],
    ['nothing', { amount: '0' }, 400, 40015],
    ['an amount below zero', { amount: '-1' }, 400, 40014],
    ['a fraction', { amount: '1.5' }, 400, 40014],
    ['more than a balance', { amount: '100.5%' }, 400, 40014],
    ['a part of a balance that is bought', { amount: '50%', swapMode: 'ExactOut' }, 400, 40014],
    ['a part of a balance without a node', { amount: '50%' }, 503, 50018],
    ['2^256', { amount: String(2n ** 256n) }, 400, 40016],
    ['a slippage of 0', { slippage: 0 }, 400, 40019],
    ['a slippage above 50', { slippage: 50.01 }, 400, 40008],
    ['a slippage below 0', { slippage: -1 }, 400, 40018],
    ['another mode', { swapMode: 'Both' }, 400, 40021],
    ['nobody', { userAddress: 'nobody' }, 400, 40005],
    ['too little to buy anything', { amount: '1' }, 400, 40015],
    ['a price moved too far', { amount: String(300n * 10n ** 18n) }, 422, 40007],
    ['more than the pool holds', { amount: String(10n ** 13n), swapMode: 'ExactOut' }, 422, 40006],
    ['no direct pool', { poolAddress: undefined, inputMint: FROG }, 422, 50010],
  ]
  for (const [name, more, status, code] of cases) {
    const answer = await askSwap(more)
    assert.deepEqual([answer.status, answer.code], [status, code], name)
  }
})

test('a swap over one pool takes every field that a route takes, and names the one that is not offered', async () => {
  const taken = {
    recipientAddress: addressFromNumber(7),
    deadline: Date.now() + 60_000,
    gasLimit: '300000',
    maxFeePerGas: '3000000000',
    maxPriorityFeePerGas: '1',
    tipFee: '0',
    priorityFee: '0',
  }
  assert.equal((await askSwap(taken)).code, 50018, 'there is no node')
  for (const more of [{ recipientAddress: addressFromNumber(8) }, { permit: '0x00' }]) {
    const { details } = await askSwap(more)
    assert.equal(details?.parameter, Object.keys(more)[0])
  }
})

test('a swap over a pool without liquidity is refused with the available amount', async () => {
  const { details } = await askSwap({ poolAddress: DRAINED })
  assert.deepEqual(details, {
    requested_amount: '1000000000000000000',
    available_liquidity: '0',
  })
})

test('a swap over one pool needs a node, under every spelling', async () => {
  for (const path of ['/v1/dex/eth/swap', '/v2/dex/eth/swap', '/v2/dex/ethereum/swap']) {
    const { status, code } = await askSwap({}, path)
    assert.deepEqual([status, code], [503, 50018], path)
  }
  for (const more of [
    { dex: 'uniswap_v2' },
    { poolAddress: undefined },
    { outputMint: undefined },
    { inputMint: ZERO, outputMint: undefined },
    { inputMint: undefined, outputMint: USDC.toUpperCase().replace('0X', '0x') },
    { swapMode: 'ExactOut', amount: '1000000', slippage: '0.5' },
  ]) {
    assert.equal((await askSwap(more)).code, 50018, JSON.stringify(more))
  }
  assert.equal((await askSwap({}, '/v2/dex/bsc/swap')).code, 50008)
  assert.equal((await askSwap({}, '/v2/dex/nochain/swap')).code, 40405)
})

test('a quote on a chain whose head is old is refused', async () => {
  await api.warehouse.insert('eth_blocks', [headRow(Date.now() - 120_000, 2)])
  // How far a chain is, is asked once a second.
  await until(async () => (await codeOf(quotePath()))[1] === 50003, 'the chain is behind')
  assert.deepEqual((await askSwap()).code, 50003)
})
