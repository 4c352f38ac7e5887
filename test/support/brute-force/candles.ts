/**
 * Candles the slow way: every bucket looks at every trade. Imports nothing of the product.
 */

/** A trade as a candle sees it, in chain order. `priceUsd: null` or `suspect` makes no candle. */
export interface BruteCandleTrade {
  readonly timeMs: number
  readonly base: string
  readonly quote: string
  readonly pool: string
  readonly buy: boolean
  readonly suspect: boolean
  readonly priceUsd: number | null
  readonly priceNative: number | null
  readonly valueUsd: number
  readonly valueNative: number
  /** Base units. */
  readonly volumeRaw: bigint
}

/** A candle in numbers. */
export interface BruteCandle {
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  readonly openNative: number | null
  readonly highNative: number | null
  readonly lowNative: number | null
  readonly closeNative: number | null
  readonly volumeRaw: bigint
  readonly valueUsd: number
  readonly valueNative: number
  readonly trades: number
  readonly buys: number
  readonly endMs: number
}

const RESOLUTION_SECONDS: Readonly<Record<string, number>> = {
  '1s': 1,
  '15s': 15,
  '30s': 30,
  '1m': 60,
  '3m': 180,
  '5m': 300,
  '15m': 900,
  '30m': 1_800,
  '1h': 3_600,
  '2h': 7_200,
  '4h': 14_400,
  '6h': 21_600,
  '8h': 28_800,
  '12h': 43_200,
  '1d': 86_400,
  '3d': 259_200,
}

/** Start and end of the bucket of a time. */
export const bruteBucket = (timeMs: number, resolution: string): readonly [number, number] => {
  const date = new Date(timeMs)
  if (resolution === '1M') {
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
    return [Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1)]
  }
  if (resolution === '1w') {
    const sinceMonday = (date.getUTCDay() + 6) % 7
    const day = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() - sinceMonday)
    return [day, day + 7 * 86_400_000]
  }
  const size = (RESOLUTION_SECONDS[resolution] ?? Number.NaN) * 1_000
  const start = timeMs - (timeMs % size)
  return [start, start + size]
}

/** All 18. */
export const BRUTE_RESOLUTIONS = [...Object.keys(RESOLUTION_SECONDS), '1w', '1M']

/** The series of a trade: `dimension|token|address`; a stablecoin has none as a token. */
const tradeSeries = (
  { base, quote, pool }: BruteCandleTrade,
  stables: ReadonlySet<string>,
): readonly string[] => [
  ...(stables.has(base) ? [] : [`TOKEN_ADDRESS|${base}|${base}`]),
  `POOL_ADDRESS|${base}|${pool}`,
  `PAIR|${base}|${[base, quote].sort().join('-')}`,
]

const bruteCandle = (trades: readonly BruteCandleTrade[], endMs: number): BruteCandle => {
  const usd = trades.map(({ priceUsd }) => priceUsd ?? Number.NaN)
  const native = trades.flatMap(({ priceNative }) => (priceNative === null ? [] : [priceNative]))
  const orNull = (value: number): number | null => (native.length === 0 ? null : value)
  return {
    open: usd[0] ?? Number.NaN,
    high: Math.max(...usd),
    low: Math.min(...usd),
    close: usd.at(-1) ?? Number.NaN,
    openNative: native[0] ?? null,
    highNative: orNull(Math.max(...native)),
    lowNative: orNull(Math.min(...native)),
    closeNative: native.at(-1) ?? null,
    volumeRaw: trades.reduce((sum, { volumeRaw }) => sum + volumeRaw, 0n),
    valueUsd: trades.reduce((sum, { valueUsd }) => sum + valueUsd, 0),
    valueNative: trades.reduce((sum, { valueNative }) => sum + valueNative, 0),
    trades: trades.length,
    buys: trades.filter(({ buy }) => buy).length,
    endMs,
  }
}

/** Every candle of the trades by `series|resolution|start`. */
export const bruteCandles = (
  trades: readonly BruteCandleTrade[],
  stables: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, BruteCandle> => {
  const groups = new Map<string, { readonly trades: BruteCandleTrade[]; readonly endMs: number }>()
  for (const trade of trades) {
    if (trade.suspect || trade.priceUsd === null) continue
    for (const series of tradeSeries(trade, stables)) {
      for (const resolution of BRUTE_RESOLUTIONS) {
        const [start, endMs] = bruteBucket(trade.timeMs, resolution)
        const key = `${series}|${resolution}|${start}`
        const group = groups.get(key) ?? { trades: [], endMs }
        group.trades.push(trade)
        groups.set(key, group)
      }
    }
  }
  return new Map([...groups].map(([key, group]) => [key, bruteCandle(group.trades, group.endMs)]))
}
