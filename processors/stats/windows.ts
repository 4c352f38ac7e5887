/** Buckets of every window: the newest lies at the time for which the window is asked, the window before it holds as many. */
export const BUCKETS_PER_WINDOW = 60

interface Window {
  /** Seconds of block time of one of its buckets. */
  readonly bucketSeconds: number
  /** Seconds of block time in which a window is published again that changed without a trade: its buckets, but no fewer than five. */
  readonly noticeSeconds: number
  /** Seconds to which buckets may be merged that only this window and longer ones still look at. */
  readonly mergedSeconds: number
}

/** Windows of token statistics, shortest first. 4h and 6h have no common grid but their common divisor. */
export const WINDOWS = {
  '1m': { bucketSeconds: 1, noticeSeconds: 5, mergedSeconds: 1 },
  '5m': { bucketSeconds: 5, noticeSeconds: 5, mergedSeconds: 5 },
  '15m': { bucketSeconds: 15, noticeSeconds: 15, mergedSeconds: 15 },
  '30m': { bucketSeconds: 30, noticeSeconds: 30, mergedSeconds: 30 },
  '1h': { bucketSeconds: 60, noticeSeconds: 60, mergedSeconds: 60 },
  '4h': { bucketSeconds: 240, noticeSeconds: 240, mergedSeconds: 120 },
  '6h': { bucketSeconds: 360, noticeSeconds: 360, mergedSeconds: 120 },
  '24h': { bucketSeconds: 1_440, noticeSeconds: 1_440, mergedSeconds: 1_440 },
} as const satisfies Readonly<Record<string, Window>>
export type WindowName = keyof typeof WINDOWS
/** All eight, shortest first. */
export const WINDOW_NAMES = Object.keys(WINDOWS) as readonly WindowName[]

/** Every this many seconds of block time windows are published again that changed without a trade. */
export const NOTICE_SECONDS = WINDOWS['1m'].noticeSeconds

/** Seconds by which a window may be asked for a time before the newest final block. */
const NOTICE_SLACK_SECONDS = NOTICE_SECONDS

/** Where a window begins that holds a second in its newest bucket, and where the window before it begins. */
export interface WindowStart {
  readonly start: number
  readonly previousStart: number
}

/** Number of the bucket of a window in which a second lies. */
export const bucketAt = (name: WindowName, second: number): number =>
  Math.floor(second / WINDOWS[name].bucketSeconds)

/** First second of the window that ends with the bucket of a second, and of the window before it. */
export const windowStart = (name: WindowName, second: number): WindowStart => {
  const { bucketSeconds } = WINDOWS[name]
  const end = bucketAt(name, second) + 1
  return {
    start: (end - BUCKETS_PER_WINDOW) * bucketSeconds,
    previousStart: (end - 2 * BUCKETS_PER_WINDOW) * bucketSeconds,
  }
}

/** Seconds that no window looks at any more when the newest final block is at `finalSecond` lie before this one. */
export const oldestSecond = (finalSecond: number): number =>
  windowStart('24h', finalSecond - NOTICE_SLACK_SECONDS).previousStart

/** A number that merged buckets share: those of the same number may become one once `finalSecond` is final. Numbers rise with time. */
export const mergeRule = (finalSecond: number): ((second: number) => string) => {
  const ages = WINDOW_NAMES.map((name) => ({
    from: windowStart(name, finalSecond - NOTICE_SLACK_SECONDS).previousStart,
    seconds: WINDOWS[name].mergedSeconds,
  }))
  return (second) => {
    const seconds = ages.find(({ from }) => second >= from)?.seconds ?? 1
    return `${seconds}/${Math.floor(second / seconds)}`
  }
}

/** Buckets of a window for which `PastCounts` must answer while `second` is the newest final one lie behind this one. */
export const oldestPastBucket = (name: WindowName, second: number): number =>
  bucketAt(name, second - NOTICE_SLACK_SECONDS) - BUCKETS_PER_WINDOW

/** Something at a second. Lists of them are in order of time. */
export interface Placed {
  readonly second: number
}

/** Index of the first entry at this second or later. */
export const firstIndexFrom = (entries: readonly Placed[], second: number): number => {
  let [low, high] = [0, entries.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((entries[middle]?.second ?? 0) >= second) high = middle
    else low = middle + 1
  }
  return low
}

/** A bucket leaves a window, and later the one before it. */
const departuresOf = (name: WindowName) =>
  [BUCKETS_PER_WINDOW, 2 * BUCKETS_PER_WINDOW].map((buckets) => ({ ...WINDOWS[name], buckets }))
type Departure = ReturnType<typeof departuresOf>[number]
const DEPARTURES: Readonly<Record<WindowName, readonly Departure[]>> = {
  '1m': departuresOf('1m'),
  '5m': departuresOf('5m'),
  '15m': departuresOf('15m'),
  '30m': departuresOf('30m'),
  '1h': departuresOf('1h'),
  '4h': departuresOf('4h'),
  '6h': departuresOf('6h'),
  '24h': departuresOf('24h'),
}
const ALL_DEPARTURES = Object.values(DEPARTURES).flat()

/** When it is published that an entry left. */
const noticeOf = (second: number, { bucketSeconds, noticeSeconds, buckets }: Departure): number => {
  const left = (Math.floor(second / bucketSeconds) + buckets) * bucketSeconds
  return Math.ceil(left / noticeSeconds) * noticeSeconds
}

/** Index of the first entry whose leaving is published after `second`. */
const firstToLeaveAfter = (
  entries: readonly Placed[],
  { bucketSeconds, noticeSeconds, buckets }: Departure,
  second: number,
): number => {
  const lastNotice = Math.floor(second / noticeSeconds) * noticeSeconds
  return firstIndexFrom(entries, lastNotice - (buckets - 1) * bucketSeconds)
}

const nextOf = (
  entries: readonly Placed[],
  departures: readonly Departure[],
  after: number,
): number => {
  let next = Number.POSITIVE_INFINITY
  for (const departure of departures) {
    const entry = entries[firstToLeaveAfter(entries, departure, after)]
    if (entry !== undefined) next = Math.min(next, noticeOf(entry.second, departure))
  }
  return next
}

/** The first second after this one at which a window, or the one before it, has changed without a trade; infinite = none will. */
export const nextChangeOf = (name: WindowName, entries: readonly Placed[], after: number): number =>
  nextOf(entries, DEPARTURES[name], after)

/** The same of all windows. */
export const nextWindowChange = (entries: readonly Placed[], after: number): number =>
  nextOf(entries, ALL_DEPARTURES, after)

/** When it was published that an entry left the last window that looked at it, the one before that of a day. */
export const lastDeparture = (second: number): number =>
  Math.max(...DEPARTURES['24h'].map((departure) => noticeOf(second, departure)))

/** The newest second up to this one at which a window has changed, by a trade or without; below all = never. */
export const lastWindowChange = (entries: readonly Placed[], upTo: number): number => {
  let last = entries.at(-1)?.second ?? Number.NEGATIVE_INFINITY
  for (const departure of ALL_DEPARTURES) {
    const entry = entries[firstToLeaveAfter(entries, departure, upTo) - 1]
    if (entry !== undefined) last = Math.max(last, noticeOf(entry.second, departure))
  }
  return last
}
