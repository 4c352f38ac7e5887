/** Quotes of Whirlpools against swaps that the real program carried out (`test/fixtures/sol-programs/whirlpool-swaps.json`). */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { whirlpoolAmountIn, whirlpoolAmountOut } from '../../serving/dex/whirlpool.ts'

interface CarriedOut {
  readonly sellsA: boolean
  readonly exact: 'in' | 'out'
  /** The pool before the swap. */
  readonly sqrtPrice: string
  readonly tick: number
  readonly liquidity: string
  readonly paid: string
  readonly got: string
}

interface SwappedPool {
  readonly tickSpacing: number
  readonly feePips: number
  /** Initialized ticks and the change of liquidity at each, from below. */
  readonly ticks: readonly (readonly [number, string])[]
  readonly swaps: readonly CarriedOut[]
}

const { pools } = JSON.parse(
  readFileSync(new URL('../fixtures/sol-programs/whirlpool-swaps.json', import.meta.url), 'utf8'),
) as { readonly pools: readonly SwappedPool[] }

for (const { tickSpacing, feePips, ticks, swaps } of pools) {
  test(`quotes equal what the program moved: ticks ${tickSpacing} apart, fee ${feePips}`, () => {
    let crossed = 0
    for (const { sellsA, exact, paid, got, ...before } of swaps) {
      const pool = {
        tickSpacing,
        feePips,
        tick: before.tick,
        sqrtPrice: BigInt(before.sqrtPrice),
        liquidity: BigInt(before.liquidity),
        ticks: ticks.map(([tick, net]) => ({ tick, liquidityNet: BigInt(net) })),
      }
      const quote =
        exact === 'in'
          ? whirlpoolAmountOut(pool, sellsA, BigInt(paid))
          : whirlpoolAmountIn(pool, sellsA, BigInt(got))
      assert.ok('amountRaw' in quote, JSON.stringify(before))
      assert.equal(quote.amountRaw, BigInt(exact === 'in' ? got : paid), JSON.stringify(before))
      if (quote.steps > 1) crossed += 1
    }
    assert.ok(swaps.length >= 60 && crossed >= 5, `${swaps.length} swaps, ${crossed} over ticks`)
  })
}
