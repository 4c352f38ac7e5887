/**
 * The slow and plain way from trades to statistics of windows: each answer looks at all trades again. It imports nothing of the
 * product.
 */

/** A trade of one token, in chain order; null = unknown, or not to be trusted. */
export interface BruteStatTrade {
  readonly timeMs: number
  readonly buy: boolean
  readonly trader: string
  readonly pool: string
  readonly program: string
  readonly amount: number
  readonly valueUsd: number | null
  readonly valueNative: number | null
  readonly priceUsd: number | null
  readonly priceNative: number | null
}

/** Windows by name, in seconds. */
export const BRUTE_WINDOWS = {
  '1m': 60,
  '5m': 300,
  '15m': 900,
  '30m': 1_800,
  '1h': 3_600,
  '4h': 14_400,
  '6h': 21_600,
  '24h': 86_400,
} as const

/** Opening, closing, highest and lowest price; null = there never was one. */
export type BrutePrices = readonly [
  open: number | null,
  close: number | null,
  high: number | null,
  low: number | null,
]

/** Trades of one span. */
export interface BruteSpan {
  readonly buys: number
  readonly sells: number
  readonly buyers: number
  readonly sellers: number
  readonly traders: number
  readonly pools: number
  readonly programs: number
  readonly buyVolume: number
  readonly sellVolume: number
  readonly buyUsd: number
  readonly sellUsd: number
  readonly buyNative: number
  readonly sellNative: number
  readonly usd: BrutePrices
  readonly native: BrutePrices
}

const pricesOf = (
  trades: readonly BruteStatTrade[],
  [from, to]: readonly [number, number],
  priceOf: (trade: BruteStatTrade) => number | null,
): BrutePrices => {
  const priced = trades.filter((trade) => trade.timeMs < to && priceOf(trade) !== null)
  const inside = priced.filter(({ timeMs }) => timeMs >= from).map((trade) => priceOf(trade) ?? 0)
  if (inside.length > 0) {
    return [inside[0] ?? 0, inside.at(-1) ?? 0, Math.max(...inside), Math.min(...inside)]
  }
  const before = priced.at(-1)
  const price = before === undefined ? null : priceOf(before)
  return [price, price, price, price]
}

/** Everything of the trades from one time on and before another. */
export const bruteSpan = (
  trades: readonly BruteStatTrade[],
  from: number,
  to: number,
): BruteSpan => {
  const inside = trades.filter(({ timeMs }) => timeMs >= from && timeMs < to)
  const buys = inside.filter(({ buy }) => buy)
  const sells = inside.filter(({ buy }) => !buy)
  const distinct = (list: readonly BruteStatTrade[], key: 'trader' | 'pool' | 'program') =>
    new Set(list.map((trade) => trade[key])).size
  const sum = (list: readonly BruteStatTrade[], key: 'amount' | 'valueUsd' | 'valueNative') =>
    list.reduce((total, trade) => total + (trade[key] ?? 0), 0)
  return {
    buys: buys.length,
    sells: sells.length,
    buyers: distinct(buys, 'trader'),
    sellers: distinct(sells, 'trader'),
    traders: distinct(inside, 'trader'),
    pools: distinct(inside, 'pool'),
    programs: distinct(inside, 'program'),
    buyVolume: sum(buys, 'amount'),
    sellVolume: sum(sells, 'amount'),
    buyUsd: sum(buys, 'valueUsd'),
    sellUsd: sum(sells, 'valueUsd'),
    buyNative: sum(buys, 'valueNative'),
    sellNative: sum(sells, 'valueNative'),
    usd: pricesOf(trades, [from, to], ({ priceUsd }) => priceUsd),
    native: pricesOf(trades, [from, to], ({ priceNative }) => priceNative),
  }
}

/** A window of so many seconds that ends with the bucket of `atMs`, a sixtieth of it, and the window before it. */
export const bruteWindow = (
  trades: readonly BruteStatTrade[],
  seconds: number,
  atMs: number,
): { readonly current: BruteSpan; readonly previous: BruteSpan } => {
  const bucketMs = (seconds * 1_000) / 60
  const end = (Math.floor(atMs / bucketMs) + 1) * bucketMs
  const [start, earlier] = [end - seconds * 1_000, end - 2 * seconds * 1_000]
  return { current: bruteSpan(trades, start, end), previous: bruteSpan(trades, earlier, start) }
}
