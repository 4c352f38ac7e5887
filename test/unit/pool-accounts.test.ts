/** Accounts of pools that cannot be true, and states that cannot be quoted: they cost that pool, and no other. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { base58Decode } from '../../core/base58.ts'
import { Fault } from '../../core/errors.ts'
import type { AccountPoolHead } from '../../serving/dex/account-pool.ts'
import { dlmmPriceOfBin } from '../../serving/dex/dlmm-bin.ts'
import { readDlmmArray } from '../../serving/dex/dlmm-layout.ts'
import type { Pool } from '../../serving/dex/pool.ts'
import { createPoolBook } from '../../serving/dex/pool-book.ts'
import { createPoolGraph, type PoolGraph } from '../../serving/dex/pool-graph.ts'
import { quoteOverNamedPool } from '../../serving/dex/pool-swap.ts'
import { chainVenues } from '../../serving/dex/quotable-protocols.ts'
import { quoteSwap } from '../../serving/dex/quote.ts'
import { TOKEN_PROGRAM } from '../../serving/dex/solana-calls.ts'
import { solanaQuotes } from '../../serving/dex/solana-quotes.ts'
import { ARRAY_TICKS, arrayStarts } from '../../serving/dex/whirlpool.ts'
import {
  WHIRLPOOL,
  WHIRLPOOL_LAYOUT,
  whirlpoolFamily,
} from '../../serving/dex/whirlpool-accounts.ts'
import { LAST_TICK, whirlpoolSqrtPrice } from '../../serving/dex/whirlpool-step.ts'
import { addressFor } from '../support/builders/svm-block.ts'

const [A, B, POOL, OWNER] = ['a', 'b', 'pool', 'owner'].map(addressFor) as [
  string,
  string,
  string,
  string,
]
const HEAD: AccountPoolHead = {
  kind: 'whirlpool',
  address: POOL,
  protocol: 'orca_whirlpool',
  tokens: [A, B],
  tvlUsd: 1_000_000,
}
const SPACING = 64
const key = (text: string): Uint8Array => base58Decode(text) ?? new Uint8Array(32)

const writeU128 = (data: Buffer, value: bigint, at: number): void => {
  data.writeBigUInt64LE(value & ((1n << 64n) - 1n), at)
  data.writeBigUInt64LE(value >> 64n, at + 8)
}

/** Account of a pool. Layout: orca-so/whirlpools state/whirlpool.rs. */
const poolData = (tick: number, sqrtPrice: bigint): Buffer => {
  const data = Buffer.alloc(WHIRLPOOL_LAYOUT.end)
  data.write('3f95d10ce1806309', 'hex')
  data.writeUInt16LE(SPACING, WHIRLPOOL_LAYOUT.tickSpacing)
  data.writeUInt16LE(SPACING, WHIRLPOOL_LAYOUT.feeTier)
  data.writeUInt16LE(3_000, WHIRLPOOL_LAYOUT.feeRate)
  writeU128(data, 10n ** 18n, WHIRLPOOL_LAYOUT.liquidity)
  writeU128(data, sqrtPrice, WHIRLPOOL_LAYOUT.sqrtPrice)
  data.writeInt32LE(tick, WHIRLPOOL_LAYOUT.tick)
  data.set(key(A), WHIRLPOOL_LAYOUT.mintA)
  data.set(key(B), WHIRLPOOL_LAYOUT.mintB)
  return data
}

/** Account of ticks in either layout; `initialized`: places of it. */
const arrayData = (start: number, initialized: readonly number[], isDynamic: boolean): Buffer => {
  const data = Buffer.alloc(isDynamic ? 60 + 113 * ARRAY_TICKS : 9_988)
  data.write(isDynamic ? '11d8f68ee1c7da38' : '4561bdbe6e0742bb', 'hex')
  data.writeInt32LE(start, 8)
  data.set(key(POOL), isDynamic ? 12 : 9_956)
  let at = isDynamic ? 60 : 12
  for (let place = 0; place < ARRAY_TICKS; place += 1) {
    const isSet = initialized.includes(place)
    data[at] = isSet ? 1 : 0
    if (isSet) writeU128(data, 1n, at + 1)
    at += isDynamic && !isSet ? 1 : 113
  }
  return data
}

