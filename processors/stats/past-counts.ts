import type { SeenKind } from './distinct-counter.ts'
import { SEEN_KINDS } from './distinct-counter.ts'
import {
  BUCKETS_PER_WINDOW,
  bucketAt,
  firstIndexFrom,
  oldestPastBucket,
  type Placed,
  WINDOW_NAMES,
  WINDOWS,
  type WindowName,
} from './windows.ts'

/** Distinct names of one window. */
export type NameCounts = Readonly<Record<SeenKind, number>>

/** No name of any kind. */
const NO_NAMES: NameCounts = { buyers: 0, sellers: 0, pools: 0, programs: 0 }

interface Entry {
  readonly bucket: number
  readonly counts: NameCounts
}

/**
 * What windows counted when each of their latest buckets was over: the window before the one of now is the window of 60 buckets
 * ago. Names are known by when they were last seen only, so this must be written down before they are seen again.
 */
export interface PastCounts {
  /** The window whose newest bucket is this; it lies before the newest trade. */
  at(name: WindowName, bucket: number): NameCounts
  /**
   * Called before a trade at `second` is counted, the first after those of `cells`. `since` counts the names from a second on. What
   * is asked for while `final`, or a later second, is the newest final one stays.
   */
  close(
    cells: readonly Placed[],
    second: number,
    final: number,
    since: (from: number) => NameCounts,
  ): void
}

const isSame = (one: NameCounts, other: NameCounts): boolean =>
  SEEN_KINDS.every((kind) => one[kind] === other[kind])

/** Nothing was counted yet. */
export const createPastCounts = (): PastCounts => {
  /** Per window where its counts changed, in order. */
  const entriesOf: Record<string, Entry[]> = {}
  const listOf = (name: WindowName): Entry[] => {
    const entries = entriesOf[name] ?? []
    entriesOf[name] = entries
    return entries
  }
  const countsAt = (entries: readonly Entry[], bucket: number): NameCounts =>
    entries.findLast((entry) => entry.bucket <= bucket)?.counts ?? NO_NAMES
  return {
    at: (name, bucket) => countsAt(entriesOf[name] ?? [], bucket),
    close: (cells, second, final, since) => {
      const newest = cells.at(-1)?.second
      for (const name of WINDOW_NAMES) {
        const entries = listOf(name)
        const oldest = oldestPastBucket(name, Math.max(second, final))
        const last = newest === undefined ? Number.NEGATIVE_INFINITY : bucketAt(name, newest)
        // From 60 buckets after the last trade on the window is empty, and stays so.
        const empty = last + BUCKETS_PER_WINDOW
        if (empty < oldest) entries.length = 0
        const end = Math.min(bucketAt(name, second) - 1, empty)
        let bucket = Math.max(last, oldest)
        while (bucket <= end) {
          const { bucketSeconds } = WINDOWS[name]
          const from = (bucket - BUCKETS_PER_WINDOW + 1) * bucketSeconds
          const counts = since(from)
          if (!isSame(counts, entries.at(-1)?.counts ?? NO_NAMES)) entries.push({ bucket, counts })
          // Nothing changes before the oldest that is inside has left.
          const inside = cells[firstIndexFrom(cells, from)]
          if (inside === undefined) break
          bucket = Math.max(bucket + 1, bucketAt(name, inside.second) + BUCKETS_PER_WINDOW)
        }
        while ((entries[1]?.bucket ?? Number.POSITIVE_INFINITY) <= oldest) entries.shift()
      }
    },
  }
}
