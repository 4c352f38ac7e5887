import { LRUCache } from 'lru-cache'
import { RESOLUTION_NAMES, type Resolution } from '../../core/time.ts'
import type { FlushResult, StageState } from '../runtime/stage.ts'
import {
  fromStoredOhlcv,
  hasSameTrades,
  type Ohlcv,
  type StoredOhlcv,
  toStoredOhlcv,
} from './ohlcv.ts'
import { isFinished, newSeries, nextBucketEnd, type Series } from './series.ts'

/** Final buckets of a series; resolutions whose buckets hold the same trades share a fold. */
interface StoredSeries {
  readonly decimals: number
  readonly folds: readonly StoredOhlcv[]
  readonly base: readonly (readonly [resolution: Resolution, startMs: number, fold: number])[]
}

/**
 * The series of a lane. Those with unfinalized trades are in use, in memory; the others are idle, in the lane's state, and as many
 * of them as the cache holds are in memory too. The state also lists the idle ones by the end of their next bucket.
 */
export interface SeriesStore {
  /** The series, in use from now on; a new one gets these decimals. */
  at(key: string, decimals?: number): Series
  readonly inUse: Iterable<Series>
  /** Series with a final bucket that ends by then, in use from now on. Reads what the last flush has committed. */
  due(timeMs: number): readonly Series[]
  /** The final buckets of the series are others than before. */
  saved(series: Series): void
  /** At the end of a flush: a series without unfinalized trades becomes idle, a finished one is dropped. */
  release(series: Series): void
  /** Changed state entries since the last call. */
  changes(): FlushResult['changes']
  /** Series in memory. */
  readonly size: number
}

const SERIES_PREFIX = 's/'
/** `e/<end of the next bucket>/<series>` of every idle series, in the order of time. */
const BUCKET_END_PREFIX = 'e/'
/** Digits of a time in a key, so that keys are in the order of time. */
const TIME_DIGITS = 15

const bucketEndKey = (endMs: number, key: string): string =>
  `${BUCKET_END_PREFIX}${String(endMs).padStart(TIME_DIGITS, '0')}/${key}`

const serializeSeries = (series: Series): string => {
  const folds: Ohlcv[] = []
  const base: StoredSeries['base'][number][] = []
  for (const resolution of RESOLUTION_NAMES) {
    const bucket = series.base[resolution]
    if (bucket === undefined) continue
    const same = folds.findIndex((fold) => hasSameTrades(fold, bucket.fold))
    base.push([resolution, bucket.startMs, same === -1 ? folds.length : same])
    if (same === -1) folds.push(bucket.fold)
  }
  const stored: StoredSeries = { decimals: series.decimals, folds: folds.map(toStoredOhlcv), base }
  return JSON.stringify(stored)
}

const parseSeries = (key: string, text: string): Series => {
  const { decimals, folds, base }: StoredSeries = JSON.parse(text)
  const series = newSeries(key, decimals)
  const known = folds.map(fromStoredOhlcv)
  for (const [resolution, startMs, index] of base) {
    const fold = known[index]
    if (fold !== undefined) series.base[resolution] = { startMs, fold }
  }
  series.tips = { ...series.base }
  series.nextEndMs = nextBucketEnd(series)
  return series
}

/** Opens the series of a state that `changes` wrote; at most `maxIdle` idle ones stay in memory. */
export const createSeriesStore = (state: StageState, maxIdle: number): SeriesStore => {
  const inUse = new Map<string, Series>()
  const idle = new LRUCache<string, Series>({ max: maxIdle })
  const changed = new Map<string, string | null>()
  const stored = (key: string): Series | undefined => {
    const text = state.get(SERIES_PREFIX + key)
    if (text === undefined) return undefined
    const series = parseSeries(key, text)
    const isListed = state.get(bucketEndKey(series.nextEndMs, key)) !== undefined
    if (isListed) series.listedMs = series.nextEndMs
    return series
  }
  const at = (key: string, decimals = 0): Series => {
    const found = inUse.get(key)
    if (found !== undefined) return found
    const series = idle.get(key) ?? stored(key) ?? newSeries(key, decimals)
    idle.delete(key)
    inUse.set(key, series)
    return series
  }
  const list = (series: Series, endMs: number | undefined): void => {
    const { key, listedMs } = series
    if (listedMs === endMs) return
    if (listedMs !== undefined) changed.set(bucketEndKey(listedMs, key), null)
    if (endMs !== undefined) changed.set(bucketEndKey(endMs, key), '1')
    series.listedMs = endMs
  }
  return {
    at,
    inUse: { [Symbol.iterator]: () => inUse.values() },
    due: (timeMs) => {
      const found = [...inUse.values()].filter(({ nextEndMs }) => nextEndMs <= timeMs)
      for (const [entry] of state.entries(BUCKET_END_PREFIX)) {
        const timeAndKey = entry.slice(BUCKET_END_PREFIX.length)
        if (Number(timeAndKey.slice(0, TIME_DIGITS)) > timeMs) break
        const key = timeAndKey.slice(TIME_DIGITS + 1)
        if (!inUse.has(key)) found.push(at(key))
      }
      return found
    },
    saved: (series) => {
      series.nextEndMs = nextBucketEnd(series)
      // The blocks that are not final keep what is unfinalized: without a final bucket there is nothing to keep here.
      const isEmpty = series.nextEndMs === Number.POSITIVE_INFINITY
      changed.set(SERIES_PREFIX + series.key, isEmpty ? null : serializeSeries(series))
    },
    release: (series) => {
      const isIdle = series.unfinalizedBlocks === 0
      const finished = isFinished(series)
      list(series, isIdle && !finished ? series.nextEndMs : undefined)
      if (!isIdle) return
      inUse.delete(series.key)
      if (!finished) idle.set(series.key, series)
    },
    changes: () => {
      const entries = [...changed]
      changed.clear()
      return entries
    },
    get size() {
      return inUse.size + idle.size
    },
  }
}
