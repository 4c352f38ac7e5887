import { smaller, sqrtOf } from '../integers.ts'

/** Concentrated liquidity in exact integers. Source: Uniswap/v3-core libraries TickMath, SqrtPriceMath, SwapMath. */

const Q96 = 1n << 96n
const PIPS = 1_000_000n
const MAX_UINT256 = (1n << 256n) - 1n

export const MIN_TICK = -887_272
export const MAX_TICK = 887_272

/** sqrt(1.0001^-(2^i)) in Q128, rounded to nearest, one per bit of a tick. */
const TICK_FACTORS: readonly bigint[] = (() => {
  const guardBits = 512n
  const factors: bigint[] = []
  let factor = sqrtOf((10_000n << (guardBits * 2n)) / 10_001n)
  for (let bit = 0; bit < 20; bit += 1) {
    factors.push((factor + (1n << (guardBits - 129n))) >> (guardBits - 128n))
    factor = (factor * factor) >> guardBits
  }
  return factors
})()

/** Square root price of a tick in Q96, rounded up. Throws RangeError outside of the ticks. */
export const sqrtPriceAtTick = (tick: number): bigint => {
  const distance = Math.abs(tick)
  if (!(distance <= MAX_TICK)) throw new RangeError(`no such tick: ${tick}`)
  let ratio = 1n << 128n
  for (let bit = 0; bit < 20; bit += 1) {
    if (((distance >> bit) & 1) === 1) ratio = (ratio * (TICK_FACTORS[bit] ?? 0n)) >> 128n
  }
  if (tick > 0) ratio = MAX_UINT256 / ratio
  return (ratio >> 32n) + (ratio % (1n << 32n) === 0n ? 0n : 1n)
}

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

const divUp = (value: bigint, by: bigint): bigint => (value + by - 1n) / by

/** Token 0 between two prices, `low <= high`. */
export const amount0Between = (
  low: bigint,
  high: bigint,
  liquidity: bigint,
  up: boolean,
): bigint => {
  const product = (liquidity << 96n) * (high - low)
  return up ? divUp(divUp(product, high), low) : product / high / low
}

/** Token 1 between two prices, `low <= high`. */
export const amount1Between = (
  low: bigint,
  high: bigint,
  liquidity: bigint,
  up: boolean,
): bigint => (up ? divUp(liquidity * (high - low), Q96) : (liquidity * (high - low)) / Q96)

/** Result of a swap that stays within one range. */
export interface Step {
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
): Step | undefined => {
  const { amountIn, zeroForOne, limit } = swap
  if (liquidity === 0n) return undefined
  const net = (amountIn * (PIPS - BigInt(swap.feePips))) / PIPS
  const next = zeroForOne
    ? divUp((liquidity << 96n) * sqrtPriceX96, (liquidity << 96n) + net * sqrtPriceX96)
    : sqrtPriceX96 + (net << 96n) / liquidity
  if (zeroForOne ? next <= limit : next >= limit) return undefined
  const used = zeroForOne
    ? amount0Between(next, sqrtPriceX96, liquidity, true)
    : amount1Between(sqrtPriceX96, next, liquidity, true)
  const amountOut = zeroForOne
    ? amount1Between(next, sqrtPriceX96, liquidity, false)
    : amount0Between(sqrtPriceX96, next, liquidity, false)
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
  return smaller(by0, by1)
}

/** Square root of amount1 / amount0 in Q96: the price at which a pool opens. */
export const sqrtPriceOf = (amount0: bigint, amount1: bigint): bigint =>
  sqrtOf((amount1 << 192n) / amount0)
