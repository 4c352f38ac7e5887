import { addSides, type PriceSpan, type SideSum } from './bucket.ts'
import type { MinuteSums } from './sums.ts'

/** Windows of token statistics in minutes of block time (R10). */
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
export const WINDOW_MINUTES = 2 * WINDOWS['24h']

/** One window: what it sums, and what lies right before it. */
export interface WindowSum {
  readonly buy: SideSum
  readonly sell: SideSum
  readonly usd: PriceSpan | null
  readonly native: PriceSpan | null
  /** Value of the window before, in units of 10^-12 USD. */
  readonly usdRawBefore: bigint
  /** Liquidity when the window began; null = unknown. */
  readonly liquidityBefore: number | null
}

/** What is known from before the oldest bucket. */
export interface Earlier {
  readonly usd: number | null
  readonly native: number | null
  readonly liquidityUsd: number | null
}

const widen = (newer: PriceSpan | null, older: PriceSpan | null): PriceSpan | null =>
  newer === null || older === null
    ? (newer ?? older)
    : {
        open: older.open,
        close: newer.close,
        high: Math.max(newer.high, older.high),
        low: Math.min(newer.low, older.low),
      }

const flat = (price: number | null): PriceSpan | null =>
  price === null ? null : { open: price, close: price, high: price, low: price }

const usdOf = ({ buy, sell }: { readonly buy: SideSum; readonly sell: SideSum }): bigint =>
  buy.usdRaw + sell.usdRaw

const both = (final: MinuteSums, hot: MinuteSums, from: number, to: number) => {
  const [older, newer] = [final.between(from, to), hot.between(from, to)]
  return { buy: addSides(older.buy, newer.buy), sell: addSides(older.sell, newer.sell) }
}

/**
 * Every window that ends with minute `now`, the newest of all, over final minutes and the unfinalized ones behind them. A window of
 * n minutes holds the minute `now` and the n - 1 before it. What a window costs does not depend on how many minutes it holds.
 */
export const windowSums = (
  final: MinuteSums,
  hot: MinuteSums,
  { now, earlier }: { readonly now: number; readonly earlier: Earlier },
): Readonly<Record<WindowName, WindowSum>> => {
  const windowOf = (name: WindowName): WindowSum => {
    const from = now - WINDOWS[name]
    const [older, newer] = [final.pricesAfter(from), hot.pricesAfter(from)]
    const start = hot.newestUpTo(from, final.newestUpTo(from, earlier))
    return {
      ...both(final, hot, from, now),
      usd: widen(newer.usd, older.usd) ?? flat(start.usd),
      native: widen(newer.native, older.native) ?? flat(start.native),
      usdRawBefore: usdOf(both(final, hot, from - WINDOWS[name], from)),
      liquidityBefore: start.liquidityUsd,
    }
  }
  return Object.fromEntries(WINDOW_NAMES.map((name) => [name, windowOf(name)])) as Record<
    WindowName,
    WindowSum
  >
}
