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
 * The series of a lane. Those with unfinalized trades are in use, in memory; the others rest in the lane's state, with as many
 * of them at hand as the store may keep. The state also lists the resting ones by the end of their next bucket.
 */
export interface SeriesStore {
  /** The series, in use from now on; a new one gets these decimals. */
  at(key: string, decimals?: number): Series
  readonly inUse: Iterable<Series>
  /** Series with a final bucket that ends by then, in use from now on. Reads what the last flush has committed. */
  due(timeMs: number): readonly Series[]
  /** The final buckets of the series are others than before. */
  saved(series: Series): void
  /** At the end of a flush: a series without unfinalized trades rests, one that is over is gone. */
  release(series: Series): void
  /** Changed state entries since the last call. */
  changes(): FlushResult['changes']
  /** Series in memory. */
  readonly held: number
}

const SERIES_PREFIX = 's/'
/** `e/<end of the next bucket>/<series>` of every resting series, in the order of time. */
const BUCKET_END_PREFIX = 'e/'
/** Digits of a time in a key, so that keys are in the order of time. */
const TIME_DIGITS = 15

const bucketEndKey = (endMs: number, key: string): string =>
  `${BUCKET_END_PREFIX}${String(endMs).padStart(TIME_DIGITS, '0')}/${key}`

const serializeSeries = ({ decimals, base }: Series): string => {
  const folds: Ohlcv[] = []
  const places: StoredSeries['base'][number][] = []
  for (const resolution of RESOLUTION_NAMES) {
    const bucket = base[resolution]
    if (bucket === undefined) continue
    const same = folds.findIndex((fold) => hasSameTrades(fold, bucket.fold))
    places.push([resolution, bucket.startMs, same === -1 ? folds.length : same])
    if (same === -1) folds.push(bucket.fold)
  }
  const stored: StoredSeries = { decimals, folds: folds.map(toStoredOhlcv), base: places }
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

/** Opens the series of a state that `changes` wrote; `kept` resting ones stay at hand. */
export const createSeriesStore = (state: StageState, kept: number): SeriesStore => {
  const inUse = new Map<string, Series>()
  const resting = new LRUCache<string, Series>({ max: kept })
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
    const series = resting.get(key) ?? stored(key) ?? newSeries(key, decimals)
    resting.delete(key)
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
        const place = entry.slice(BUCKET_END_PREFIX.length)
        if (Number(place.slice(0, TIME_DIGITS)) > timeMs) break
        const key = place.slice(TIME_DIGITS + 1)
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
      const rests = series.hotBlocks === 0
      const over = isFinished(series)
      list(series, rests && !over ? series.nextEndMs : undefined)
      if (!rests) return
      inUse.delete(series.key)
      if (!over) resting.set(series.key, series)
    },
    changes: () => {
      const entries = [...changed]
      changed.clear()
      return entries
    },
    get held() {
      return inUse.size + resting.size
    },
  }
}
