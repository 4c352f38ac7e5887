/** Prices and fees of Liquidity Book in exact integers. Source: traderjoe-xyz/joe-v2 libraries PriceHelper, Uint128x128Math, PairParameterHelper. */

/** Fixed point of prices: 1 is 2^128. */
export const PRICE_BITS = 128n
const ONE = 1n << PRICE_BITS
const MAX_PRICE = (1n << 256n) - 1n
const BASIS = 10_000n
/** Id of the bin at price 1. */
const MIDDLE_BIN = 1 << 23
/** Distance from the middle from which on the contract raises nothing to a power. */
const MAX_EXPONENT = 0x100000

/**
 * Base units of token Y for one of token X in a bin, times 2^128; undefined where the contract has no price for it. `binStep`: distance
 * of the prices of two bins in basis points.
 */
export const priceOfBin = (bin: number, binStep: number): bigint | undefined => {
  const exponent = bin - MIDDLE_BIN
  if (exponent === 0) return ONE
  let left = Math.abs(exponent)
  if (left >= MAX_EXPONENT) return undefined
  const base = ONE + (BigInt(binStep) << PRICE_BITS) / BASIS
  // Powers are taken of the inverse, which is below 1, and inverted at the end.
  let squared = MAX_PRICE / base
  let result = ONE
  while (left > 0) {
    if (left % 2 === 1) result = (result * squared) >> PRICE_BITS
    squared = (squared * squared) >> PRICE_BITS
    left = Math.floor(left / 2)
  }
  if (result === 0n) return undefined
  return exponent > 0 ? MAX_PRICE / result : result
}

/** What the fee of a pool is made of, as its contract states it. */
export interface BinFeeTerms {
  readonly baseFactor: number
  /** Seconds within which swaps share the references of the variable fee, and after which nothing is left of its volatility. */
  readonly filterPeriod: number
  readonly decayPeriod: number
  /** Part of the volatility that is left between the two, basis points. */
  readonly reductionFactor: number
  readonly variableFeeControl: number
  readonly maxVolatility: number
}

/** Terms from the numbers of the pool's event, whose sixth is the protocol's share of the fee; undefined where they are not complete. */
export const feeTermsOf = (stated: readonly number[]): BinFeeTerms | undefined => {
  const [baseFactor, filterPeriod, decayPeriod, reductionFactor, variableFeeControl] = stated
  const maxVolatility = stated[6]
  if (
    baseFactor === undefined ||
    filterPeriod === undefined ||
    decayPeriod === undefined ||
    reductionFactor === undefined ||
    variableFeeControl === undefined ||
    maxVolatility === undefined
  )
    return undefined
  return {
    baseFactor,
    filterPeriod,
    decayPeriod,
    reductionFactor,
    variableFeeControl,
    maxVolatility,
  }
}

/** What of the volatility is left after the filter period, rounded down. */
export const reducedVolatility = (volatility: number, { reductionFactor }: BinFeeTerms): number =>
  Math.floor((volatility * reductionFactor) / 10_000)

/** Volatility that a swap has accumulated when it comes to a bin. */
export const accumulatedVolatility = (
  bin: number,
  { volatilityReference, binReference }: VolatilityReferences,
  { maxVolatility }: BinFeeTerms,
): number =>
  Math.min(maxVolatility, volatilityReference + Math.abs(bin - binReference) * Number(BASIS))

/** What the volatility of a swap begins with, and the bin that it is counted from. */
export interface VolatilityReferences {
  readonly volatilityReference: number
  readonly binReference: number
}

/** Where the volatility of a pool stands; null = not known. */
export interface VolatilityState {
  readonly activeBin: number | null
  /** What the last swap has accumulated. */
  readonly volatility: number
  readonly volatilityReference: number
  readonly binReference: number | null
  /** Unix seconds of the last swap, or of the last deposit that was charged as one. */
  readonly updatedAtS: number
}

/**
 * The references as a swap at this time takes them: kept within the filter period, then counted from the active bin, with what is left
 * of the volatility until the decay period is over.
 */
export const referencesAt = (
  state: VolatilityState,
  terms: BinFeeTerms,
  timeS: number,
): Pick<VolatilityState, 'volatilityReference' | 'binReference'> => {
  const { activeBin, volatility, volatilityReference, binReference, updatedAtS } = state
  const age = Math.max(0, timeS - updatedAtS)
  if (age < terms.filterPeriod) return { volatilityReference, binReference }
  const left = age < terms.decayPeriod ? reducedVolatility(volatility, terms) : 0
  return { volatilityReference: left, binReference: activeBin }
}

/** The whole fee at a volatility, parts of 10^18. */
export const binFee = (
  volatility: number,
  binStep: number,
  { baseFactor, variableFeeControl }: BinFeeTerms,
): bigint => {
  const step = BigInt(binStep)
  const product = BigInt(volatility) * step
  const variable = (product * product * BigInt(variableFeeControl) + 99n) / 100n
  return BigInt(baseFactor) * step * 10_000_000_000n + variable
}
