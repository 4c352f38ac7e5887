import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sqrtPriceAtTick } from '../../core/prices/tick-math.ts'
import type { DexPoolEvents, PoolState } from '../../schemas/wire.ts'
import type { Pool } from '../../serving/dex/pool.ts'
import { createPoolBook, type PoolBook } from '../../serving/dex/pool-book.ts'
import { chainVenues } from '../../serving/dex/quotable-protocols.ts'
import type { PoolStateRow } from '../../serving/queries/pool-states.ts'
import {
  type PoolAfter,
  poolEventAfter,
  poolRecord,
  type TestPool,
} from '../support/builders/dex-pool-events.ts'
import { addressFromNumber } from '../support/builders/market-trade.ts'

const [LOW, HIGH] = [addressFromNumber(11), addressFromNumber(12)] as const
const PAIR: TestPool = {
  address: addressFromNumber(1),
  protocol: 'uniswap_v2',
  tokens: [LOW, HIGH],
}
const RANGED: TestPool = { ...PAIR, address: addressFromNumber(2), protocol: 'uniswap_v3' }
const LIMITS = { minTvlUsd: 1_000, poolsPerPair: 8 }

const makeBook = (maxPools?: number): PoolBook =>
  createPoolBook(chainVenues('eth', undefined), LIMITS, maxPools)

/** Records of one event each, block after block. */
const tape = (pool: TestPool, steps: readonly PoolAfter[], from = 1): readonly DexPoolEvents[] => {
  let state: PoolState | null = null
  return steps.map((step, index) => {
    const after = poolEventAfter(pool, step, state)
    state = after.state
    return poolRecord('OP_APPLY', from + index, [after.event])
  })
}

const retracted = (record: DexPoolEvents, seq: number): DexPoolEvents =>
  poolRecord('OP_REVERT', seq, record.events.toReversed())

const swapTo = (one: bigint, other: bigint, usd?: number): PoolAfter => ({
  type: 'SWAP',
  reserves: [one, other],
  ...(usd !== undefined && { usd }),
})

const position = (
  type: 'INCREASE_LIQUIDITY' | 'DECREASE_LIQUIDITY',
  ticks: readonly [number, number],
  liquidity: bigint,
): PoolAfter => ({
  type,
  concentrated: {
    tick_lower: ticks[0],
    tick_upper: ticks[1],
    position_liquidity: String(liquidity),
  },
})

const priceAt = (type: 'INITIALIZE' | 'SWAP', tick: number, liquidity: bigint): PoolAfter => ({
  type,
  concentrated: {
    tick,
    sqrt_price_x96: String(sqrtPriceAtTick(tick)),
    liquidity: String(liquidity),
  },
})

/** Opens at tick 0, two positions over each other, then a swap into the wider one alone. */
const LIFE: readonly PoolAfter[] = [
  priceAt('INITIALIZE', 0, 0n),
  position('INCREASE_LIQUIDITY', [-600, 600], 1_000n),
  position('INCREASE_LIQUIDITY', [-60, 60], 500n),
  priceAt('SWAP', 120, 1_000n),
]
const LIFE_TICKS = [
  { tick: -600, liquidityNet: 1_000n },
  { tick: -60, liquidityNet: 500n },
  { tick: 60, liquidityNet: -500n },
  { tick: 600, liquidityNet: -1_000n },
]

test('reserves of a pool are in the order of its token addresses, whichever token is the quote', () => {
  const book = makeBook()
  for (const record of tape(PAIR, [swapTo(5n, 7n, 3_000)])) book.accept(record)
  const pool = book.pool(PAIR.address, 0)
  assert.ok(pool?.kind === 'constant_product')
  assert.deepEqual(
    [pool.tokens, pool.reserves],
    [
      [LOW, HIGH],
      [5n, 7n],
    ],
  )
  assert.deepEqual([pool.feePips, pool.tvlUsd], [3_000, 3_000])
  assert.deepEqual([book.decimals(LOW), book.decimals(HIGH), book.decimals('0x')], [18, 6, null])
})

test('pools of unlisted or mislabeled factories are not kept', () => {
  const book = makeBook()
  const foreign = { ...PAIR, factory: addressFromNumber(9) }
  const mislabelled = { ...PAIR, factory: '0x1f98431c8ad98523631ae4a59f267346ea31f984' }
  for (const pool of [foreign, mislabelled]) {
    for (const record of tape(pool, [swapTo(5n, 7n)])) book.accept(record)
  }
  assert.equal(book.pool(PAIR.address, 0), undefined)
})

