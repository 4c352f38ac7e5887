import { LRUCache } from 'lru-cache'
import { RESOLUTION_NAMES, type Resolution } from '../../core/time.ts'
import type { Flushed, StageState } from '../runtime/stage.ts'
import { type Fold, foldOf, isSame, type StoredFold, storedFold } from './fold.ts'
import { isOver, newSeries, nextEnd, type Series } from './series.ts'

/** Final buckets of a series; resolutions whose buckets hold the same trades share a fold. */
interface StoredSeries {
  readonly decimals: number
  readonly folds: readonly StoredFold[]
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
  changes(): Flushed['changes']
  /** Series in memory. */
  readonly held: number
}

const SERIES = 's/'
/** `e/<end of the next bucket>/<series>` of every resting series, in the order of time. */
const ENDS = 'e/'
/** Digits of a time in a key, so that keys are in the order of time. */
const TIME_DIGITS = 15

const endsKey = (endMs: number, key: string): string =>
  `${ENDS}${String(endMs).padStart(TIME_DIGITS, '0')}/${key}`

const textOf = ({ decimals, base }: Series): string => {
  const folds: Fold[] = []
  const places: StoredSeries['base'][number][] = []
  for (const resolution of RESOLUTION_NAMES) {
    const bucket = base[resolution]
    if (bucket === undefined) continue
    const same = folds.findIndex((fold) => isSame(fold, bucket.fold))
    places.push([resolution, bucket.startMs, same === -1 ? folds.length : same])
    if (same === -1) folds.push(bucket.fold)
  }
  const stored: StoredSeries = { decimals, folds: folds.map(storedFold), base: places }
  return JSON.stringify(stored)
}

const seriesOf = (key: string, text: string): Series => {
  const { decimals, folds, base }: StoredSeries = JSON.parse(text)
  const series = newSeries(key, decimals)
  const known = folds.map(foldOf)
  for (const [resolution, startMs, index] of base) {
    const fold = known[index]
    if (fold !== undefined) series.base[resolution] = { startMs, fold }
  }
  series.tips = { ...series.base }
  series.nextEndMs = nextEnd(series)
  return series
}

/** Opens the series of a state that `changes` wrote; `kept` resting ones stay at hand. */
export const makeSeriesStore = (state: StageState, kept: number): SeriesStore => {
  const inUse = new Map<string, Series>()
  const resting = new LRUCache<string, Series>({ max: kept })
  const changed = new Map<string, string | null>()
  const stored = (key: string): Series | undefined => {
    const text = state.get(SERIES + key)
    if (text === undefined) return undefined
    const series = seriesOf(key, text)
    const isListed = state.get(endsKey(series.nextEndMs, key)) !== undefined
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
    if (listedMs !== undefined) changed.set(endsKey(listedMs, key), null)
    if (endMs !== undefined) changed.set(endsKey(endMs, key), '1')
    series.listedMs = endMs
  }
  return {
    at,
    inUse: { [Symbol.iterator]: () => inUse.values() },
    due: (timeMs) => {
      const found = [...inUse.values()].filter(({ nextEndMs }) => nextEndMs <= timeMs)
      for (const [entry] of state.entries(ENDS)) {
        const place = entry.slice(ENDS.length)
        if (Number(place.slice(0, TIME_DIGITS)) > timeMs) break
        const key = place.slice(TIME_DIGITS + 1)
        if (!inUse.has(key)) found.push(at(key))
      }
      return found
    },
    saved: (series) => {
      series.nextEndMs = nextEnd(series)
      // The blocks that are not final keep what is unfinalized: without a final bucket there is nothing to keep here.
      const isEmpty = series.nextEndMs === Number.POSITIVE_INFINITY
      changed.set(SERIES + series.key, isEmpty ? null : textOf(series))
    },
    release: (series) => {
      const rests = series.hotBlocks === 0
      const over = isOver(series)
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
