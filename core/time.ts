/** Resolutions and buckets of candles. Times are epoch milliseconds, UTC. */

const SECOND_MS = 1_000
export const MINUTE_MS = 60 * SECOND_MS
/** An hour in milliseconds. */
export const HOUR_MS = 60 * MINUTE_MS
/** A day of 24 hours in milliseconds. */
export const DAY_MS = 24 * HOUR_MS

/** Bucket sizes; `1w` starts on Monday and `1M` on the first, so those two have no fixed grid from the epoch. */
export const RESOLUTIONS = {
  '1s': SECOND_MS,
  '15s': 15 * SECOND_MS,
  '30s': 30 * SECOND_MS,
  '1m': MINUTE_MS,
  '3m': 3 * MINUTE_MS,
  '5m': 5 * MINUTE_MS,
  '15m': 15 * MINUTE_MS,
  '30m': 30 * MINUTE_MS,
  '1h': HOUR_MS,
  '2h': 2 * HOUR_MS,
  '4h': 4 * HOUR_MS,
  '6h': 6 * HOUR_MS,
  '8h': 8 * HOUR_MS,
  '12h': 12 * HOUR_MS,
  '1d': DAY_MS,
  '3d': 3 * DAY_MS,
  '1w': 7 * DAY_MS,
  '1M': null,
} as const

export type Resolution = keyof typeof RESOLUTIONS

/** All 18, shortest first. */
export const RESOLUTION_NAMES = Object.keys(RESOLUTIONS) as readonly Resolution[]

/** True for one of the 18 names; case matters. */
export const isResolution = (text: string): text is Resolution => Object.hasOwn(RESOLUTIONS, text)

/** 1970-01-05 was the first Monday. */
const FIRST_MONDAY = 4 * DAY_MS

/** Start of the bucket that holds `timeMs`. */
export const bucketStart = (timeMs: number, resolution: Resolution): number => {
  if (resolution === '1M') {
    const date = new Date(timeMs)
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
  }
  const shift = resolution === '1w' ? FIRST_MONDAY : 0
  const size = RESOLUTIONS[resolution]
  return Math.floor((timeMs - shift) / size) * size + shift
}

/** First millisecond after the bucket that starts at `startMs`. */
export const bucketEnd = (startMs: number, resolution: Resolution): number => {
  if (resolution === '1M') {
    const date = new Date(startMs)
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
  }
  return startMs + RESOLUTIONS[resolution]
}

/** Milliseconds of a duration such as `250ms`, `90s`, `10m`, `1h30m`, `2d`; undefined when it is none. */
export const parseDuration = (text: string): number | undefined => {
  const units: Readonly<Record<string, number>> = {
    ms: 1,
    s: SECOND_MS,
    m: MINUTE_MS,
    h: HOUR_MS,
    d: DAY_MS,
  }
  if (!/^(\d+(ms|s|m|h|d))+$/.test(text)) return undefined
  let sum = 0
  for (const [, count = '', unit = ''] of text.matchAll(/(\d+)(ms|s|m|h|d)/g)) {
    sum += Number(count) * (units[unit] ?? 0)
  }
  return sum
}

/** A query time: below 10^11 it is seconds, else milliseconds. */
export const normalizeQueryTime = (value: number): number => (value < 1e11 ? value * 1_000 : value)

/** The same for a time that may be absent. */
export const optionalQueryTime = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : normalizeQueryTime(value)

/** ISO 8601 with milliseconds, UTC. */
export const toIsoTime = (ms: number): string => new Date(ms).toISOString()