test('a pool with ranges can be quoted once it is followed from its creation', () => {
  const book = makeBook()
  for (const record of tape(RANGED, LIFE)) book.accept(record)
  const pool = book.pool(RANGED.address, 0)
  assert.ok(pool?.kind === 'concentrated')
  assert.deepEqual(pool.ticks, LIFE_TICKS)
  assert.deepEqual([pool.tick, pool.liquidity, pool.tickSpacing], [120, 1_000n, 60])
})

test('a pool with ranges that is older than the log is known but not quoted', () => {
  const book = makeBook()
  for (const record of tape(RANGED, LIFE.slice(1))) book.accept(record)
  assert.equal(book.pool(RANGED.address, 0), null)
})

test('a pool whose positions do not add up to its stated liquidity is not quoted', () => {
  const book = makeBook()
  for (const record of tape(RANGED, [...LIFE, priceAt('SWAP', 0, 1_499n)])) book.accept(record)
  assert.equal(book.pool(RANGED.address, 0), null)
})

test('a retraction restores the pool state from before it, and redelivered records change nothing', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: LIFE.length - 1 }), { maxLength: 12 }),
      fc.integer({ min: 1, max: LIFE.length - 1 }),
      (again, taken) => {
        const records = tape(RANGED, LIFE)
        const book = makeBook()
        for (const record of records) book.accept(record)
        for (const index of again) {
          const record = records[index]
          if (record !== undefined) book.accept(record)
        }
        const undone = records.slice(-taken).toReversed()
        for (const [index, record] of undone.entries()) {
          book.accept(retracted(record, LIFE.length + 1 + index))
        }
        const plain = makeBook()
        for (const record of records.slice(0, -taken)) plain.accept(record)
        assert.deepEqual(book.pool(RANGED.address, 0), plain.pool(RANGED.address, 0))
        const later = tape(RANGED, LIFE, 100)
        for (const record of later.slice(-taken)) book.accept(record)
        const pool = book.pool(RANGED.address, 0)
        assert.ok(pool?.kind === 'concentrated')
        assert.deepEqual(pool.ticks, LIFE_TICKS)
      },
    ),
  )
})

const ROW: PoolStateRow = {
  pool: RANGED.address,
  token_a: HIGH,
  token_b: LOW,
  family: 'uniswap_v3',
  program: '0x1f98431c8ad98523631ae4a59f267346ea31f984',
  decimals_a: 6,
  decimals_b: 18,
  reserve_a: null,
  reserve_b: null,
  depth_usd: 5,
  price: null,
  fee_pips: 3_000,
  is_complete: 1,
  sqrt_price_x96: String(sqrtPriceAtTick(0)),
  range_liquidity: '1000',
  tick: 0,
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
  version: String(2n << 24n),
}

test('pool state starts from the tables, and log records that these already include are skipped', () => {
  const ticks = [
    { pool: RANGED.address, tick: -600, net: '1000', version: String(2n << 24n) },
    { pool: RANGED.address, tick: 600, net: '-1000', version: String(2n << 24n) },
  ]
  const book = makeBook()
  book.load([ROW], ticks, [])
  for (const record of tape(RANGED, LIFE)) book.accept(record)
  const whole = makeBook()
  for (const record of tape(RANGED, LIFE)) whole.accept(record)
  const [found, wanted] = [book.pool(RANGED.address, 0), whole.pool(RANGED.address, 0)]
  assert.ok(found && wanted)
  assert.deepEqual(found, { ...wanted, tvlUsd: found.tvlUsd })
})

test('beyond the pool limit the pools with the least liquidity are dropped', () => {
  const book = makeBook(10)
  for (let number = 1; number <= 11; number += 1) {
    const pool = { ...PAIR, address: addressFromNumber(100 + number) }
    for (const record of tape(pool, [swapTo(5n, 7n, number * 1_000)], number)) book.accept(record)
  }
  assert.equal(book.size, 9)
  assert.ok(book.pool(addressFromNumber(110), 0))
  assert.equal(book.pool(addressFromNumber(101), 0), undefined)
})

