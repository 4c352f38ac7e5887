import { formatDecimal, formatUnits } from '../../core/amounts.ts'
import type { Query } from '../../core/clickhouse/client.ts'
import {
  bucketEnd,
  bucketStart,
  DAY_MS,
  HOUR_MS,
  RESOLUTIONS,
  type Resolution,
} from '../../core/time.ts'
import type { Candle } from '../../schemas/api/candle.ts'
import {
  candleSources,
  mergedCandle,
  type StoredResolution,
  watermarkCte,
} from './candle-sources.ts'

/** Which trades make the candles, and whose price they show. */
export type CandleSeries =
  | { readonly kind: 'token'; readonly token: string }
  /** The pool's base token is the priced one. */
  | { readonly kind: 'pool'; readonly pool: string }
  | { readonly kind: 'pair'; readonly token: string; readonly side: string }

/** A query for candles. `fromMs` inclusive, `toMs` exclusive, both on bucket starts. */
export interface CandleRequest {
  readonly chain: string
  readonly series: CandleSeries
  readonly resolution: Resolution
  readonly priceType: 'usd' | 'native'
  readonly fromMs: number
  readonly toMs: number
  readonly limit: number
}

/** A candle as the warehouse answers it. */
export interface CandleRow {
  readonly b: string
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  readonly volume_value: string
  readonly trades_count: string
  readonly volume_raw: string
  readonly decimals: number | null
}

const SERIES_SQL: Readonly<
  Record<
    CandleSeries['kind'],
    { readonly priced: (chain: string) => string; readonly where: string }
  >
> = {
  // A quote leg is not a candle of the quote: streams and cubes leave it out as well.
  token: {
    priced: () => '{token:String} AS priced',
    where: 'token_address = {token:String} AND is_base = 1',
  },
  pair: {
    priced: () => '{token:String} AS priced',
    where: 'token_address = {token:String} AND side_token = {side:String}',
  },
  pool: {
    priced: (chain) =>
      `(SELECT any(if(base_is_a = 1, token_a, token_b)) FROM ${chain}_dex_pools FINAL WHERE pool_address = {pool:String}) AS priced`,
    where: 'token_address = priced AND pool_address = {pool:String}',
  },
}

const PRICE_STATES = {
  usd: ['open', 'close', 'high', 'low', 'volume_usd'],
  native: ['open_native', 'close_native', 'high_native', 'low_native', 'volume_native'],
} as const

const MINUTE_MS = RESOLUTIONS['1m']

/** The coarsest stored resolution that the wanted one is a multiple of. */
const storedResolutionFor = (resolution: Resolution): StoredResolution => {
  const size = RESOLUTIONS[resolution] ?? DAY_MS
  if (size % DAY_MS === 0) return '1d'
  if (size % HOUR_MS === 0) return '1h'
  return size % MINUTE_MS === 0 ? '1m' : '1s'
}

/** Epoch seconds of the first Monday: weeks start there, everything else at the epoch. */
const FIRST_MONDAY_SECONDS = bucketStart(7 * DAY_MS, '1w') / 1_000

const bucketSql = (resolution: Resolution) => {
  const size = RESOLUTIONS[resolution]
  if (size === null) {
    return (column: string) =>
      `toInt64(toUnixTimestamp(toDateTime(toStartOfMonth(${column}), 'UTC')))`
  }
  const [seconds, shift] = [size / 1_000, resolution === '1w' ? FIRST_MONDAY_SECONDS : 0]
  return (column: string) =>
    `intDiv(toInt64(toUnixTimestamp(${column})) - ${shift}, ${seconds}) * ${seconds} + ${shift}`
}

/** Times behind this one do not fit the tables' columns; nothing was traded there yet. */
const MAX_TIME_MS = Date.UTC(2100, 0, 1)

