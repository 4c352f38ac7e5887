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

/** Seconds of the blocks whose names are counted together. Each divides the one before it, and windows begin at multiples of one. */
const BLOCK_SECONDS = [1_440, 120, 30, 5, 1] as const

/** An empty counter. */
export const createDistinctCounter = (): DistinctCounter => {
  const lastOf = new Map<string, number>()
  const counts = BLOCK_SECONDS.map((seconds) => ({ seconds, ofBlock: new Map<number, number>() }))
  let [oldest, newest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  let pruned = Number.NEGATIVE_INFINITY
  const count = (second: number, by: number): void => {
    for (const { seconds, ofBlock } of counts) {
      const block = Math.floor(second / seconds)
      const names = (ofBlock.get(block) ?? 0) + by
      if (names === 0) ofBlock.delete(block)
      else ofBlock.set(block, names)
    }
  }
  return {
    last: (name) => lastOf.get(name),
    note: (name, second) => {
      const before = lastOf.get(name)
      if (before !== undefined && before >= second) return
      if (before !== undefined) count(before, -1)
      count(second, 1)
      lastOf.set(name, second)
      oldest = Math.min(oldest, second)
      newest = Math.max(newest, second)
    },
    since: (from) => {
      let names = 0
      let at = Math.max(from, oldest)
      while (at <= newest) {
        const level = counts.find(({ seconds }) => at % seconds === 0)
        if (level === undefined) break
        names += level.ofBlock.get(at / level.seconds) ?? 0
        at += level.seconds
      }
      return names
    },
    prune: (second) => {
      // A window of a day moves once in 24 minutes: names are gone through no more often.
      if (second <= pruned) return
      pruned = second
      if (oldest >= second) return
      for (const [name, last] of lastOf) {
        if (last >= second) continue
        lastOf.delete(name)
        count(last, -1)
      }
      oldest = second
    },
    get size() {
      return lastOf.size
    },
  }
}