test('a pool graph has the current reserves, and new pairs after a few seconds', () => {
  const book = makeBook()
  const [first, second] = tape(PAIR, [swapTo(5n, 7n, 3_000), swapTo(6n, 6n, 3_000)])
  assert.ok(first && second)
  book.accept(first)
  const reserves = () =>
    book
      .graph(0)
      .poolsOf(LOW, HIGH)
      .map((pool) => pool.kind === 'constant_product' && pool.reserves)
  assert.deepEqual(reserves(), [[5n, 7n]])
  book.accept(second)
  assert.deepEqual(reserves(), [[6n, 6n]])
  const deeper = { ...PAIR, address: addressFromNumber(3) }
  for (const record of tape(deeper, [swapTo(1n, 1n, 9_000)], 9)) book.accept(record)
  assert.deepEqual(reserves(), [
    [1n, 1n],
    [6n, 6n],
  ])
  assert.deepEqual(book.graph(0).neighbours(LOW), [HIGH])
  const third = addressFromNumber(13)
  const other: TestPool = { ...PAIR, address: addressFromNumber(4), tokens: [LOW, third] }
  for (const record of tape(other, [swapTo(1n, 1n, 20_000)], 9)) book.accept(record)
  assert.deepEqual(book.graph(4_999).neighbours(LOW), [HIGH])
  assert.deepEqual(book.graph(5_000).neighbours(LOW), [third, HIGH])
  book.clear()
  assert.deepEqual(reserves(), [])
})

test('a pool with ranges whose past was forgotten is not exact, also where the ranges after it add up', () => {
  // What was before the last of these leaves nothing at the price of the third.
  const steps = [
    priceAt('INITIALIZE', 0, 0n),
    position('INCREASE_LIQUIDITY', [-60, 60], 1_000n),
    priceAt('SWAP', 120, 0n),
    position('INCREASE_LIQUIDITY', [-60_000, 240], 7n),
  ]
  const records = tape(RANGED, steps)
  const book = makeBook()
  for (const record of records) book.accept(record)
  assert.ok(book.pool(RANGED.address, 0))
  book.clear()
  for (const record of records.slice(3)) book.accept(record)
  assert.equal(book.pool(RANGED.address, 0), null)
  const small = makeBook(5)
  for (const record of records.slice(0, 3)) small.accept(record)
  for (let index = 0; index < 6; index += 1) {
    const pair: TestPool = { ...PAIR, address: addressFromNumber(50 + index) }
    for (const record of tape(pair, [swapTo(5n, 7n, 3_000)], 10 + index)) small.accept(record)
  }
  assert.equal(small.pool(RANGED.address, 0), undefined)
  const [late] = tape(RANGED, steps, 30).slice(3)
  assert.ok(late)
  small.accept(late)
  assert.equal(small.pool(RANGED.address, 0) ?? null, null)
})

const PROGRAM = 'CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C'
const PRICED: TestPool = { ...PAIR, protocol: 'raydium_cpmm' }
const makeSolanaBook = (): PoolBook => createPoolBook(chainVenues('sol', undefined), LIMITS)

/** A swap in the order of the addresses: what it found and what it left. */
const pricedSwap = (
  found: readonly [bigint, bigint],
  left: readonly [bigint, bigint],
  fees: readonly number[] = [2_500],
): PoolAfter => ({
  type: 'SWAP',
  reserves: left,
  pricing: {
    reserve_a: String(left[1]),
    reserve_b: String(left[0]),
    found_a: String(found[1]),
    found_b: String(found[0]),
    fees: [...fees],
    fee_token: '',
    is_doubted: false,
  },
})

test('a pool is quoted with its verified state, and keeps its fee where an event has none', () => {
  const book = makeSolanaBook()
  const steps = [pricedSwap([9n, 9n], [10n, 8n]), pricedSwap([10n, 8n], [11n, 7n], [])]
  for (const record of tape(PRICED, steps)) book.accept(record)
  const pool = book.pool(PRICED.address, 0)
  assert.ok(pool?.kind === 'fee_on_input')
  assert.deepEqual([pool.reserves, pool.feePips], [[11n, 7n], 2_500])
})

test('a pool without a known fee, or with an event that does not explain its reserves, is known but not quoted', () => {
  for (const steps of [
    [pricedSwap([9n, 9n], [10n, 8n], [])],
    [pricedSwap([9n, 9n], [10n, 8n]), swapTo(11n, 7n)],
  ]) {
    const book = makeSolanaBook()
    for (const record of tape(PRICED, steps)) book.accept(record)
    assert.equal(book.pool(PRICED.address, 0), null)
  }
})

