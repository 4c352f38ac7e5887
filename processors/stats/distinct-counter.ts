import { createSecondCounts } from './second-counts.ts'

/** What is counted once per window. */
export const DISTINCT_KINDS = ['buyers', 'sellers', 'traders', 'pools', 'programs'] as const
export type DistinctKind = (typeof DISTINCT_KINDS)[number]

/** Kinds of names that a block tells; who trades buys or sells, so traders follow from them. */
export const SEEN_KINDS = ['buyers', 'sellers', 'pools', 'programs'] as const
export type SeenKind = (typeof SEEN_KINDS)[number]

/**
 * Distinct names of windows by the second in which each was last seen: a window that ends now holds a name exactly when it holds
 * its last second. Exact, and what a count costs does not depend on how many names or seconds there are.
 */
export interface DistinctCounter {
  /** The second in which the name was last seen. */
  last(name: string): number | undefined
  /** Seconds come in order. */
  note(name: string, second: number): void
  /** Names whose last second is `from` or later. */
  since(from: number): number
  /** Forgets names that were last seen before this second. */
  prune(second: number): void
  readonly size: number
}

/** An empty counter. */
export const createDistinctCounter = (): DistinctCounter => {
  const lastOf = new Map<string, number>()
  const counts = createSecondCounts()
  let oldest = Number.POSITIVE_INFINITY
  let pruned = Number.NEGATIVE_INFINITY
  return {
    last: (name) => lastOf.get(name),
    note: (name, second) => {
      const before = lastOf.get(name)
      if (before !== undefined && before >= second) return
      counts.move(before, second)
      lastOf.set(name, second)
      oldest = Math.min(oldest, second)
    },
    since: counts.since,
    prune: (second) => {
      // A window of a day moves once in 24 minutes: names are gone through no more often.
      if (second <= pruned) return
      pruned = second
      if (oldest >= second) return
      for (const [name, last] of lastOf) {
        if (last >= second) continue
        lastOf.delete(name)
        counts.move(last, undefined)
      }
      oldest = second
      counts.startAt(second)
    },
    get size() {
      return lastOf.size
    },
  }
}
