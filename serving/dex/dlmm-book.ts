import {
  accumulatedVolatility,
  type BinFeeTerms,
  referencesAt,
  type VolatilityState,
} from '../../core/prices/bin-math.ts'
import {
  type DlmmBin,
  type DlmmBinTerms,
  dlmmBuyFromBin,
  dlmmHeld,
  dlmmInInput,
  dlmmSellToBin,
} from './dlmm-bin.ts'
import type { AmountQuote, QuoteRefusal } from './pool.ts'

/** Swaps over the bins of Meteora DLMM in exact integers. Source: MeteoraAg/dlmm-sdk commons/src/quote.rs, extensions/lb_pair.rs, lb_clmm 0.12. */

/** State of a pool of Meteora DLMM as far as a swap at one moment needs it. */
export interface DlmmBook extends VolatilityState {
  readonly activeBin: number
  readonly binReference: number
  readonly binStep: number
  readonly terms: BinFeeTerms
  /** Power of ten by which the base fee is larger. */
  readonly baseFeePower: number
  /** All fees are taken in Y; otherwise of what is sold. */
  readonly isFeeInY: boolean
  /** Unix seconds of the moment. */
  readonly timeS: number
  /** Bins that hold something, in rising order. */
  readonly bins: readonly DlmmBin[]
  /** Why no swap goes further than these bins. */
  readonly below: QuoteRefusal
  readonly above: QuoteRefusal
}

/** Most bins that one swap takes from: each costs up to 8,000 units of computation, and the run of a transaction has 400,000. */
const MAX_BINS = 40
/** Largest fee, parts of 10^9. */
const MAX_FEE = 100_000_000n
/** Divides the variable fee, which is rounded up. */
const VARIABLE_FEE_SCALE = 100_000_000_000n
/** Amounts from here on do not exist for the program. */
const TOO_LARGE = 1n << 64n

/** The whole fee at a volatility, parts of 10^9. */
const dlmmFee = (volatility: number, { binStep, terms, baseFeePower }: DlmmBook): bigint => {
  const step = BigInt(binStep)
  const product = BigInt(volatility) * step
  const scaled = product * product * BigInt(terms.variableFeeControl)
  const variable = (scaled + VARIABLE_FEE_SCALE - 1n) / VARIABLE_FEE_SCALE
  const fee = BigInt(terms.baseFactor) * step * 10n ** BigInt(1 + baseFeePower) + variable
  return fee > MAX_FEE ? MAX_FEE : fee
}

/** What a swap that begins in a bin pays there at the moment of the state, parts of 10^9. */
const feeAt = (book: DlmmBook, bin: number): bigint => {
  const { volatilityReference, binReference } = referencesAt(book, book.terms, book.timeS)
  const references = { volatilityReference, binReference: binReference ?? book.activeBin }
  return dlmmFee(accumulatedVolatility(bin, references, book.terms), book)
}

/** Fee of a swap within the active bin, hundredths of a basis point, rounded up. */
export const dlmmFeePips = (book: DlmmBook): number =>
  Number((feeAt(book, book.activeBin) + 999n) / 1_000n)

/** Place of the first bin that a swap may take from: the active one, or the next below it, or above it. */
const firstPlace = ({ bins, activeBin }: DlmmBook, sellsX: boolean): number =>
  sellsX
    ? bins.findLastIndex(({ bin }) => bin <= activeBin)
    : bins.findIndex(({ bin }) => bin >= activeBin)

interface Walk {
  readonly sellsX: boolean
  readonly exactIn: boolean
}

/** Walks the bins until `amountRaw` is used up. Empty bins count no volatility. */
const walkBins = (book: DlmmBook, { sellsX, exactIn }: Walk, amountRaw: bigint): AmountQuote => {
  if (amountRaw >= TOO_LARGE || amountRaw <= 0n)
    return { refused: 'insufficient_liquidity', steps: 1 }
  const { bins } = book
  const isFeeOnInput = !(sellsX && book.isFeeInY)
  let [left, result, feeRaw, steps] = [amountRaw, 0n, 0n, 1]
  let place = firstPlace(book, sellsX)
  for (let bin = bins[place]; bin !== undefined; bin = bins[place]) {
    place += sellsX ? -1 : 1
    if (dlmmHeld(bin, sellsX) === 0n) continue
    if (steps > MAX_BINS) return { refused: 'insufficient_liquidity', steps }
    steps += 1
    const terms: DlmmBinTerms = { sellsX, isFeeOnInput, fee: feeAt(book, bin.bin) }
    const swap = (exactIn ? dlmmSellToBin : dlmmBuyFromBin)(terms, bin, left)
    if (swap === undefined) return { refused: 'insufficient_liquidity', steps }
    left -= exactIn ? swap.amountIn : swap.amountOut
    result += exactIn ? swap.amountOut : swap.amountIn
    feeRaw += isFeeOnInput ? swap.fee : dlmmInInput(sellsX, swap.fee, bin)
    if (left > 0n) continue
    if (result === 0n || result >= TOO_LARGE) return { refused: 'insufficient_liquidity', steps }
    return { amountRaw: result, steps, feeRaw }
  }
  return { refused: sellsX ? book.below : book.above, steps }
}

/** Output for exactly `amountIn` of X (`sellsX`) or Y, with the fee that it pays. */
export const dlmmAmountOut = (book: DlmmBook, sellsX: boolean, amountIn: bigint): AmountQuote =>
  walkBins(book, { sellsX, exactIn: true }, amountIn)

/** Input of X (`sellsX`) or Y, fee included, for exactly `amountOut` of the other. */
export const dlmmAmountIn = (book: DlmmBook, sellsX: boolean, amountOut: bigint): AmountQuote =>
  walkBins(book, { sellsX, exactIn: false }, amountOut)
