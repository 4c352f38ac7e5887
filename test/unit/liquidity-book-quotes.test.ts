import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { binFee, feeTermsOf, priceOfBin } from '../../core/prices/bin-math.ts'
import type { DexPoolEvents, PoolState } from '../../schemas/wire.ts'
import { addToBin, emptyBinEntry, exactBook } from '../../serving/dex/bin-entry.ts'
import { quoteExactIn, quoteExactOut, spotPrice } from '../../serving/dex/pool.ts'
import { createPoolBook, type PoolBook } from '../../serving/dex/pool-book.ts'
import { chainVenues } from '../../serving/dex/quotable-protocols.ts'
import { priceImpactPercent } from '../../serving/dex/route.ts'
import {
  type PoolAfter,
  poolEventAfter,
  poolRecord,
  type TestPool,
} from '../support/builders/dex-pool-events.ts'
import { addressFromNumber } from '../support/builders/market-trade.ts'

const [X, Y] = [addressFromNumber(11), addressFromNumber(12)] as const
const PAIR: TestPool = { address: addressFromNumber(3), protocol: 'lfj_v2_2', tokens: [X, Y] }
const MIDDLE = 1 << 23
const STATED = [20_000, 30, 600, 5_000, 40_000, 1_000, 350_000]
const START_MS = 1_750_000_000_000

const makeBook = (): PoolBook =>
  createPoolBook(chainVenues('avalanche', undefined), { minTvlUsd: 0, poolsPerPair: 8 })

const bins = (change: NonNullable<PoolAfter['bins']>): Pick<PoolAfter, 'bins'> => ({
  bins: { token_x: X, ...change },
})
const move = (bin: number, x: bigint, y: bigint) => ({
  bin,
  amount_x: String(x),
  amount_y: String(y),
})

/** Opens, with a unit of each token in the middle bin and two bins to each side. */
const LIFE: readonly PoolAfter[] = [
  { type: 'UNSPECIFIED', ...bins({ fee_terms: STATED }), atMs: START_MS },
  { type: 'INITIALIZE', ...bins({ bin_step: 20 }), atMs: START_MS },
  {
    type: 'INCREASE_LIQUIDITY',
    ...bins({
      active_bin: MIDDLE,
      moves: [
        ...[2, 1].map((away) => move(MIDDLE - away, 0n, 1_000_000n)),
        move(MIDDLE, 1_000_000n, 1_000_000n),
        ...[1, 2].map((away) => move(MIDDLE + away, 1_000_000n, 0n)),
      ],
    }),
    atMs: START_MS,
  },
]

const tape = (steps: readonly PoolAfter[]): readonly DexPoolEvents[] => {
  let state: PoolState | null = null
  return steps.map((step, index) => {
    const after = poolEventAfter(PAIR, step, state)
    state = after.state
    return poolRecord('OP_APPLY', index + 1, [after.event], step.atMs)
  })
}

const poolAfter = (steps: readonly PoolAfter[], nowMs = START_MS + 10_000_000) => {
  const book = makeBook()
  for (const record of tape(steps)) book.accept(record)
  return book.pool(PAIR.address, nowMs)
}

/** A swap of X through two bins, which has raised the volatility by one bin. */
const SOLD: readonly PoolAfter[] = [
  {
    type: 'SWAP',
    ...bins({ active_bin: MIDDLE, volatility: 0, moves: [move(MIDDLE, 1_004_017n, -1_000_000n)] }),
    atMs: START_MS + 5_000,
  },
  {
    type: 'SWAP',
    ...bins({
      active_bin: MIDDLE - 1,
      volatility: 10_000,
      moves: [move(MIDDLE - 1, 1_000n, -994n)],
    }),
    atMs: START_MS + 5_000,
  },
]

test('prices of bins are those of the contract', () => {
  // Vectors: traderjoe-xyz/joe-v2 test/libraries/PriceHelper.t.sol states the formula; 2^128 at the middle.
  assert.equal(priceOfBin(MIDDLE, 20), 1n << 128n)
  const near = (bin: number) => Number(priceOfBin(bin, 20) ?? 0n) / 2 ** 128
  assert.ok(Math.abs(near(MIDDLE + 3_804) / 1.002 ** 3_804 - 1) < 1e-12)
  assert.ok(Math.abs(near(MIDDLE - 3_804) * 1.002 ** 3_804 - 1) < 1e-12)
  assert.equal(priceOfBin(0, 20), undefined)
  assert.equal(priceOfBin(MIDDLE - 0x100000, 1), undefined)
})

test('a fee has a part of its own for the volatility, rounded up', () => {
  const terms = feeTermsOf(STATED)
  assert.ok(terms)
  assert.equal(binFee(0, 20, terms), 4_000_000_000_000_000n)
  assert.equal(binFee(10_000, 20, terms), 4_000_000_000_000_000n + 16_000_000_000_000n)
  assert.equal(feeTermsOf([1, 2]), undefined)
})

test('a pool is quoted once an event has reported its active bin, and only where it is followed since it opened', () => {
  assert.equal(poolAfter(LIFE)?.kind, 'bins')
  const oneSided = LIFE.map((step) =>
    step.type === 'INCREASE_LIQUIDITY'
      ? { ...step, bins: { ...step.bins, active_bin: null } }
      : step,
  )
  assert.equal(poolAfter(oneSided), null)
  assert.equal(poolAfter(LIFE.slice(2)), null)
})

