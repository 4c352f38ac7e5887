import { addSides, NO_SIDE, type PriceSpan, type SideSum, type StatBucket } from './stat-bucket.ts'

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

interface Sum {
  buy: SideSum
  sell: SideSum
  usd: PriceSpan | null
  native: PriceSpan | null
}

/** Newest prices and liquidity among the first `count` buckets, else what was earlier. */
export const newestOf = (
  buckets: readonly StatBucket[],
  count: number,
  earlier: Earlier,
): Earlier => {
  let usd: number | null = null
  let native: number | null = null
  let liquidityUsd: number | null = null
  for (let index = count - 1; index >= 0; index -= 1) {
    const bucket = buckets[index]
    usd ??= bucket?.usd?.close ?? null
    native ??= bucket?.native?.close ?? null
    liquidityUsd ??= bucket?.liquidityUsd ?? null
    if (usd !== null && liquidityUsd !== null) break
  }
  return {
    usd: usd ?? earlier.usd,
    native: native ?? earlier.native,
    liquidityUsd: liquidityUsd ?? earlier.liquidityUsd,
  }
}

const absorb = (sum: Sum, bucket: StatBucket): void => {
  sum.buy = addSides(sum.buy, bucket.buy)
  sum.sell = addSides(sum.sell, bucket.sell)
  sum.usd = widen(sum.usd, bucket.usd)
  sum.native = widen(sum.native, bucket.native)
}

/**
 * Every window that ends with minute `now`, in one pass from the newest bucket to the oldest. A window of n minutes holds the
 * minute `now` and the n - 1 before it. Buckets are in order, one per minute.
 */
export const windowSums = (
  buckets: readonly StatBucket[],
  now: number,
  earlier: Earlier,
): Readonly<Record<WindowName, WindowSum>> => {
  const sums = new Map<WindowName, WindowSum>()
  const valuesTo = new Map<number, bigint>()
  const sum: Sum = { buy: NO_SIDE, sell: NO_SIDE, usd: null, native: null }
  const ends = [...new Set(WINDOW_NAMES.flatMap((name) => [WINDOWS[name], 2 * WINDOWS[name]]))]
  let index = buckets.length - 1
  while (index >= 0 && (buckets[index]?.minute ?? 0) > now) index -= 1
  for (const minutes of ends.sort((one, other) => one - other)) {
    for (;;) {
      const bucket = buckets[index]
      if (bucket === undefined || bucket.minute <= now - minutes) break
      absorb(sum, bucket)
      index -= 1
    }
    valuesTo.set(minutes, usdOf(sum))
    const name = WINDOW_NAMES.find((each) => WINDOWS[each] === minutes)
    if (name === undefined) continue
    const start = newestOf(buckets, index + 1, earlier)
    sums.set(name, {
      buy: sum.buy,
      sell: sum.sell,
      usd: sum.usd ?? flat(start.usd),
      native: sum.native ?? flat(start.native),
      usdRawBefore: 0n,
      liquidityBefore: start.liquidityUsd,
    })
  }
  const withBefore = (name: WindowName): WindowSum => {
    const own = sums.get(name)
    if (own === undefined) throw new Error(`no window ${name}`)
    return { ...own, usdRawBefore: (valuesTo.get(2 * WINDOWS[name]) ?? 0n) - usdOf(own) }
  }
  return Object.fromEntries(WINDOW_NAMES.map((name) => [name, withBefore(name)])) as Record<
    WindowName,
    WindowSum
  >
}
