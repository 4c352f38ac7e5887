import { ceilDiv, integerSqrt, minBigint } from '../../core/bigint-math.ts'
import {
  amount0Delta,
  amount1Delta,
  MAX_TICK,
  MIN_TICK,
  sqrtPriceAtTick,
} from '../../core/prices/tick-math.ts'

/** Swaps through concentrated liquidity in exact integers. Source: Uniswap/v3-core libraries TickMath, SwapMath. */

const Q96 = 1n << 96n
const PIPS = 1_000_000n

/** Greatest tick whose price is not above `sqrtPriceX96`; `near` is where to look first. */
export const tickAtSqrtPrice = (sqrtPriceX96: bigint, near = 0): number => {
  let step = 1
  let low = near
  let high = near
  if (sqrtPriceAtTick(near) <= sqrtPriceX96) {
    do {
      low = high
      high = Math.min(MAX_TICK, high + step)
      step *= 4
    } while (high < MAX_TICK && sqrtPriceAtTick(high) <= sqrtPriceX96)
  } else {
    do {
      high = low
      low = Math.max(MIN_TICK, low - step)
      step *= 4
    } while (sqrtPriceAtTick(low) > sqrtPriceX96)
  }
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (sqrtPriceAtTick(middle) <= sqrtPriceX96) low = middle
    else high = middle
  }
  return low
}

/** Result of a swap that stays within one range. */
export interface SwapStep {
  readonly sqrtPriceX96: bigint
  /** Input including its fee. */
  readonly amountIn: bigint
  readonly amountOut: bigint
  /** Part of the input that is the fee. */
  readonly fee: bigint
}

/** Exact input into one range; undefined when the input would leave it at `limit`. */
export const swapWithin = (
  sqrtPriceX96: bigint,
  liquidity: bigint,
  swap: {
    readonly amountIn: bigint
    readonly feePips: number
    readonly zeroForOne: boolean
    readonly limit: bigint
  },
): SwapStep | undefined => {
  const { amountIn, zeroForOne, limit } = swap
  if (liquidity === 0n) return undefined
  const net = (amountIn * (PIPS - BigInt(swap.feePips))) / PIPS
  const next = zeroForOne
    ? ceilDiv((liquidity << 96n) * sqrtPriceX96, (liquidity << 96n) + net * sqrtPriceX96)
    : sqrtPriceX96 + (net << 96n) / liquidity
  if (zeroForOne ? next <= limit : next >= limit) return undefined
  const used = zeroForOne
    ? amount0Delta(next, sqrtPriceX96, liquidity, true)
    : amount1Delta(sqrtPriceX96, next, liquidity, true)
  const amountOut = zeroForOne
    ? amount1Delta(next, sqrtPriceX96, liquidity, false)
    : amount0Delta(sqrtPriceX96, next, liquidity, false)
  return { sqrtPriceX96: next, amountIn, amountOut, fee: amountIn - used }
}

/** Liquidity that both amounts can pay for between two prices around the current one. */
export const liquidityFor = (
  sqrtPriceX96: bigint,
  range: readonly [bigint, bigint],
  amounts: readonly [bigint, bigint],
): bigint => {
  const [low, high] = range
  const by0 = (amounts[0] * ((sqrtPriceX96 * high) / Q96)) / (high - sqrtPriceX96)
  const by1 = (amounts[1] * Q96) / (sqrtPriceX96 - low)
  return minBigint(by0, by1)
}

/** Square root of amount1 / amount0 in Q96: the price at which a pool opens. */
export const initialSqrtPrice = (amount0: bigint, amount1: bigint): bigint =>
  integerSqrt((amount1 << 192n) / amount0)
