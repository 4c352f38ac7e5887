import { ceilDiv, minBigint } from '../../core/bigint-math.ts'

/** Swaps within one bin of Meteora DLMM in exact integers. Source: MeteoraAg/dlmm-sdk commons/src (math, extensions/bin.rs, quote.rs), lb_clmm 0.12. */

/** Fixed point of prices: 1 is 2^64. */
export const DLMM_PRICE_BITS = 64n
const ONE = 1n << DLMM_PRICE_BITS
const MAX_PRICE = (1n << 128n) - 1n
const BASIS = 10_000n
/** Distance from the bin at price 1 from which on the program raises nothing to a power. */
const MAX_EXPONENT = 0x80000
/** Fees are parts of this. */
const WHOLE = 1_000_000_000n
/** Largest amount of a token. */
const MAX_AMOUNT = (1n << 64n) - 1n

/** Base units of token Y for one of token X in a bin, times 2^64; undefined where the program has no price for it. `binStep`: basis points. */
export const dlmmPriceOfBin = (bin: number, binStep: number): bigint | undefined => {
  if (bin === 0) return ONE
  let left = Math.abs(bin)
  if (left >= MAX_EXPONENT) return undefined
  // Powers are taken of the inverse, which is below 1, and inverted at the end.
  let squared = MAX_PRICE / (ONE + (BigInt(binStep) << DLMM_PRICE_BITS) / BASIS)
  let result = ONE
  while (left > 0) {
    if (left % 2 === 1) result = (result * squared) >> DLMM_PRICE_BITS
    squared = (squared * squared) >> DLMM_PRICE_BITS
    left = Math.floor(left / 2)
  }
  if (result === 0n) return undefined
  return bin > 0 ? MAX_PRICE / result : result
}

/** Limit orders of one bin; all of them sell the same token. */
interface BinOrders {
  /** They sell X. */
  readonly sellX: boolean
  /** What is left of the orders that a swap has begun to fill, then that of the others. */
  readonly begunRaw: bigint
  readonly openRaw: bigint
}

/** What one bin holds, at its one price. */
export interface DlmmBin {
  readonly bin: number
  readonly x: bigint
  readonly y: bigint
  /** Base units of Y for one of X, times 2^64. */
  readonly price: bigint
  /** null: none, or the pool has none. */
  readonly orders: BinOrders | null
}

/** A swap in one direction over a bin. */
export interface DlmmBinTerms {
  /** X is sold: the price falls. */
  readonly sellsX: boolean
  /** The fee is taken of what is sold, and not of what is bought. */
  readonly isFeeOnInput: boolean
  /** Parts of 10^9. */
  readonly fee: bigint
}

/** What a swap does to one bin. Input and output are as the trader pays and receives them. */
interface DlmmBinSwap {
  readonly amountIn: bigint
  readonly amountOut: bigint
  /** Part of the input, or of the output. */
  readonly fee: bigint
}

/** What a swap can take of a bin, in the order in which it is taken; each part rounds for itself. */
const layersOf = ({ x, y, orders }: DlmmBin, sellsX: boolean): readonly bigint[] => {
  const deposited = sellsX ? y : x
  if (orders === null || orders.sellX === sellsX) return [deposited]
  return [deposited, orders.begunRaw, orders.openRaw]
}

/** All that a swap in a direction can take of a bin, fees included. */
export const dlmmHeld = (bin: DlmmBin, sellsX: boolean): bigint =>
  layersOf(bin, sellsX).reduce((sum, layer) => sum + layer, 0n)

/** Least input without a fee for so much of a bin. */
const netIn = (sellsX: boolean, amountOut: bigint, price: bigint): bigint =>
  sellsX ? ceilDiv(amountOut << DLMM_PRICE_BITS, price) : ceilDiv(amountOut * price, ONE)

const outOf = (sellsX: boolean, amountIn: bigint, price: bigint): bigint =>
  sellsX ? (amountIn * price) >> DLMM_PRICE_BITS : (amountIn << DLMM_PRICE_BITS) / price

/** The fee beside a net amount, and the fee within a whole amount. */
const feeBeside = (net: bigint, fee: bigint): bigint => ceilDiv(net * fee, WHOLE - fee)
const feeWithin = (whole: bigint, fee: bigint): bigint => ceilDiv(whole * fee, WHOLE)

/** Takes layer by layer until the input is used up; undefined where an amount is beyond what the program computes with. */
const fill = (
  bin: DlmmBin,
  sellsX: boolean,
  net: bigint,
): { readonly taken: bigint; readonly given: bigint } | undefined => {
  let [taken, given] = [0n, 0n]
  for (const layer of layersOf(bin, sellsX)) {
    const left = net - taken
    if (layer === 0n || left === 0n) continue
    const most = netIn(sellsX, layer, bin.price)
    if (most > MAX_AMOUNT) return undefined
    taken += minBigint(left, most)
    given += left >= most ? layer : outOf(sellsX, left, bin.price)
  }
  return given > MAX_AMOUNT ? undefined : { taken, given }
}

/** Sells as much of `amountIn` to a bin as it takes; undefined where the program would fail. */
export const dlmmSellToBin = (
  { sellsX, isFeeOnInput, fee }: DlmmBinTerms,
  bin: DlmmBin,
  amountIn: bigint,
): DlmmBinSwap | undefined => {
  const kept = isFeeOnInput ? feeWithin(amountIn, fee) : 0n
  const filled = fill(bin, sellsX, amountIn - kept)
  if (filled === undefined) return undefined
  const { taken, given } = filled
  if (!isFeeOnInput) {
    const ofOutput = feeWithin(given, fee)
    return { amountIn: taken, amountOut: given - ofOutput, fee: ofOutput }
  }
  if (taken === amountIn - kept) return { amountIn, amountOut: given, fee: kept }
  const beside = feeBeside(taken, fee)
  return { amountIn: taken + beside, amountOut: given, fee: beside }
}

/** Buys exactly `amountOut` of a bin, or all that it gives; undefined where the program would fail. */
export const dlmmBuyFromBin = (
  terms: DlmmBinTerms,
  bin: DlmmBin,
  amountOut: bigint,
): DlmmBinSwap | undefined => {
  const { sellsX, isFeeOnInput, fee } = terms
  const whole = isFeeOnInput ? amountOut : amountOut + feeBeside(amountOut, fee)
  if (whole >= dlmmHeld(bin, sellsX)) return dlmmSellToBin(terms, bin, MAX_AMOUNT)
  const net = netIn(sellsX, whole, bin.price)
  const amountIn = isFeeOnInput ? net + feeBeside(net, fee) : net
  if (amountIn > MAX_AMOUNT) return undefined
  const sold = dlmmSellToBin(terms, bin, amountIn)
  // Each layer rounds for itself, so that together they may give less than was bought: the program fails then.
  if (sold === undefined || sold.amountOut < amountOut) return undefined
  return { amountIn: sold.amountIn, amountOut, fee: sold.fee }
}

/** What an amount of the output of a bin is worth in its input, rounded up. */
export const dlmmInInput = (sellsX: boolean, amountOut: bigint, { price }: DlmmBin): bigint =>
  netIn(sellsX, amountOut, price)
