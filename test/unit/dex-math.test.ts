import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { feeOnInputAmountIn, feeOnInputAmountOut } from '../../core/prices/fee-on-input.ts'
import { MAX_TICK, MIN_TICK, sqrtPriceAtTick } from '../../core/prices/tick-math.ts'
import {
  type ConcentratedState,
  concentratedAmountIn,
  concentratedAmountOut,
} from '../../serving/dex/concentrated-liquidity.ts'
import { swapStep } from '../../serving/dex/concentrated-step.ts'
import {
  constantProductAmountIn,
  constantProductAmountOut,
} from '../../serving/dex/constant-product.ts'
import {
  buyBaseExactIn,
  buyBaseExactOut,
  type FeeOnQuotePool,
  sellBaseExactIn,
  sellBaseExactOut,
} from '../../serving/dex/fee-on-quote.ts'

const E12 = 10n ** 12n
const E18 = 10n ** 18n
const Q96 = 2n ** 96n

test('constant product: amounts equal the known vector', () => {
  const pool = { in: E12, out: 5n * E12, feePips: 3_000 }
  assert.equal(constantProductAmountOut(10n ** 10n, pool), 49_357_901_719n)
  assert.equal(constantProductAmountIn(49_357_901_719n, pool), 10n ** 10n)
})

test('a V2 pair gives no quote beyond its reserves or their bounds', () => {
  const pool = { in: 1_000n, out: 1_000n, feePips: 3_000 }
  assert.equal(constantProductAmountIn(1_000n, pool), undefined)
  assert.equal(constantProductAmountOut(2n ** 112n, pool), undefined)
  assert.equal(constantProductAmountOut(1n, pool), undefined, 'nothing comes out')
  assert.equal(constantProductAmountOut(5n, { ...pool, in: 0n }), undefined)
})

const reserve = fc.bigInt({ min: 10_000n, max: 1n << 100n })
const fee = fc.integer({ min: 0, max: 30_000 })

test('constant product: more in gives no less out, and the input of an output gives that output, one less does not', () => {
  const amount = fc.bigInt({ min: 1n, max: 1n << 90n })
  fc.assert(
    fc.property(reserve, reserve, fee, amount, amount, (x, y, feePips, one, more) => {
      const pool = { in: x, out: y, feePips }
      const out = constantProductAmountOut(one, pool) ?? 0n
      const larger = constantProductAmountOut(one + more, pool)
      assert.ok(larger === undefined || larger >= out)
      if (out === 0n) return
      const back = constantProductAmountIn(out, pool) ?? 0n
      assert.ok(back <= one + 1n)
      assert.ok((constantProductAmountOut(back, pool) ?? 0n) >= out)
    }),
  )
})

test('concentrated liquidity: a swap step equals the known vector', () => {
  const context = { zeroForOne: false, exactIn: true, feePips: 3_000 }
  const state = { sqrtPriceX96: Q96, liquidity: E18, remaining: 10n ** 15n }
  const step = swapStep(context, { ...state, target: Q96 * 2n })
  assert.equal(step?.sqrtPriceX96, Q96 + (997n * Q96) / 1_000_000n)
  const sold = swapStep({ ...context, zeroForOne: true }, { ...state, target: Q96 / 2n })
  assert.equal(sold?.sqrtPriceX96, 79_149_250_711_305_166_342_700_278_159n)
  assert.equal(sold?.amountOut, 996_006_981_039_903n)
  assert.equal((sold?.amountIn ?? 0n) + (sold?.fee ?? 0n), 10n ** 15n)
})

interface Position {
  readonly low: number
  readonly high: number
  readonly liquidity: bigint
}

/** A pool with the given positions at a tick, everything known. */
const poolOf = (
  tick: number,
  tickSpacing: number,
  positions: readonly Position[],
): ConcentratedState => {
  const nets = new Map<number, bigint>()
  for (const { low, high, liquidity } of positions) {
    nets.set(low, (nets.get(low) ?? 0n) + liquidity)
    nets.set(high, (nets.get(high) ?? 0n) - liquidity)
  }
  return {
    sqrtPriceX96: sqrtPriceAtTick(tick),
    tick,
    feePips: 3_000,
    tickSpacing,
    liquidity: positions
      .filter(({ low, high }) => low <= tick && tick < high)
      .reduce((sum, { liquidity }) => sum + liquidity, 0n),
    ticks: [...nets]
      .map(([at, liquidityNet]) => ({ tick: at, liquidityNet }))
      .filter(({ liquidityNet }) => liquidityNet !== 0n)
      .toSorted((one, other) => one.tick - other.tick),
    knownTicks: [MIN_TICK, MAX_TICK],
  }
}

const position = fc
  .tuple(fc.integer({ min: -60, max: 59 }), fc.integer({ min: 1, max: 60 }), reserve)
  .map(([start, width, liquidity]) => ({
    low: start * 60,
    high: (start + width) * 60,
    liquidity,
  }))
const pool = fc
  .tuple(
    fc.integer({ min: -3_000, max: 3_000 }),
    fc.array(position, { minLength: 1, maxLength: 6 }),
  )
  .map(([tick, positions]) => poolOf(tick, 60, positions))
const amountOf = (quote: ReturnType<typeof concentratedAmountOut>): bigint | undefined =>
  'amountRaw' in quote ? quote.amountRaw : undefined

