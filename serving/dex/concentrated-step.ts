import { ceilDiv } from '../../core/bigint-math.ts'
import { amount0Delta, amount1Delta } from '../../core/prices/tick-math.ts'
import { PIPS } from './constant-product.ts'

/** Swaps between two neighbouring ticks in exact integers. Source: Uniswap/v3-core libraries SwapMath, SqrtPriceMath. */

/** What does not change over the steps of a swap. */
export interface StepContext {
  /** Token 0 is sold: the price falls. */
  readonly zeroForOne: boolean
  readonly exactIn: boolean
  readonly feePips: number
}

interface StepState {
  readonly sqrtPriceX96: bigint
  /** Price at which the step ends at the latest. */
  readonly target: bigint
  readonly liquidity: bigint
  /** Input, or output where that is the exact side, that is still to be swapped. */
  readonly remaining: bigint
}

/** One step; the input is without the fee. */
export interface SwapStep {
  readonly sqrtPriceX96: bigint
  readonly amountIn: bigint
  readonly amountOut: bigint
  readonly fee: bigint
}

const WORD = 1n << 256n

/** Price after token 0 came in, rounded up. The second formula is what the contract takes where the first would overflow. */
const priceAfterToken0In = (price: bigint, liquidity: bigint, amount: bigint): bigint => {
  if (amount === 0n) return price
  const numerator = liquidity << 96n
  const product = amount * price
  const denominator = numerator + product
  return product < WORD && denominator < WORD
    ? ceilDiv(numerator * price, denominator)
    : ceilDiv(numerator, numerator / price + amount)
}

/** Price after token 0 went out; undefined where the pool does not hold it. */
const priceAfterToken0Out = (price: bigint, liquidity: bigint, amount: bigint) => {
  const numerator = liquidity << 96n
  const product = amount * price
  return product < WORD && numerator > product
    ? ceilDiv(numerator * price, numerator - product)
    : undefined
}

/** Price after token 1 went out; undefined where the pool does not hold it. */
const priceAfterToken1Out = (price: bigint, liquidity: bigint, amount: bigint) => {
  const quotient = ceilDiv(amount << 96n, liquidity)
  return price > quotient ? price - quotient : undefined
}

const deltaIn = (zeroForOne: boolean, from: bigint, to: bigint, liquidity: bigint): bigint =>
  zeroForOne ? amount0Delta(to, from, liquidity, true) : amount1Delta(from, to, liquidity, true)

const deltaOut = (zeroForOne: boolean, from: bigint, to: bigint, liquidity: bigint): bigint =>
  zeroForOne ? amount1Delta(to, from, liquidity, false) : amount0Delta(from, to, liquidity, false)

/** Price at which the step ends; undefined where it cannot be made. */
const priceAfter = (
  { zeroForOne, exactIn, feePips }: StepContext,
  { sqrtPriceX96: price, target, liquidity, remaining }: StepState,
): bigint | undefined => {
  if (exactIn) {
    const net = (remaining * (PIPS - BigInt(feePips))) / PIPS
    if (net >= deltaIn(zeroForOne, price, target, liquidity)) return target
    return zeroForOne ? priceAfterToken0In(price, liquidity, net) : price + (net << 96n) / liquidity
  }
  if (remaining >= deltaOut(zeroForOne, price, target, liquidity)) return target
  return zeroForOne
    ? priceAfterToken1Out(price, liquidity, remaining)
    : priceAfterToken0Out(price, liquidity, remaining)
}

/** Swaps up to `target` or until nothing remains; undefined where the contract would revert. */
export const swapStep = (context: StepContext, state: StepState): SwapStep | undefined => {
  const { zeroForOne, exactIn, feePips } = context
  const { sqrtPriceX96: from, target, liquidity, remaining } = state
  const to = priceAfter(context, state)
  if (to === undefined) return undefined
  const amountIn = deltaIn(zeroForOne, from, to, liquidity)
  const exactOutput = deltaOut(zeroForOne, from, to, liquidity)
  const amountOut = !exactIn && exactOutput > remaining ? remaining : exactOutput
  const pips = BigInt(feePips)
  const fee =
    exactIn && to !== target ? remaining - amountIn : ceilDiv(amountIn * pips, PIPS - pips)
  return { sqrtPriceX96: to, amountIn, amountOut, fee }
}