test('a pool whose reserves do not follow from its last event is not quoted until an event explains them', () => {
  const book = makeSolanaBook()
  const records = tape(PRICED, [
    pricedSwap([9n, 9n], [10n, 8n]),
    pricedSwap([10n, 9n], [11n, 8n]),
    pricedSwap([11n, 8n], [12n, 7n]),
  ])
  const known = records.map((record) => {
    book.accept(record)
    return book.pool(PRICED.address, 0) !== null
  })
  assert.deepEqual(known, [true, false, true])
  for (const [index, record] of records.slice(1).toReversed().entries()) {
    book.accept(retracted(record, 4 + index))
  }
  const pool = book.pool(PRICED.address, 0)
  assert.deepEqual(pool?.kind === 'fee_on_input' && pool.reserves, [10n, 8n])
})

test('verified reserves of the tables equal those of the log', () => {
  const book = makeSolanaBook()
  const stored = {
    ...ROW,
    pool: PRICED.address,
    family: 'raydium_cpmm',
    program: PROGRAM,
    priced_reserve_a: '8',
    priced_reserve_b: '10',
    priced_fees: [2_500],
  }
  book.load([stored], [], [])
  const pool = book.pool(PRICED.address, 0)
  assert.deepEqual(pool?.kind === 'fee_on_input' && pool.reserves, [10n, 8n])
  book.load([{ ...stored, is_doubted: 1 }], [], [])
  assert.equal(book.pool(PRICED.address, 0), null)
})

/** A state as a node says it: so much of the second token for one of the first, in base units. */
const readAt = (price: number): Pool => ({
  kind: 'whirlpool',
  address: PAIR.address,
  protocol: 'orca_whirlpool',
  tokens: PAIR.tokens,
  tvlUsd: null,
  sqrtPrice: BigInt(Math.floor(Math.sqrt(price) * 2 ** 64)),
  tick: 0,
  liquidity: 1n,
  feePips: 0,
  tickSpacing: 64,
  ticks: [],
  sideOfA: 0,
  arrays: [],
})

const swapOf = (one: bigint, other: bigint): PoolAfter => ({ type: 'SWAP', amounts: [one, other] })
const E6 = 1_000_000n

/** Prices around another: near it, and beyond the bound on both sides. */
const requireBound = (book: PoolBook, price: number, label: string): void => {
  for (const near of [0.851, 1, 1 / 0.851])
    assert.ok(book.isPlausible(readAt(price * near)), `${label}: ${near}`)
  for (const far of [0.000_01, 0.5, 0.849, 1 / 0.849, 2, 100_000])
    assert.ok(!book.isPlausible(readAt(price * far)), `${label}: ${far}`)
}

test('a price that a node says is near to what the last swap of the pool paid, or it is not plausible', () => {
  const book = makeBook()
  assert.ok(book.isPlausible(readAt(1)), 'a pool that is not known')
  const records = tape(PAIR, [
    { type: 'INCREASE_LIQUIDITY', reserves: [1n, 1n] },
    swapOf(E6, 3n * E6),
    swapOf(2n * E6, E6),
  ])
  const [opened, first, second] = records as [DexPoolEvents, DexPoolEvents, DexPoolEvents]
  book.accept(opened)
  assert.ok(book.isPlausible(readAt(7)), 'a pool without a swap')
  book.accept(first)
  requireBound(book, 3, 'first swap')
  book.accept(second)
  requireBound(book, 0.5, 'second swap')
  book.accept(retracted(second, 4))
  requireBound(book, 3, 'the second swap taken back')
  book.accept(retracted(first, 5))
  assert.ok(book.isPlausible(readAt(7)), 'both taken back')
})

test('neither a change of liquidity nor a swap of very little changes the price that is known', () => {
  const book = makeBook()
  const steps: readonly PoolAfter[] = [
    swapOf(E6, 3n * E6),
    { type: 'INCREASE_LIQUIDITY', amounts: [E6, E6] },
    swapOf(9_999n, E6),
    swapOf(E6, 9_999n),
  ]
  for (const record of tape(PAIR, steps)) book.accept(record)
  requireBound(book, 3, 'after all')
})

test('the price of the tables is that of the last swap, in the decimals of the tokens', () => {
  const book = makeBook()
  // 0.4 units of 18 decimals for one of 6: 4 * 10^11 base units for one, of the other token.
  const stored = { ...ROW, pool: PAIR.address, price: 0.4 }
  book.load([stored], [], [])
  requireBound(book, 1 / 4e11, 'from the tables')
  for (const unknown of [{ price: null }, { price: 0 }, { price: 0.4, decimals_a: null }]) {
    const other = makeBook()
    other.load([{ ...stored, ...unknown }], [], [])
    assert.ok(other.isPlausible(readAt(1)))
  }
})