test('concentrated: more in gives no less out, and the input of an output gives at least that output', () => {
  const amount = fc.bigInt({ min: 1n, max: 1n << 80n })
  fc.assert(
    fc.property(pool, fc.boolean(), amount, amount, (state, zeroForOne, one, more) => {
      const out = amountOf(concentratedAmountOut(state, zeroForOne, one))
      const larger = amountOf(concentratedAmountOut(state, zeroForOne, one + more))
      if (out === undefined) return
      assert.ok(larger === undefined || larger >= out)
      const back = amountOf(concentratedAmountIn(state, zeroForOne, out))
      assert.ok(back !== undefined && back <= one, `${back} for ${one}`)
      assert.ok((amountOf(concentratedAmountOut(state, zeroForOne, back)) ?? 0n) >= out)
    }),
    { numRuns: 300 },
  )
})

test('overlapping positions are swapped through tick by tick', () => {
  const narrow = { low: -60, high: 60, liquidity: E18 }
  const wide = { low: -6_000, high: 6_000, liquidity: E18 }
  const both = poolOf(0, 60, [narrow, wide])
  const sold = 10n ** 16n
  const out = amountOf(concentratedAmountOut(both, true, sold)) ?? 0n
  const ifDeep = amountOf(
    concentratedAmountOut(poolOf(0, 60, [{ ...wide, liquidity: 2n * E18 }]), true, sold),
  )
  const ifThin = amountOf(concentratedAmountOut(poolOf(0, 60, [wide]), true, sold)) ?? 0n
  assert.ok(out > ifThin && out < (ifDeep ?? 0n))
})

test('a swap beyond the known ticks has no quote', () => {
  const state = {
    ...poolOf(0, 60, [{ low: -6_000, high: 6_000, liquidity: E18 }]),
    knownTicks: [-120, 120] as const,
  }
  assert.ok('amountRaw' in concentratedAmountOut(state, true, 10n ** 15n))
  const deep = concentratedAmountOut(state, true, 10n ** 17n)
  assert.equal('refused' in deep && deep.refused, 'beyond_known_ticks')
  const all = concentratedAmountOut(
    { ...state, knownTicks: [MIN_TICK, MAX_TICK] },
    true,
    10n ** 20n,
  )
  assert.equal('refused' in all && all.refused, 'insufficient_liquidity')
})

const GENESIS: FeeOnQuotePool = {
  kind: 'curve',
  quote: 30_000_000_000n,
  base: 1_073_000_000_000_000n,
  heldBase: 793_100_000_000_000n,
  heldQuote: 0n,
  feePips: [10_000],
}

test('a new bonding curve sells the amounts of the known vector', () => {
  assert.equal(buyBaseExactIn(GENESIS, 10n ** 9n), 34_281_150_096_027n)
  assert.equal(buyBaseExactIn(GENESIS, 10n ** 15n), undefined, 'more than it has')
  assert.equal(buyBaseExactOut(GENESIS, GENESIS.heldBase + 1n), undefined)
  assert.equal(sellBaseExactIn(GENESIS, 10n ** 12n), undefined, 'it holds nothing to pay with')
})

const feeOnQuotePool = fc.record({
  kind: fc.constantFrom('curve' as const, 'pool' as const),
  quote: fc.bigInt({ min: 10n ** 6n, max: 10n ** 15n }),
  base: fc.bigInt({ min: 10n ** 6n, max: 10n ** 18n }),
  feePips: fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 4 }),
})

test('bonding curve: a purchase never costs more than the budget, and selling it back never gives more', () => {
  fc.assert(
    fc.property(feeOnQuotePool, fc.bigInt({ min: 2n, max: 10n ** 14n }), (drawn, budget) => {
      const pool = { ...drawn, heldBase: drawn.base, heldQuote: drawn.quote }
      const bought = buyBaseExactIn(pool, budget)
      if (bought === undefined) return
      const cost = buyBaseExactOut(pool, bought)
      assert.ok(cost !== undefined && cost <= budget)
      const after = { ...pool, quote: pool.quote + cost, base: pool.base - bought }
      const back = sellBaseExactIn({ ...after, heldQuote: after.quote }, bought)
      assert.ok((back ?? 0n) <= budget)
    }),
  )
})

test('bonding curve: the input for an exact output is enough, and one unit less is not', () => {
  fc.assert(
    fc.property(feeOnQuotePool, fc.bigInt({ min: 1n, max: 10n ** 14n }), (drawn, wanted) => {
      const pool = { ...drawn, heldBase: drawn.base, heldQuote: drawn.quote }
      const sold = sellBaseExactOut(pool, wanted)
      if (sold === undefined) return
      assert.ok((sellBaseExactIn(pool, sold) ?? 0n) >= wanted)
      assert.ok((sellBaseExactIn(pool, sold - 1n) ?? 0n) < wanted)
    }),
  )
})

test('fee on the input, rounded up: the input for an output is never more than the original input', () => {
  const amounts = fc.bigInt({ min: 1n, max: 10n ** 18n })
  fc.assert(
    fc.property(amounts, amounts, amounts, fc.integer({ min: 0, max: 50_000 }), (...drawn) => {
      const [reserveIn, reserveOut, amountIn, feePips] = drawn
      const pool = { in: reserveIn, out: reserveOut, feePips }
      const amountOut = feeOnInputAmountOut(amountIn, pool)
      if (amountOut === 0n) return
      const needed = feeOnInputAmountIn(amountOut, pool) ?? 0n
      assert.ok(needed <= amountIn && feeOnInputAmountOut(needed, pool) >= amountOut)
    }),
  )
})