/** Bucket starts in `[fromMs, toMs)` as a range of trade times; undefined when no bucket starts in it. */
const tradeTimeRange = ({ resolution, fromMs, toMs }: CandleRequest) => {
  const own = bucketStart(fromMs, resolution)
  const firstMs = own === fromMs ? own : bucketEnd(own, resolution)
  const lastMs = Math.min(toMs, MAX_TIME_MS)
  if (firstMs >= lastMs) return undefined
  return { firstMs, endMs: bucketEnd(bucketStart(lastMs - 1, resolution), resolution) }
}

const seriesParams = (series: CandleSeries): Readonly<Record<string, string>> => {
  if (series.kind === 'pool') return { pool: series.pool }
  return series.kind === 'token'
    ? { token: series.token }
    : { token: series.token, side: series.side }
}

/**
 * The newest `limit` buckets with trades in the range, newest first, in one statement; undefined when no bucket can
 * start in the range. A native series has the prices of trades whose native price is known, and leaves out buckets without any.
 */
export const candleQuery = (request: CandleRequest): Query | undefined => {
  const { chain, series, resolution, priceType, limit } = request
  const times = tradeTimeRange(request)
  if (!times) return undefined
  const { priced, where } = SERIES_SQL[series.kind]
  const [open, close, high, low, volume] = PRICE_STATES[priceType]
  const layers = candleSources({
    chain,
    base: storedResolutionFor(resolution),
    where,
    bucket: bucketSql(resolution),
    range: (column) =>
      `${column} >= fromUnixTimestamp64Milli({first:Int64}) AND ${column} < fromUnixTimestamp64Milli({end:Int64})`,
  })
  const sql = `WITH ${watermarkCte(chain)}, ${priced(chain)}
SELECT b, ${mergedCandle(open)} AS open, ${mergedCandle(high)} AS high, ${mergedCandle(low)} AS low, ${mergedCandle(close)} AS close,
  ${mergedCandle(volume)} AS volume_value, ${mergedCandle('trades')} AS trades_count, ${mergedCandle('volume')} AS volume_raw,
  (SELECT any(decimals) FROM ${chain}_tokens FINAL WHERE token_address = priced) AS decimals
FROM (${layers})
GROUP BY b HAVING isFinite(low) AND low > 0 ORDER BY b DESC LIMIT {limit:UInt32}`
  const params = { ...seriesParams(series), first: times.firstMs, end: times.endMs, limit }
  return { sql, params }
}

/** Row to body. */
export const candleBody = (row: CandleRow): Candle => ({
  timestamp: Number(row.b) * 1_000,
  open: formatDecimal(row.open),
  high: formatDecimal(row.high),
  low: formatDecimal(row.low),
  close: formatDecimal(row.close),
  volume: row.volume_value,
  trades: Number(row.trades_count),
  volumeInTokenAmount:
    row.decimals === null ? null : formatUnits(BigInt(row.volume_raw), row.decimals),
})

/**
 * The last `limit` buckets that start before `toMs`, each either the candle of its trades or a flat bar at the close
 * before it; nothing stands before the first known trade. `candles` are oldest first.
 */
export const fillCandleGaps = (
  candles: readonly Candle[],
  { resolution, toMs, limit }: Pick<CandleRequest, 'resolution' | 'toMs' | 'limit'>,
): readonly Candle[] => {
  const oldest = candles[0]
  if (!oldest) return []
  const byStart = new Map(candles.map((candle) => [candle.timestamp, candle]))
  const starts: number[] = []
  for (
    let start = bucketStart(toMs - 1, resolution);
    start >= oldest.timestamp && starts.length < limit;
    start = bucketStart(start - 1, resolution)
  ) {
    starts.push(start)
  }
  const first = starts.at(-1) ?? 0
  let close = candles.findLast(({ timestamp }) => timestamp < first)?.close ?? oldest.open
  return starts.toReversed().map((start) => {
    const candle = byStart.get(start) ?? flatCandle(start, close)
    close = candle.close
    return candle
  })
}

const flatCandle = (timestamp: number, price: string): Candle => ({
  timestamp,
  open: price,
  high: price,
  low: price,
  close: price,
  volume: '0',
  trades: 0,
  volumeInTokenAmount: '0',
})
