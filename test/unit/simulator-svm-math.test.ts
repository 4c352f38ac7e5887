import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  curveAfter,
  curveCost,
  curvePayout,
  feeOf,
  NEW_CURVE,
  pumpSwapCost,
  pumpSwapPayout,
  raydiumAmountIn,
  raydiumAmountOut,
  tokensForLamports,
} from '../../simulator/svm/amm-math.ts'
import { forkSlotAt, heightAt, isSkipped, slotAt } from '../../simulator/svm/slots.ts'

const sol = fc.bigInt({ min: 10_000n, max: 60_000_000_000n })
const reserve = fc.bigInt({ min: 1_000_000n, max: 10n ** 16n })

test('a new simulated curve has the recorded prices: the last token sells at 85 SOL', () => {
  // Recorded by the first buy of fixture pumpfun_create_from_blocksubscribe.
  assert.equal(curveCost(NEW_CURVE, 3_520_371_073_923n), 98_750_018n)
  const whole = curveCost(NEW_CURVE, NEW_CURVE.realToken)
  assert.ok(whole > 85_005_000_000n && whole < 85_006_000_000n, `${whole}`)
  assert.equal(tokensForLamports(NEW_CURVE, 10n ** 12n), NEW_CURVE.realToken)
})

test('a simulated curve never costs more than the budget, and its product never falls', () => {
  fc.assert(
    fc.property(sol, sol, (before, spend) => {
      const first = tokensForLamports(NEW_CURVE, before)
      const curve = curveAfter(NEW_CURVE, curveCost(NEW_CURVE, first), first)
      if (curve.realToken === 0n) return
      const tokens = tokensForLamports(curve, spend)
      const cost = curveCost(curve, tokens)
      assert.ok(cost <= spend)
      const after = curveAfter(curve, cost, tokens)
      const product = (one: typeof curve): bigint => one.virtualSol * one.virtualToken
      assert.ok(product(after) >= product(curve))
      assert.ok(curvePayout(after, tokens) <= cost)
    }),
  )
})

test('simulated pools keep their product, whichever amount is exact', () => {
  fc.assert(
    fc.property(reserve, reserve, fc.integer({ min: 1, max: 900 }), (base, quote, share) => {
      const out = (base * BigInt(share)) / 1_000n
      if (out === 0n) return
      const cost = pumpSwapCost(base, quote, out)
      assert.ok((base - out) * (quote + cost) >= base * quote)
      assert.ok((base - out) * (quote + cost - 1n) < base * quote)
      assert.ok((base + out) * (quote - pumpSwapPayout(base, quote, out)) >= base * quote)
      const paid = raydiumAmountIn(quote, base, out)
      assert.ok((base - out) * (quote + paid) >= base * quote)
      assert.ok(raydiumAmountOut(quote, base, paid) >= out)
    }),
  )
})

test('simulated fees are rounded up', () => {
  assert.equal(feeOf(98_750_018n, 95n), 938_126n)
  assert.equal(feeOf(98_750_018n, 30n), 296_251n)
  assert.equal(feeOf(0n, 95n), 0n)
})

test('slots and heights convert both ways, and two of 32 slots are skipped', () => {
  for (const seed of [0, 1, 99]) {
    let blocks = 0
    for (let slot = 0; slot < 3_200; slot += 1) {
      if (isSkipped(seed, slot)) {
        assert.equal(heightAt(seed, slot), blocks - 1)
        continue
      }
      assert.equal(slotAt(seed, blocks), slot)
      assert.equal(heightAt(seed, slot), blocks)
      blocks += 1
    }
    assert.equal(blocks, 3_000)
    for (let height = 1; height < 3_000; height += 1) {
      const fork = forkSlotAt(seed, height)
      assert.ok(fork > slotAt(seed, height - 1) && fork <= slotAt(seed, height))
    }
  }
})
