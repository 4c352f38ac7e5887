import { HOUR_MS } from '../../core/time.ts'
import type { TokenPriceSuspectReason } from '../../schemas/wire.ts'

/** What the rules look at; null = not known, and a rule that needs it stays silent. */
export interface PriceSignals {
  /** USD price of the base token. */
  readonly priceUsd: number | null
  /** USD value of the trade. */
  readonly valueUsd: number | null
  /** Reserve product after the swap by the one before; constant-product pools with both reserves logged. */
  readonly productRatio: number | null
  /** Factor, at least 1, by which the pool's price moved. */
  readonly poolFactor: number | null
  /** Factor, at least 1, between this price and the token's last good one. */
  readonly closeFactor: number | null
}

/** One way in which a trade's price is not to be believed. */
export interface SuspectRule {
  readonly reason: TokenPriceSuspectReason
  readonly holds: (signs: PriceSignals) => boolean
}

/** Limits of the rules. */
export const SUSPECT_LIMITS = {
  /** No token of any chain trades above a billion dollars apiece; broken decimals do. */
  bigPriceUsd: 1e9,
  /** Fees of at most 1 % let the product grow by about as much; rounding lets it fall by parts per million. */
  productFloor: 1 - 1e-6,
  productCeiling: 1.02,
  /** Below a cent, base-unit rounding alone moves a price by percents. */
  tinyUsd: 0.01,
  /** Below a dollar, moving a pool by a tenth costs less than a fee: the pool is empty. */
  smallUsd: 1,
  smallImpactFactor: 1.1,
  /** One swap that doubles or halves its pool says what the swap cost, not what the token is worth. */
  impactFactor: 2,
  /** Off by five from a close of the last hour. */
  closeFactor: 5,
  closeMaxAgeMs: HOUR_MS,
  /** A new level is believed once this many trades, in this many blocks, agree on it within `levelFactor`. */
  levelTrades: 3,
  levelBlocks: 2,
  levelFactor: 1.5,
} as const

const isAbove = (value: number | null, limit: number): boolean => (value ?? Number.NaN) > limit
const isBelow = (value: number | null, limit: number): boolean => (value ?? Number.NaN) < limit

/** The rules in the order in which they are asked; the first that holds names the reason. */
export const SUSPECT_RULES: readonly SuspectRule[] = [
  // An absurd price per token.
  {
    reason: 'TOKEN_PRICE_SUSPECT_REASON_BY_BIG_PRICE',
    holds: ({ priceUsd }) => isAbove(priceUsd, SUSPECT_LIMITS.bigPriceUsd),
  },
  // The reserves did not move as the pool formula moves them.
  {
    reason: 'TOKEN_PRICE_SUSPECT_REASON_BY_CONSTANT_PRODUCT_FORMULA',
    holds: ({ productRatio }) =>
      isBelow(productRatio, SUSPECT_LIMITS.productFloor) ||
      isAbove(productRatio, SUSPECT_LIMITS.productCeiling),
  },
  // A small trade that moved its pool: the pool is all but empty.
  {
    reason: 'TOKEN_PRICE_SUSPECT_REASON_BY_SMALL_AMOUNT_IN_USD_AND_POOL_PRICE_IMPACT',
    holds: ({ valueUsd, poolFactor }) =>
      isBelow(valueUsd, SUSPECT_LIMITS.smallUsd) &&
      isAbove(poolFactor, SUSPECT_LIMITS.smallImpactFactor),
  },
  // Too little money to make a price.
  {
    reason: 'TOKEN_PRICE_SUSPECT_REASON_BY_SMALL_AMOUNT_IN_USD',
    holds: ({ valueUsd }) => isBelow(valueUsd, SUSPECT_LIMITS.tinyUsd),
  },
  // The trade itself moved its pool too far.
  {
    reason: 'TOKEN_PRICE_SUSPECT_REASON_BY_POOL_PRICE_IMPACT',
    holds: ({ poolFactor }) => isAbove(poolFactor, SUSPECT_LIMITS.impactFactor),
  },
  // Far from the last good price of the last hour, and not yet confirmed by others.
  {
    reason: 'TOKEN_PRICE_SUSPECT_REASON_BY_LAST_CLOSE_PRICES',
    holds: ({ closeFactor }) => isAbove(closeFactor, SUSPECT_LIMITS.closeFactor),
  },
]

/** The first reason that holds, or `..._UNSPECIFIED` for a price that may be believed. */
export const suspectReason = (signs: PriceSignals): TokenPriceSuspectReason =>
  SUSPECT_RULES.find(({ holds }) => holds(signs))?.reason ??
  'TOKEN_PRICE_SUSPECT_REASON_UNSPECIFIED'

/** How far two prices lie apart as a factor of at least 1; null when one is unknown or zero. */
export const factorBetween = (one: number | null, other: number | null): number | null => {
  const low = Math.min(one ?? 0, other ?? 0)
  return low > 0 ? Math.max(one ?? 0, other ?? 0) / low : null
}
