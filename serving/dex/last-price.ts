import { parseDecimal } from '../../core/amounts.ts'
import type { DexPool, DexPoolEvent } from '../../schemas/wire.ts'
import type { Ratio } from './pool.ts'

/**
 * What the last swap of a pool paid, as the log of the chain has it: base units of `tokens[1]` for one of `tokens[0]`, fee included. Only swaps
 * move a price, so that the last one stays good.
 */

/** Swaps of fewer base units of either token move no price that matters, and round what they pay. */
const LEAST_AMOUNT = 10_000
/** How much less, or more, than the last swap paid a price may be: that swap has paid a fee, and has moved the price while it ran. */
const MAX_PRICE_GAP = 0.15

interface PairOfEntry {
  readonly tokens: readonly [string, string]
  readonly decimals: readonly [number | null, number | null]
}

/** What a swap paid; undefined for other events, and for amounts that are too small. */
export const swapPrice = (
  { tokens }: Pick<PairOfEntry, 'tokens'>,
  {
    type,
    pool,
  }: Pick<DexPoolEvent, 'type'> & {
    readonly pool: Pick<DexPool, 'token_a_address' | 'token_a_amount' | 'token_b_amount'> | null
  },
): number | undefined => {
  if (type !== 'DEX_POOL_EVENT_TYPE_SWAP' || pool === null) return undefined
  const [a, b] = [Number(pool.token_a_amount), Number(pool.token_b_amount)]
  // Not a number, where an amount is not reported.
  if (!(a >= LEAST_AMOUNT && b >= LEAST_AMOUNT)) return undefined
  return tokens[0] === pool.token_a_address ? b / a : a / b
}

/** A price as states of pools have it: units of the token that is not `base` for one of it; null where it is not known. */
export const pricePerBase = (
  { tokens, decimals }: PairOfEntry,
  base: string,
  price: string | number | null | undefined,
): number | null => {
  const units = typeof price === 'string' ? parseDecimal(price) : price
  const [first, second] = decimals
  if (!units || !(units > 0) || first === null || second === null) return null
  return (tokens[0] === base ? units : 1 / units) * 10 ** (second - first)
}

const PLACES = 256n

/** True where a price is as near to what the last swap paid as `MAX_PRICE_GAP` says, in either direction. */
export const isNearLastPrice = ({ of, by }: Ratio, lastPrice: number): boolean => {
  const gap = Number((of << PLACES) / by) / 2 ** Number(PLACES) / lastPrice
  return gap >= 1 - MAX_PRICE_GAP && 1 / gap >= 1 - MAX_PRICE_GAP
}
