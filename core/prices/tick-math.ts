import { ceilDiv, integerSqrt } from '../bigint-math.ts'

/** Prices of ticks and amounts of concentrated liquidity in exact integers. Source: Uniswap/v3-core libraries TickMath, SqrtPriceMath. */

const Q96 = 1n << 96n
const MAX_UINT256 = (1n << 256n) - 1n

export const MIN_TICK = -887_272
export const MAX_TICK = 887_272

/** sqrt(1.0001^-(2^i)) in Q128, rounded to nearest, one per bit of a tick. */
const TICK_FACTORS: readonly bigint[] = (() => {
  const guardBits = 512n
  const factors: bigint[] = []
  let factor = integerSqrt((10_000n << (guardBits * 2n)) / 10_001n)
  for (let bit = 0; bit < 20; bit += 1) {
    factors.push((factor + (1n << (guardBits - 129n))) >> (guardBits - 128n))
    factor = (factor * factor) >> guardBits
  }
  return factors
})()

/** Square root price of a tick in Q96, rounded up. Throws RangeError outside of the ticks. */
export const sqrtPriceAtTick = (tick: number): bigint => {
  const distance = Math.abs(tick)
  if (!(distance <= MAX_TICK))
    throw new RangeError(`tick ${tick} is out of range, the limit is ±${MAX_TICK}`)
  let ratio = 1n << 128n
  for (let bit = 0; bit < 20; bit += 1) {
    if (((distance >> bit) & 1) === 1) ratio = (ratio * (TICK_FACTORS[bit] ?? 0n)) >> 128n
  }
  if (tick > 0) ratio = MAX_UINT256 / ratio
  return (ratio >> 32n) + (ratio % (1n << 32n) === 0n ? 0n : 1n)
}

/** Token 0 between two prices, `low <= high`. */
export const amount0Delta = (low: bigint, high: bigint, liquidity: bigint, up: boolean): bigint => {
  const product = (liquidity << 96n) * (high - low)
  return up ? ceilDiv(ceilDiv(product, high), low) : product / high / low
}

/** Token 1 between two prices, `low <= high`. */
export const amount1Delta = (low: bigint, high: bigint, liquidity: bigint, up: boolean): bigint =>
  up ? ceilDiv(liquidity * (high - low), Q96) : (liquidity * (high - low)) / Q96