test('a pool of which only some bins are known here is not quoted', () => {
  const deposit: PoolAfter = {
    type: 'INCREASE_LIQUIDITY',
    ...bins({ moves: [move(MIDDLE - 30, 0n, 1n)] }),
    atMs: START_MS + 5_000,
  }
  const records = tape([...LIFE, deposit])
  const nowMs = START_MS + 10_000
  const whole = makeBook()
  for (const record of records) whole.accept(record)
  assert.equal(whole.pool(PAIR.address, nowMs)?.kind, 'bins')
  const emptied = makeBook()
  for (const record of records.slice(0, -1)) emptied.accept(record)
  emptied.clear()
  for (const record of records.slice(-1)) emptied.accept(record)
  assert.equal(emptied.pool(PAIR.address, nowMs), null)
})

test('a pool with too many bins is not quoted, and its bins are not kept', () => {
  const entry = emptyBinEntry()
  for (let bin = 0; bin <= 20_001; bin += 1) addToBin(entry, bin, 1n, 0n)
  assert.equal(entry.reserves.size, 0)
  assert.equal(exactBook(entry, false), null)
})

test('the first swap tells the bin that a pool opened at', () => {
  const oneSided = LIFE.map((step) =>
    step.type === 'INCREASE_LIQUIDITY'
      ? { ...step, bins: { ...step.bins, active_bin: null } }
      : step,
  )
  const pool = poolAfter([...oneSided, ...SOLD], START_MS + 6_000)
  assert.ok(pool?.kind === 'bins')
  assert.deepEqual([pool.activeBin, pool.binReference], [MIDDLE - 1, MIDDLE])
})

test('a swap whose volatility does not follow from the state ends the quotes of its pool', () => {
  const [first, second] = SOLD
  assert.ok(first && second)
  const strange = { ...second, bins: { ...second.bins, volatility: 20_000 } }
  assert.equal(poolAfter([...LIFE, first, strange]), null)
  assert.equal(poolAfter([...LIFE, ...SOLD])?.kind, 'bins')
})

test('a bin that gives more than it holds ends the quotes of its pool', () => {
  const [first] = SOLD
  assert.ok(first)
  const drained = bins({ ...first.bins, moves: [move(MIDDLE, 1_004_017n, -1_000_001n)] })
  assert.equal(poolAfter([...LIFE, { ...first, ...drained }]), null)
})

test('the volatility is kept for the filter period, reduced until the decay period is over, and then gone', () => {
  const outAt = (afterS: number): bigint => {
    const pool = poolAfter([...LIFE, ...SOLD], START_MS + 5_000 + afterS * 1_000)
    assert.ok(pool?.kind === 'bins')
    const quote = quoteExactIn(pool, X, 900_000n)
    assert.ok('amountRaw' in quote)
    return quote.amountRaw
  }
  assert.equal(outAt(0), outAt(29))
  // From then on the distance counts from the bin that is active: half of the volatility is left, then none.
  assert.ok(outAt(30) > outAt(29))
  assert.equal(outAt(30), outAt(599))
  assert.ok(outAt(600) > outAt(599))
  assert.equal(outAt(600), outAt(1_000_000))
})

test('without a filter period nothing is quoted: events do not distinguish the swaps of one second', () => {
  const [terms, ...rest] = LIFE
  assert.ok(terms)
  const stated = STATED.map((number, index) => (index === 1 ? 0 : number))
  const pool = poolAfter([{ ...terms, ...bins({ fee_terms: stated }) }, ...rest])
  assert.ok(pool)
  assert.equal('refused' in quoteExactIn(pool, X, 1_000n), true)
})

test('ExactOut costs what ExactIn needs, one unit less is not enough, and fees are reported', () => {
  const pool = poolAfter(LIFE)
  assert.ok(pool)
  fc.assert(
    fc.property(fc.bigInt(1n, 2_999_990n), fc.constantFrom(X, Y), (wanted, sold) => {
      const cost = quoteExactOut(pool, sold, wanted)
      assert.ok('amountRaw' in cost && cost.feeRaw !== undefined && cost.feeRaw > 0n)
      const given = quoteExactIn(pool, sold, cost.amountRaw)
      assert.ok('amountRaw' in given && given.amountRaw >= wanted)
      const less = quoteExactIn(pool, sold, cost.amountRaw - 2n)
      assert.ok('refused' in less || less.amountRaw <= wanted)
    }),
  )
  assert.equal('refused' in quoteExactOut(pool, X, 3_000_001n), true)
  assert.equal('refused' in quoteExactIn(pool, X, 10_000_000n), true)
})

test('the price impact is that of the bins, without the fee', () => {
  const pool = poolAfter(LIFE)
  assert.ok(pool)
  assert.deepEqual(spotPrice(pool, X), { of: 1n << 128n, by: 1n << 128n })
  const impactOf = (amountInRaw: bigint): number => {
    const quote = quoteExactIn(pool, X, amountInRaw)
    assert.ok('amountRaw' in quote && quote.feeRaw !== undefined)
    const { amountRaw: amountOutRaw, feeRaw } = quote
    const hop = { pool, tokenIn: X, tokenOut: Y, amountInRaw, amountOutRaw, feeRaw }
    const path = { hops: [hop], amountInRaw, amountOutRaw }
    return Number(priceImpactPercent({ paths: [path], amountInRaw, amountOutRaw }))
  }
  assert.equal(impactOf(1_000n), 0)
  // Two thirds at the price, a third a bin of 0.2 % below and a third two bins below.
  assert.ok(Math.abs(impactOf(3_018_000n) - 0.2) < 0.01)
})
