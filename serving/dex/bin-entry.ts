import { feeTermsOf, priceOfBin } from '../../core/prices/bin-math.ts'
import { volatilityOf } from '../../core/prices/bin-state.ts'
import type { BinMove, BinState } from '../../schemas/wire.ts'
import type { PoolStateRow } from '../queries/pool-states.ts'
import { type Bin, type BinBook, MAX_LIQUIDITY_PER_BIN } from './liquidity-book.ts'

/** What is kept of the bins of a pool of Liquidity Book. */
export interface BinEntry {
  /** It has had too many bins: it is not quoted, and none is kept any more. */
  isTooWide: boolean
  /** What the pool prices with beside its bins; null: it has none, or nothing of them is known. */
  bins: BinState | null
  /** Reserves by bin, empty ones left out. */
  readonly reserves: Map<number, Pick<Bin, 'x' | 'y'>>
  /** Prices of bins that were looked at; they never change. */
  readonly prices: Map<number, bigint>
}

/** Bins of one pool beyond which it is not kept exact. */
const MAX_BINS = 20_000

/** Nothing known. */
export const emptyBinEntry = (): BinEntry => ({
  isTooWide: false,
  bins: null,
  reserves: new Map(),
  prices: new Map(),
})

/** Adds to what a bin holds. */
export const addToBin = (entry: BinEntry, bin: number, x: bigint, y: bigint): void => {
  const { reserves, prices, isTooWide } = entry
  if (isTooWide) return
  const held = reserves.get(bin)
  const sums = { x: (held?.x ?? 0n) + x, y: (held?.y ?? 0n) + y }
  if (sums.x !== 0n || sums.y !== 0n) {
    reserves.set(bin, sums)
    if (reserves.size <= MAX_BINS) return
    entry.isTooWide = true
    reserves.clear()
    prices.clear()
    return
  }
  reserves.delete(bin)
  prices.delete(bin)
}

/** Takes what an event moved, or with a retraction what it had moved. */
export const applyBinMoves = (
  entry: BinEntry,
  moves: readonly BinMove[],
  isRetraction: boolean,
): void => {
  const sign = isRetraction ? -1n : 1n
  for (const { bin, amount_x, amount_y } of moves)
    addToBin(entry, bin, sign * BigInt(amount_x), sign * BigInt(amount_y))
}

/** What a pool prices with beside its bins, as the table has it; null: it is not a pool with bins. */
export const binsOfRow = (stored: PoolStateRow): BinState | null =>
  stored.token_x === ''
    ? null
    : {
        token_x: stored.token_x,
        bin_step: stored.bin_step,
        active_bin: stored.active_bin,
        fee_terms: [...stored.fee_terms],
        volatility: stored.volatility,
        volatility_reference: stored.volatility_reference,
        bin_reference: stored.bin_reference,
        updated_at: Number(stored.volatility_at),
        amount_x: stored.bins_x,
        amount_y: stored.bins_y,
        is_complete: stored.is_complete === 1,
        depth_in_usd: '',
      }

/**
 * The book of a pool for swaps at no moment yet; null where not all of it is known: it was not followed since it opened, an event did not
 * follow from the one before, no event has told the bin that it trades at, or the bins that are kept here are not all of those whose
 * sums its last event states.
 */
export const exactBook = (
  { bins: state, reserves, prices, isTooWide }: BinEntry,
  hasLiquidityLimit: boolean,
): Omit<BinBook, 'timeS'> | null => {
  if (!state?.is_complete || isTooWide || reserves.size === 0) return null
  const { bin_step: binStep, active_bin: activeBin } = state
  const terms = feeTermsOf(state.fee_terms)
  if (binStep === null || activeBin === null || terms === undefined) return null
  if (priceOfBin(activeBin, binStep) === undefined) return null
  const bins: Bin[] = []
  let [sumX, sumY] = [0n, 0n]
  for (const [bin, { x, y }] of reserves) {
    const price = prices.get(bin) ?? priceOfBin(bin, binStep)
    // Above the active bin lies only X, below it only Y.
    if (price === undefined || x < 0n || y < 0n) return null
    if ((bin > activeBin && y > 0n) || (bin < activeBin && x > 0n)) return null
    prices.set(bin, price)
    sumX += x
    sumY += y
    bins.push({ bin, x, y, price })
  }
  if (sumX !== BigInt(state.amount_x) || sumY !== BigInt(state.amount_y)) return null
  bins.sort((one, other) => one.bin - other.bin)
  const maxLiquidity = hasLiquidityLimit ? MAX_LIQUIDITY_PER_BIN : undefined
  return { ...volatilityOf(state), activeBin, binStep, terms, bins, maxLiquidity }
}
