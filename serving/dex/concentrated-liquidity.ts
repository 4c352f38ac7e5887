import { MAX_TICK, MIN_TICK, sqrtPriceAtTick } from '../../core/prices/tick-math.ts'
import { type StepContext, swapStep } from './concentrated-step.ts'
import type { AmountQuote } from './pool.ts'

/** Where liquidity begins or ends, and by how much it grows when the price rises over it. */
export interface InitializedTick {
  readonly tick: number
  readonly liquidityNet: bigint
}

/** State of a concentrated pool as far as it is known. */
export interface ConcentratedState {
  readonly sqrtPriceX96: bigint
  readonly tick: number
  readonly liquidity: bigint
  readonly feePips: number
  readonly tickSpacing: number
  /** Initialized ticks of the known range, in rising order. */
  readonly ticks: readonly InitializedTick[]
  /** Ticks between which all initialized ones are known; both inclusive. */
  readonly knownTicks: readonly [number, number]
}

/** Most initialized ticks that one swap crosses. */
const MAX_CROSSINGS = 64
/** Most steps of one swap: words of the bitmap without a tick count too. */
const MAX_STEPS = 512
/** Ticks of one word of a pool's bitmap: a swap stops at its ends, which rounds. */
const WORD_TICKS = 256

interface NextTick {
  readonly tick: number
  /** undefined: the end of a word where no liquidity changes. */
  readonly liquidityNet: bigint | undefined
}

/** Position of the last tick that is not above `tick`; -1 = none. */
const lastAtOrBelow = (ticks: readonly InitializedTick[], tick: number): number => {
  let [low, high] = [0, ticks.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ticks[middle]?.tick ?? 0) <= tick) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** The next tick of the same bitmap word in the direction of the swap. Source: Uniswap/v3-core libraries TickBitmap. */
const nextTick = (
  { ticks, tickSpacing }: ConcentratedState,
  tick: number,
  zeroForOne: boolean,
): NextTick => {
  const compressed = Math.floor(tick / tickSpacing)
  const found = lastAtOrBelow(ticks, tick)
  if (zeroForOne) {
    const wordStart = Math.floor(compressed / WORD_TICKS) * WORD_TICKS * tickSpacing
    const below = ticks[found]
    return below !== undefined && below.tick >= wordStart
      ? below
      : { tick: wordStart, liquidityNet: undefined }
  }
  const word = Math.floor((compressed + 1) / WORD_TICKS)
  const wordEnd = (word * WORD_TICKS + WORD_TICKS - 1) * tickSpacing
  const above = ticks[found + 1]
  return above !== undefined && above.tick <= wordEnd
    ? above
    : { tick: wordEnd, liquidityNet: undefined }
}

/** Walks the ticks until `amountRaw` is used up. Source: Uniswap/v3-core UniswapV3Pool.sol `swap`. */
const walkTicks = (
  pool: ConcentratedState,
  context: StepContext,
  amountRaw: bigint,
): AmountQuote => {
  const { zeroForOne, exactIn } = context
  const limit = sqrtPriceAtTick(zeroForOne ? MIN_TICK : MAX_TICK) + (zeroForOne ? 1n : -1n)
  let { sqrtPriceX96, tick, liquidity } = pool
  let [remaining, result, crossings] = [amountRaw, 0n, 0]
  for (let steps = 1; steps <= MAX_STEPS; steps += 1) {
    const next = nextTick(pool, tick, zeroForOne)
    const [low, high] = pool.knownTicks
    const at = Math.min(MAX_TICK, Math.max(MIN_TICK, next.tick))
    const bounded = Math.min(high, Math.max(low, at))
    const isKnownEnd = bounded !== at
    const price = sqrtPriceAtTick(bounded)
    const isBeyondLimit = zeroForOne ? price < limit : price > limit
    const target = isBeyondLimit ? limit : price
    const step = swapStep(context, { sqrtPriceX96, target, liquidity, remaining })
    if (step === undefined) return { refused: 'insufficient_liquidity', steps }
    if (isKnownEnd && step.sqrtPriceX96 === target) return { refused: 'beyond_known_ticks', steps }
    remaining -= exactIn ? step.amountIn + step.fee : step.amountOut
    result += exactIn ? step.amountOut : step.amountIn + step.fee
    if (remaining === 0n)
      return result > 0n
        ? { amountRaw: result, steps }
        : { refused: 'insufficient_liquidity', steps }
    if (step.sqrtPriceX96 === limit) return { refused: 'insufficient_liquidity', steps }
    sqrtPriceX96 = step.sqrtPriceX96
    if (next.liquidityNet !== undefined) {
      crossings += 1
      if (crossings > MAX_CROSSINGS) return { refused: 'insufficient_liquidity', steps }
      liquidity += zeroForOne ? -next.liquidityNet : next.liquidityNet
    }
    tick = zeroForOne ? bounded - 1 : bounded
  }
  return { refused: 'insufficient_liquidity', steps: MAX_STEPS }
}

/** Output for exactly `amountIn` of token 0 (`zeroForOne`) or token 1. */
export const concentratedAmountOut = (
  pool: ConcentratedState,
  zeroForOne: boolean,
  amountIn: bigint,
): AmountQuote => walkTicks(pool, { zeroForOne, exactIn: true, feePips: pool.feePips }, amountIn)

/** Input of token 0 (`zeroForOne`) or token 1 for exactly `amountOut` of the other. */
export const concentratedAmountIn = (
  pool: ConcentratedState,
  zeroForOne: boolean,
  amountOut: bigint,
): AmountQuote => walkTicks(pool, { zeroForOne, exactIn: false, feePips: pool.feePips }, amountOut)
