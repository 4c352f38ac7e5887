import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { integerSqrt } from '../../core/bigint-math.ts'
import {
  amount0Delta,
  amount1Delta,
  MAX_TICK,
  MIN_TICK,
  sqrtPriceAtTick,
} from '../../core/prices/tick-math.ts'
import { amountInOf, amountOutOf, keepsProduct } from '../../simulator/evm/v2-math.ts'
import { swapWithin, tickAtSqrtPrice } from '../../simulator/evm/v3-math.ts'

const reserve = fc.bigInt({ min: 10_000n, max: 1n << 100n })

test('a V2 output keeps the product, and one more unit does not', () => {
  fc.assert(
    fc.property(reserve, reserve, fc.bigInt({ min: 1n, max: 1n << 90n }), (x, y, amountIn) => {
      const out = amountOutOf(amountIn, x, y)
      assert.ok(keepsProduct([x, y], [x + amountIn, y - out], [amountIn, 0n]))
      if (out + 1n < y)
        assert.ok(!keepsProduct([x, y], [x + amountIn, y - out - 1n], [amountIn, 0n]))
      if (out > 0n) assert.ok(amountInOf(out, x, y) <= amountIn + 1n)
    }),
  )
})

test('integerSqrt is the floor of the square root', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 1n << 300n }), (value) => {
      const root = integerSqrt(value)
      assert.ok(root * root <= value && (root + 1n) * (root + 1n) > value)
    }),
  )
})

test('square root prices of ticks equal those of the Uniswap library', () => {
  assert.equal(sqrtPriceAtTick(MIN_TICK), 4_295_128_739n)
  assert.equal(sqrtPriceAtTick(MAX_TICK), 1461446703485210103287273052203988822378723970342n)
  assert.equal(sqrtPriceAtTick(0), 1n << 96n)
  assert.throws(() => sqrtPriceAtTick(MAX_TICK + 1), RangeError)
  for (const tick of [-200_000, -887, -1, 1, 60, 12_345, 300_000]) {
    const price = (Number(sqrtPriceAtTick(tick)) / 2 ** 96) ** 2
    assert.ok(Math.abs(price / 1.0001 ** tick - 1) < 1e-9)
  }
})

test('the tick of a price is found from any starting tick', () => {
  const tick = fc.integer({ min: MIN_TICK, max: MAX_TICK - 1 })
  fc.assert(
    fc.property(tick, tick, fc.double({ min: 0, max: 1, noNaN: true }), (at, near, share) => {
      const low = sqrtPriceAtTick(at)
      const width = sqrtPriceAtTick(at + 1) - low
      const price = low + (width * BigInt(Math.floor(share * 999))) / 1_000n
      assert.equal(tickAtSqrtPrice(price, near), at)
    }),
    { numRuns: 300 },
  )
})

test('a V3 step pays less than the exact curve and keeps the fee', () => {
  const liquidity = fc.bigInt({ min: 1n << 40n, max: 1n << 90n })
  fc.assert(
    fc.property(
      liquidity,
      fc.integer({ min: -100_000, max: 100_000 }),
      fc.bigInt({ min: 1_000n, max: 1n << 60n }),
      fc.boolean(),
      (held, tick, amountIn, zeroForOne) => {
        const price = sqrtPriceAtTick(tick)
        const limit = sqrtPriceAtTick(zeroForOne ? MIN_TICK : MAX_TICK)
        const step = swapWithin(price, held, { amountIn, feePips: 3_000, zeroForOne, limit })
        if (step === undefined) return
        const [low, high] = zeroForOne ? [step.sqrtPriceX96, price] : [price, step.sqrtPriceX96]
        const needed = zeroForOne
          ? amount0Delta(low, high, held, true)
          : amount1Delta(low, high, held, true)
        assert.equal(needed + step.fee, amountIn)
        assert.ok(step.fee * 1_000_000n >= amountIn * 3_000n - 1_000_000n)
        // x * y = L^2 on virtual reserves, by rationals: (x + in)(y - out) >= x y
        const x = (held << 96n) / price + 1n
        const y = (held * price) >> 96n
        const [inSide, outSide] = zeroForOne ? [x, y] : [y, x]
        const net = amountIn - step.fee
        assert.ok((inSide + net + 2n) * (outSide - step.amountOut + 2n) >= (inSide - 1n) * outSide)
      },
    ),
  )
})
