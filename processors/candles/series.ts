import { bucketEnd, bucketStart, RESOLUTION_NAMES, type Resolution } from '../../core/time.ts'
import type { CandlestickDimension } from '../../schemas/wire.ts'
import { type Bucket, mergeOhlcv, type Ohlcv, rollUpBuckets } from './ohlcv.ts'

type Buckets = Partial<Record<Resolution, Bucket>>

/** A change of a block that was taken back: when it was, and the version of its retraction. */
interface RevertedChange {
  readonly timeMs: number
  readonly version: number
}

/** All candles of one token, pool or pair that can still change. */
export interface Series {
  readonly key: string
  readonly token: string
  readonly dimension: CandlestickDimension
  readonly address: string
  decimals: number
  /** Final trades of the newest bucket of each resolution. */
  base: Buckets
  /** Final and unfinalized trades of the newest bucket of each resolution. */
  tips: Buckets
  /** Folds of blocks that came since the last flush; `startMs` is the block time. */
  pending: Bucket[]
  removed: RevertedChange[]
  /** Unfinalized blocks with trades of this series. */
  unfinalizedBlocks: number
  /** When the first of the base's buckets ends. */
  nextEndMs: number
  /** The end under which the state lists the series; undefined = it does not. */
  listedMs: number | undefined
}

/** A candle to be published; `fold: null` is a bucket that a reorg emptied. */
export interface Candle {
  readonly series: Series
  readonly resolution: Resolution
  readonly startMs: number
  readonly fold: Ohlcv | null
  readonly version: number
  readonly isFinal: boolean
}

/** Takes a candle; a later one of the same series, resolution and bucket replaces it. */
export type PublishCandle = (candle: Candle) => void

/** Time up to which everything is final, with the operation that said so. */
export interface FinalizedTime {
  readonly seq: number
  readonly timeMs: number
}

const DIMENSION_BY_PREFIX: Readonly<Record<string, CandlestickDimension>> = {
  T: 'CANDLESTICK_DIMENSION_TOKEN_ADDRESS',
  P: 'CANDLESTICK_DIMENSION_POOL_ADDRESS',
  A: 'CANDLESTICK_DIMENSION_PAIR',
}

/** `(seq << 16) | part` as a double, exact below 2^53. */
export const recordVersion = (seq: number, part: number): number => seq * 65_536 + part

/** A trade's pair and pool, and whether its base is a stablecoin. */
export interface TradedPair {
  readonly base: string
  readonly quote: string
  readonly pool: string
  readonly stable: boolean
}

/** Keys of the series that a trade belongs to; stablecoins have no candles of their own. */
export const seriesKeys = ({ base, quote, pool, stable }: TradedPair): readonly string[] => [
  ...(stable ? [] : [`T|${base}|${base}`]),
  `P|${base}|${pool}`,
  `A|${base}|${base < quote ? `${base}-${quote}` : `${quote}-${base}`}`,
]

/** A series without candles. */
export const newSeries = (key: string, decimals: number): Series => {
  const [letter = '', token = '', address = ''] = key.split('|')
  return {
    key,
    token,
    dimension: DIMENSION_BY_PREFIX[letter] ?? 'CANDLESTICK_DIMENSION_UNSPECIFIED',
    address,
    decimals,
    base: {},
    tips: {},
    pending: [],
    removed: [],
    unfinalizedBlocks: 0,
    nextEndMs: Number.POSITIVE_INFINITY,
    listedMs: undefined,
  }
}

const mergeOntoFirst = (below: Bucket | undefined, list: readonly Bucket[]): readonly Bucket[] => {
  const first = list[0]
  if (below === undefined || first === undefined || below.startMs !== first.startMs) return list
  return [{ startMs: first.startMs, fold: mergeOhlcv(below.fold, first.fold) }, ...list.slice(1)]
}

/** Takes in the folds since the last flush and publishes every bucket that they touched. */
export const publishPending = (series: Series, publish: PublishCandle): void => {
  const ladder = rollUpBuckets(series.pending)
  for (const resolution of RESOLUTION_NAMES) {
    const list = mergeOntoFirst(series.tips[resolution], ladder[resolution])
    for (const { startMs, fold } of list) {
      publish({ series, resolution, startMs, fold, version: fold.version, isFinal: false })
    }
    const tip = list.at(-1)
    if (tip !== undefined) series.tips[resolution] = tip
  }
  series.pending = []
}

