import { addSideTotals, type PriceRange, type SideTotals } from './bucket.ts'
import type { MinuteSums } from './minute-sums.ts'

/** Windows of token statistics in minutes of block time. */
export const WINDOWS = {
  '1m': 1,
  '5m': 5,
  '15m': 15,
  '30m': 30,
  '1h': 60,
  '4h': 240,
  '6h': 360,
  '24h': 1_440,
} as const
export type WindowName = keyof typeof WINDOWS
/** All eight, shortest first. */
export const WINDOW_NAMES = Object.keys(WINDOWS) as readonly WindowName[]

/** Minutes that any window, or the one before it, still looks at. */
export const LOOKBACK_MINUTES = 2 * WINDOWS['24h']

/** One window: what it sums, and what lies right before it. */
export interface WindowTotals {
  readonly buy: SideTotals
  readonly sell: SideTotals
  readonly usd: PriceRange | null
  readonly native: PriceRange | null
  /** Value of the window before, in units of 10^-12 USD. */
  readonly usdRawBefore: bigint
  /** Liquidity when the window began; null = unknown. */
  readonly liquidityBefore: number | null
}

/** What is known from before the oldest bucket. */
export interface PriorValues {
  readonly usd: number | null
  readonly native: number | null
  readonly liquidityUsd: number | null
}

const combinePriceRanges = (
  newer: PriceRange | null,
  older: PriceRange | null,
): PriceRange | null =>
  newer === null || older === null
    ? (newer ?? older)
    : {
        open: older.open,
        close: newer.close,
        high: Math.max(newer.high, older.high),
        low: Math.min(newer.low, older.low),
      }

const flatPriceRange = (price: number | null): PriceRange | null =>
  price === null ? null : { open: price, close: price, high: price, low: price }

const usdVolume = ({
  buy,
  sell,
}: {
  readonly buy: SideTotals
  readonly sell: SideTotals
}): bigint => buy.usdRaw + sell.usdRaw

const totalsBetween = (final: MinuteSums, hot: MinuteSums, from: number, to: number) => {
  const [older, newer] = [final.between(from, to), hot.between(from, to)]
  return { buy: addSideTotals(older.buy, newer.buy), sell: addSideTotals(older.sell, newer.sell) }
}

/**
 * Every window that ends with minute `now`, the newest of all, over final minutes and the unfinalized ones behind them. A window of
 * n minutes holds the minute `now` and the n - 1 before it. What a window costs does not depend on how many minutes it holds.
 */
export const windowTotals = (
  final: MinuteSums,
  hot: MinuteSums,
  { now, earlier }: { readonly now: number; readonly earlier: PriorValues },
): Readonly<Record<WindowName, WindowTotals>> => {
  const windowOf = (name: WindowName): WindowTotals => {
    const from = now - WINDOWS[name]
    const [older, newer] = [final.pricesAfter(from), hot.pricesAfter(from)]
    const start = hot.newestUpTo(from, final.newestUpTo(from, earlier))
    return {
      ...totalsBetween(final, hot, from, now),
      usd: combinePriceRanges(newer.usd, older.usd) ?? flatPriceRange(start.usd),
      native: combinePriceRanges(newer.native, older.native) ?? flatPriceRange(start.native),
      usdRawBefore: usdVolume(totalsBetween(final, hot, from - WINDOWS[name], from)),
      liquidityBefore: start.liquidityUsd,
    }
  }
  return Object.fromEntries(WINDOW_NAMES.map((name) => [name, windowOf(name)])) as Record<
    WindowName,
    WindowTotals
  >
}
