import { ceilDiv } from '../../core/bigint-math.ts'
import {
  accumulatedVolatility,
  type BinFeeTerms,
  binFee,
  PRICE_BITS,
  referencesAt,
  type VolatilityReferences,
  type VolatilityState,
} from '../../core/prices/bin-math.ts'
import type { AmountQuote } from './pool.ts'

/** Swaps over the bins of a Liquidity Book in exact integers. Source: traderjoe-xyz/joe-v2 LBPair.sol, libraries BinHelper, FeeHelper. */

/** What one bin holds, at its one price. */
export interface Bin {
  readonly bin: number
  readonly x: bigint
  readonly y: bigint
  /** Base units of Y for one of X, times 2^128. */
  readonly price: bigint
}

/** State of a pool of Liquidity Book as far as a swap at one moment needs it. */
export interface BinBook extends VolatilityState {
  readonly activeBin: number
  readonly binStep: number
  readonly terms: BinFeeTerms
  /** Unix seconds of the moment. */
  readonly timeS: number
  /** Bins that hold something, in rising order. */
  readonly bins: readonly Bin[]
  /** Liquidity of one bin (price times X, and Y times 2^128) beyond which the pair refuses a swap; undefined: the pairs have no such limit. */
  readonly maxLiquidity: bigint | undefined
}

/** Largest liquidity of a bin from V2.2 on. Source: libraries Constants `MAX_LIQUIDITY_PER_BIN`. */
export const MAX_LIQUIDITY_PER_BIN =
  65251743116719673010965625540244653191619923014385985379600384103134737n

/** Most bins that one swap takes from: each costs gas. */
const MAX_BINS = 100
/** Fees are parts of this. */
const WHOLE = 10n ** 18n
const MAX_FEE = WHOLE / 10n
/** Amounts beyond do not exist for a pair: it keeps them as uint128. */
const TOO_LARGE = 1n << 128n

/** A swap in one direction. */
interface Walk {
  /** X is sold: the price falls. */
  readonly sellsX: boolean
  readonly exactIn: boolean
}

/** What a swap does to one bin; the input is with the fee. */
interface BinSwap {
  readonly amountIn: bigint
  readonly amountOut: bigint
  readonly fee: bigint
}

/** Place of the first bin that a swap may take from: the active one, or the next below it, or above it. */
const firstPlace = ({ bins, activeBin }: BinBook, sellsX: boolean): number => {
  let [low, high] = [0, bins.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const isBefore = sellsX
      ? (bins[middle]?.bin ?? 0) <= activeBin
      : (bins[middle]?.bin ?? 0) < activeBin
    if (isBefore) low = middle + 1
    else high = middle
  }
  return sellsX ? low - 1 : low
}

/** Input without the fee for exactly so much of a bin. */
const netIn = (sellsX: boolean, amountOut: bigint, price: bigint): bigint =>
  sellsX ? ceilDiv(amountOut << PRICE_BITS, price) : ceilDiv(amountOut * price, 1n << PRICE_BITS)

const outOf = (sellsX: boolean, amountIn: bigint, price: bigint): bigint =>
  sellsX ? (amountIn * price) >> PRICE_BITS : (amountIn << PRICE_BITS) / price

const feeOn = (net: bigint, fee: bigint): bigint => ceilDiv(net * fee, WHOLE - fee)

/** Takes from a bin until it or what is left is used up; undefined where the pair would refuse. */
const swapInBin = (
  { sellsX, exactIn }: Walk,
  { x, y, price }: Bin,
  left: bigint,
  fee: bigint,
): BinSwap | undefined => {
  const held = sellsX ? y : x
  if (fee > MAX_FEE) return undefined
  const wanted = exactIn || left > held ? held : left
  const net = netIn(sellsX, wanted, price)
  const whole = net + feeOn(net, fee)
  if (whole >= TOO_LARGE) return undefined
  if (!exactIn || left >= whole) return { amountIn: whole, amountOut: wanted, fee: whole - net }
  const kept = ceilDiv(left * fee, WHOLE)
  const given = outOf(sellsX, left - kept, price)
  const isAll = given >= held
  return { amountIn: left, amountOut: isAll ? held : given, fee: kept }
}

/** The pair keeps what a bin holds as uint128, and its liquidity below a limit. */
const isTaken = (
  { maxLiquidity }: BinBook,
  sellsX: boolean,
  { x, y, price }: Bin,
  { amountIn, amountOut }: BinSwap,
): boolean => {
  const [afterX, afterY] = sellsX ? [x + amountIn, y - amountOut] : [x - amountOut, y + amountIn]
  if (afterX >= TOO_LARGE || afterY >= TOO_LARGE) return false
  return maxLiquidity === undefined || price * afterX + (afterY << PRICE_BITS) <= maxLiquidity
}

/** References of a swap at the moment of the state; undefined where what happened just before is not known. */
const knownReferences = (book: BinBook): VolatilityReferences | undefined => {
  // Without a filter period several swaps of one second count anew each time, and events do not tell them apart.
  if (book.terms.filterPeriod === 0) return undefined
  const { volatilityReference, binReference } = referencesAt(book, book.terms, book.timeS)
  return binReference === null ? undefined : { volatilityReference, binReference }
}

/** Walks the bins until `amountRaw` is used up. Empty bins count no volatility. */
const walkBins = (book: BinBook, walk: Walk, amountRaw: bigint): AmountQuote => {
  const { bins, binStep, terms } = book
  const { sellsX, exactIn } = walk
  const references = knownReferences(book)
  if (references === undefined || amountRaw >= TOO_LARGE || amountRaw <= 0n)
    return { refused: 'insufficient_liquidity', steps: 1 }
  let [left, result, feeRaw, steps] = [amountRaw, 0n, 0n, 1]
  let place = firstPlace(book, sellsX)
  for (let bin = bins[place]; bin !== undefined && steps <= MAX_BINS; bin = bins[place]) {
    place += sellsX ? -1 : 1
    if ((sellsX ? bin.y : bin.x) === 0n) continue
    steps += 1
    const fee = binFee(accumulatedVolatility(bin.bin, references, terms), binStep, terms)
    const swap = swapInBin(walk, bin, left, fee)
    if (swap === undefined || !isTaken(book, sellsX, bin, swap)) break
    left -= exactIn ? swap.amountIn : swap.amountOut
    result += exactIn ? swap.amountOut : swap.amountIn
    feeRaw += swap.fee
    if (left > 0n) continue
    if (result === 0n) break
    return { amountRaw: result, steps, feeRaw }
  }
  return { refused: 'insufficient_liquidity', steps }
}

/** Output for exactly `amountIn` of X (`sellsX`) or Y, with the fee that it pays. */
export const bookAmountOut = (book: BinBook, sellsX: boolean, amountIn: bigint): AmountQuote =>
  walkBins(book, { sellsX, exactIn: true }, amountIn)

/** Input of X (`sellsX`) or Y, fee included, for exactly `amountOut` of the other. The pair may pay a few units more. */
export const bookAmountIn = (book: BinBook, sellsX: boolean, amountOut: bigint): AmountQuote =>
  walkBins(book, { sellsX, exactIn: false }, amountOut)