const affectedStarts = (series: Series, resolution: Resolution): ReadonlyMap<number, number> => {
  const starts = new Map<number, number>()
  for (const { startMs } of series.pending) starts.set(bucketStart(startMs, resolution), 0)
  for (const { timeMs, version } of series.removed) {
    const start = bucketStart(timeMs, resolution)
    starts.set(start, Math.max(version, starts.get(start) ?? 0))
  }
  return starts
}

/** Folds again what is left after a retraction, from the unfinalized blocks in chain order; publishes what it touched. */
export const rebuildSeries = (
  series: Series,
  unfinalized: readonly Bucket[],
  publish: PublishCandle,
): void => {
  const buckets = rollUpBuckets(unfinalized)
  for (const resolution of RESOLUTION_NAMES) {
    const base = series.base[resolution]
    const list = mergeOntoFirst(base, buckets[resolution])
    for (const [startMs, version] of affectedStarts(series, resolution)) {
      const found = list.find((bucket) => bucket.startMs === startMs)
      const fold = found?.fold ?? (base?.startMs === startMs ? base.fold : null)
      publish({
        series,
        resolution,
        startMs,
        fold,
        version: Math.max(version, fold?.version ?? 0),
        isFinal: false,
      })
    }
    const tip = list.at(-1) ?? base
    if (tip === undefined) delete series.tips[resolution]
    else series.tips[resolution] = tip
  }
  series.pending = []
  series.removed = []
}

/** When the first of the final buckets ends. */
export const nextBucketEnd = ({ base }: Series): number => {
  let end = Number.POSITIVE_INFINITY
  for (const resolution of RESOLUTION_NAMES) {
    const bucket = base[resolution]
    if (bucket !== undefined) end = Math.min(end, bucketEnd(bucket.startMs, resolution))
  }
  return end
}

/** Publishes a bucket for the last time: its end is final. */
export const closeBucket = (
  series: Series,
  resolution: Resolution,
  bucket: Bucket,
  finalities: readonly FinalizedTime[],
  publish: PublishCandle,
): void => {
  const end = bucketEnd(bucket.startMs, resolution)
  const seq = finalities.find(({ timeMs }) => timeMs >= end)?.seq ?? finalities.at(-1)?.seq ?? 0
  publish({
    series,
    resolution,
    startMs: bucket.startMs,
    fold: bucket.fold,
    version: Math.max(recordVersion(seq, 0), bucket.fold.version),
    isFinal: true,
  })
  if (series.base[resolution]?.startMs === bucket.startMs) delete series.base[resolution]
  if (series.tips[resolution]?.startMs === bucket.startMs) delete series.tips[resolution]
}

/** Merges folds that became final, in chain order, into the base. Buckets that a later final trade has passed are closed. */
export const finalizeBuckets = (
  series: Series,
  parts: readonly Bucket[],
  finalities: readonly FinalizedTime[],
  publish: PublishCandle,
): void => {
  const ladder = rollUpBuckets(parts)
  for (const resolution of RESOLUTION_NAMES) {
    const before = series.base[resolution]
    const tip = series.tips[resolution]
    const list = mergeOntoFirst(before, ladder[resolution])
    const first = list[0]
    const last = list.at(-1)
    if (first === undefined || last === undefined) continue
    if (before !== undefined && before.startMs !== first.startMs) {
      closeBucket(series, resolution, before, finalities, publish)
    }
    for (const passed of list.slice(0, -1))
      closeBucket(series, resolution, passed, finalities, publish)
    const whole = series.unfinalizedBlocks === 0 && tip?.startMs === last.startMs
    series.base[resolution] = whole ? tip : last
  }
  series.nextEndMs = nextBucketEnd(series)
}

/** True when nothing of the series can change any more. */
export const isFinished = (series: Series): boolean =>
  series.unfinalizedBlocks === 0 &&
  series.pending.length === 0 &&
  Object.keys(series.base).length === 0
