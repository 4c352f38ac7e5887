import type { InitializedTick } from './concentrated-liquidity.ts'
import type { AmountQuote } from './pool.ts'
import {
  LAST_TICK,
  type WhirlpoolDirection,
  whirlpoolSqrtPrice,
  whirlpoolStep,
} from './whirlpool-step.ts'

/** State of a pool of Orca's Whirlpools as its accounts have it. */
export interface WhirlpoolState {
  /** Q64.64, of token A in token B. */
  readonly sqrtPrice: bigint
  readonly tick: number
  readonly liquidity: bigint
  readonly feePips: number
  readonly tickSpacing: number
  /** Initialized ticks of the arrays that a swap can use, in rising order. */
  readonly ticks: readonly InitializedTick[]
}

/** Ticks that one account holds. Source: orca-so/whirlpools state/tick_array.rs. */
export const ARRAY_TICKS = 88
/** Arrays that one swap uses. Source: util/sparse_swap.rs. */
const ARRAYS_PER_SWAP = 3
/** Amounts beyond do not exist for the program. */
const TOO_LARGE = 1n << 64n

/** First tick of an array that can exist: the lowest one may begin below the first tick. */
const isArrayStart = (start: number, width: number): boolean =>
  start <= LAST_TICK && start + width > -LAST_TICK

/** First ticks of the arrays that a swap from this tick goes through, in its order. Source: util/sparse_swap.rs. */
export const arrayStarts = (
  { tick, tickSpacing }: Pick<WhirlpoolState, 'tick' | 'tickSpacing'>,
  sellsA: boolean,
): readonly number[] => {
  const width = ARRAY_TICKS * tickSpacing
  // The next tick of a rising price can be in the array above already.
  const first = Math.floor((sellsA ? tick : tick + tickSpacing) / width) * width
  return Array.from(
    { length: ARRAYS_PER_SWAP },
    (_, index) => first + (sellsA ? -index : index) * width,
  ).filter((start) => isArrayStart(start, width))
}

/** Tick at which the arrays of a swap end, and whether prices end there, too; undefined: there is no array. */
const lastTick = (pool: WhirlpoolState, sellsA: boolean) => {
  const width = ARRAY_TICKS * pool.tickSpacing
  const start = arrayStarts(pool, sellsA).at(-1)
  if (start === undefined) return undefined
  const end = sellsA ? start : start + width - 1
  const isEnd = sellsA ? start <= -LAST_TICK : start + width > LAST_TICK
  return { tick: isEnd ? (sellsA ? -LAST_TICK : LAST_TICK) : end, isEnd }
}

/** Position of the first tick that is above `tick`. */
const firstAbove = (ticks: readonly InitializedTick[], tick: number): number => {
  const found = ticks.findIndex((each) => each.tick > tick)
  return found === -1 ? ticks.length : found
}

/** Walks the ticks until `amountRaw` is used up. Source: manager/swap_manager.rs `swap`, for pools with one fee. */
const walk = (
  pool: WhirlpoolState,
  direction: WhirlpoolDirection,
  amountRaw: bigint,
): AmountQuote => {
  const { sellsA, exactIn } = direction
  const refused = (steps: number, isBeyond = false): AmountQuote => ({
    refused: isBeyond ? 'beyond_known_ticks' : 'insufficient_liquidity',
    steps,
  })
  const last = lastTick(pool, sellsA)
  if (amountRaw <= 0n || amountRaw >= TOO_LARGE || last === undefined) return refused(1)
  let { sqrtPrice, liquidity } = pool
  let place = firstAbove(pool.ticks, pool.tick) - (sellsA ? 1 : 0)
  let [remaining, result] = [amountRaw, 0n]
  for (let steps = 1; ; steps += 1) {
    const next = pool.ticks[place]
    const isWithin = next && (sellsA ? next.tick >= last.tick : next.tick <= last.tick)
    const target = whirlpoolSqrtPrice(isWithin ? next.tick : last.tick)
    const step = whirlpoolStep(direction, { sqrtPrice, target, liquidity, remaining })
    if (step === undefined) return refused(steps)
    remaining -= exactIn ? step.amountIn + step.fee : step.amountOut
    result += exactIn ? step.amountOut : step.amountIn + step.fee
    if (result >= TOO_LARGE) return refused(steps)
    if (remaining === 0n) return result > 0n ? { amountRaw: result, steps } : refused(steps)
    if (!isWithin || step.sqrtPrice !== target) return refused(steps, !last.isEnd)
    liquidity += sellsA ? -next.liquidityNet : next.liquidityNet
    if (liquidity < 0n) return refused(steps)
    sqrtPrice = step.sqrtPrice
    place += sellsA ? -1 : 1
  }
}

/** Output for exactly `amountIn` of token A (`sellsA`) or token B. */
export const whirlpoolAmountOut = (
  pool: WhirlpoolState,
  sellsA: boolean,
  amountIn: bigint,
): AmountQuote => walk(pool, { sellsA, exactIn: true, feePips: pool.feePips }, amountIn)

/** Input of token A (`sellsA`) or token B, fee included, for exactly `amountOut` of the other. */
export const whirlpoolAmountIn = (
  pool: WhirlpoolState,
  sellsA: boolean,
  amountOut: bigint,
): AmountQuote => walk(pool, { sellsA, exactIn: false, feePips: pool.feePips }, amountOut)