/** The pool of its accounts; `initialized`: places of every array in which liquidity changes. */
const readPool = async (
  tick: number,
  sqrtPrice: bigint,
  initialized: (start: number) => readonly number[] = () => [],
  isDynamic = false,
) => {
  const data = poolData(tick, sqrtPrice)
  const named = await whirlpoolFamily.accounts(POOL, data)
  if (named.length === 0) return whirlpoolFamily.pool(HEAD, data, [])
  const starts = [true, false].flatMap((sellsA) =>
    arrayStarts({ tick, tickSpacing: SPACING }, sellsA),
  )
  const sorted = [...new Set(starts)].toSorted((one, other) => one - other)
  const mint = { owner: TOKEN_PROGRAM, lamports: 1n, data: new Uint8Array(82) }
  return whirlpoolFamily.pool(
    HEAD,
    data,
    named.map((address, index) => {
      const start = sorted[index]
      if (start === undefined) return { address, account: mint }
      const array = arrayData(start, initialized(start), isDynamic)
      return { address, account: { owner: WHIRLPOOL, lamports: 1n, data: array } }
    }),
  )
}

test('the tick of a Whirlpool must be that of its price', async () => {
  for (const tick of [-LAST_TICK, -70_000, -1, 0, 1, 70_000, LAST_TICK - 1]) {
    const [at, next] = [whirlpoolSqrtPrice(tick), whirlpoolSqrtPrice(tick + 1)]
    for (const price of [at, (at + next) / 2n, next])
      assert.ok(await readPool(tick, price), `${tick} at ${price}`)
    // Nothing is below or above the prices of the last ticks.
    if (tick > -LAST_TICK) assert.equal(await readPool(tick, at - 1n), null, `below ${tick}`)
    if (tick < LAST_TICK - 1) assert.equal(await readPool(tick, next + 1n), null, `above ${tick}`)
  }
  const [lowest, highest] = [whirlpoolSqrtPrice(-LAST_TICK), whirlpoolSqrtPrice(LAST_TICK)]
  assert.ok(await readPool(-LAST_TICK - 1, lowest))
  assert.ok(await readPool(LAST_TICK, highest))
  for (const [tick, price] of [
    [-LAST_TICK - 2, lowest],
    [-LAST_TICK - 1, lowest + 1n],
    [-LAST_TICK, lowest - 1n],
    [LAST_TICK, highest + 1n],
    [LAST_TICK + 1, highest],
    [444_800, 1n << 64n],
    [2 ** 31 - 1, 1n << 64n],
    [-(2 ** 31), 1n << 64n],
  ] as const)
    assert.equal(await readPool(tick, price), null, `${tick} at ${price}`)
})

test('no liquidity of a Whirlpool begins or ends beyond the last tick', async () => {
  const edge = LAST_TICK - 1
  const price = whirlpoolSqrtPrice(edge)
  for (const isDynamic of [false, true]) {
    const placesUpTo = (most: number) => (start: number) =>
      Array.from({ length: ARRAY_TICKS }, (_, place) => place).filter(
        (place) => Math.abs(start + place * SPACING) <= most,
      )
    const pool = await readPool(edge, price, placesUpTo(LAST_TICK), isDynamic)
    assert.ok(pool?.kind === 'whirlpool' && pool.ticks.length > 0)
    assert.equal(await readPool(edge, price, placesUpTo(LAST_TICK + SPACING), isDynamic), null)
  }
})

test('the price of a bin is the one of its number, but for its last digits', () => {
  const [binStep, array] = [10, 3]
  const bin = array * 70 + 5
  const price = dlmmPriceOfBin(bin, binStep) ?? 0n
  /** Account of bins of which one holds something. Layout: MeteoraAg/dlmm-sdk idls/dlmm.json. */
  const bins = (stated: bigint) => {
    const data = Buffer.alloc(10_136)
    data.write('5c8e5cdc059446b5', 'hex')
    data.writeBigInt64LE(BigInt(array), 8)
    data.set(key(POOL), 24)
    const at = 56 + 5 * 144
    data.writeBigUInt64LE(7n, at)
    writeU128(data, stated, at + 16)
    return readDlmmArray({ data }, { pool: POOL, array }, { orders: 'none', binStep })
  }
  for (const stated of [price, price - 2n, price + 2n]) assert.equal(bins(stated)?.length, 1)
  // The next bin is a thousandth away.
  for (const stated of [0n, 1n, price / 2n, (price * 99_999n) / 100_000n, price * 2n])
    assert.equal(bins(stated), null, String(stated))
})

/** A state that no reading lets through: its mathematics throw. */
const BROKEN: Pool = {
  kind: 'whirlpool',
  address: POOL,
  protocol: 'orca_whirlpool',
  tokens: [A, B],
  tvlUsd: 2_000_000,
  sqrtPrice: 1n << 64n,
  tick: 0,
  liquidity: 1.5 as never,
  feePips: 3_000,
  tickSpacing: 64,
  ticks: [],
  sideOfA: 0,
  arrays: [],
}
const GOOD: Pool = {
  kind: 'fee_on_input',
  address: addressFor('good pool'),
  protocol: 'raydium_cpmm',
  tokens: [A, B],
  tvlUsd: 1_000_000,
  reserves: [10n ** 12n, 10n ** 12n],
  feePips: 2_500,
}
const LIMITS = { minTvlUsd: 0, poolsPerPair: 8 }

const graphOf = (pools: readonly Pool[]) => {
  const reported: string[] = []
  const graph: PoolGraph = {
    ...createPoolGraph(pools, LIMITS),
    failed: ({ address }, error) => {
      assert.ok(error instanceof Error)
      reported.push(address)
    },
  }
  return { graph, reported }
}
const requests = [A, B].flatMap((tokenIn) =>
  (['exact_in', 'exact_out'] as const).map((mode) => ({
    tokenIn,
    tokenOut: tokenIn === A ? B : A,
    mode,
    amountRaw: 10n ** 9n,
  })),
)
const isFault =
  (name: string) =>
  (error: unknown): boolean =>
    error instanceof Fault && error.faultName === name

test('a pool whose mathematics throw is passed over and reported, and every other pool is quoted as without it', () => {
  for (const request of requests) {
    const { graph: alone } = graphOf([GOOD])
    const { graph, reported } = graphOf([GOOD, BROKEN])
    const hubs = new Set<string>()
    const order = { request, slippageBps: 100, wanted: undefined, owner: OWNER, recipient: OWNER }
    assert.deepEqual(
      quoteSwap({ graph, hubs }, request, 100),
      quoteSwap({ graph: alone, hubs }, request, 100),
    )
    assert.deepEqual(
      solanaQuotes({ graph, hubs }, order),
      solanaQuotes({ graph: alone, hubs }, order),
    )
    assert.deepEqual([...new Set(reported)], [POOL])
  }
})

test('the only pool, when its mathematics throw, is a typed error and reported', () => {
  for (const request of requests) {
    const { graph, reported } = graphOf([BROKEN])
    const hubs = new Set<string>()
    assert.throws(() => quoteSwap({ graph, hubs }, request, 100), isFault('DEX_ROUTE_BUILD_FAILED'))
    assert.ok(reported.length > 0)
    reported.length = 0
    assert.throws(
      () => quoteOverNamedPool(BROKEN, request, 100, graph.failed),
      isFault('LIQUIDITY_INSUFFICIENT'),
    )
    assert.ok(reported.length > 0)
  }
})

const ROW = {
  pool: POOL,
  program: WHIRLPOOL,
  family: 'orca_whirlpool',
  decimals_a: 6,
  decimals_b: 6,
  reserve_a: null,
  reserve_b: null,
  depth_usd: 1_000_000,
  price: null,
  sqrt_price_x96: null,
  range_liquidity: null,
  tick: null,
  fee_pips: null,
  is_complete: 0,
  priced_reserve_a: null,
  priced_reserve_b: null,
  priced_fees: [],
  fee_token: '',
  is_doubted: 0,
  token_x: '',
  bin_step: null,
  active_bin: null,
  fee_terms: [],
  volatility: 0,
  volatility_reference: 0,
  bin_reference: null,
  volatility_at: '0',
  bins_x: '0',
  bins_y: '0',
  version: '1',
}

test('a state that cannot be quoted is left out of the book, reported once, until the next reading', () => {
  const reported: string[] = []
  const book = createPoolBook(chainVenues('sol', undefined, true), LIMITS, undefined, (pool) => {
    reported.push(pool.address)
  })
  const row = { ...ROW, token_a: A, token_b: B }
  book.load([row], [], [])
  book.keepRead(POOL, BROKEN, 2_000)
  const graph = book.graph(0)
  assert.equal(graph.poolsOf(A, B).length, 1)
  const [request] = requests
  assert.ok(request)
  for (let round = 0; round < 3; round += 1)
    assert.throws(() => quoteSwap({ graph, hubs: new Set() }, request, 100))
  assert.deepEqual(reported, [POOL])
  assert.equal(book.pool(POOL, 1_999), null)
  assert.equal(book.unread(A, B, 1_999).length, 0, 'it is not read again for every request')
  book.keepRead(POOL, BROKEN, 4_000)
  assert.throws(() => quoteSwap({ graph: book.graph(2_000), hubs: new Set() }, request, 100))
  assert.equal(reported.length, 2)
})
