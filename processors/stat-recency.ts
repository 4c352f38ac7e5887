/** What is counted once per window. */
export const KINDS = ['buyers', 'sellers', 'traders', 'pools', 'programs'] as const
export type Kind = (typeof KINDS)[number]

/** Who of a kind was seen, and in which minute last. */
export type Seen = ReadonlyMap<string, number>

/**
 * Distinct names per window by the minute in which each was last seen: every window ends now, so a name is inside exactly when
 * its last minute is. Exact, and a count costs as much as there are minutes.
 */
export interface Recency {
  last(name: string): number | undefined
  /** True when the name was not seen in this minute or a later one before. */
  note(name: string, minute: number): boolean
  /** Names whose last minute is `from` or later. */
  since(from: number): number
  /** Forgets names that were last seen before `minute`; returns them. */
  prune(minute: number): readonly string[]
  readonly size: number
}

/** An empty recency. */
export const makeRecency = (): Recency => {
  const lastOf = new Map<string, number>()
  const perMinute = new Map<number, number>()
  const add = (minute: number, by: number): void => {
    const count = (perMinute.get(minute) ?? 0) + by
    if (count === 0) perMinute.delete(minute)
    else perMinute.set(minute, count)
  }
  return {
    last: (name) => lastOf.get(name),
    note: (name, minute) => {
      const before = lastOf.get(name)
      if (before !== undefined) {
        if (before >= minute) return false
        add(before, -1)
      }
      lastOf.set(name, minute)
      add(minute, 1)
      return true
    },
    since: (from) => {
      let count = 0
      for (const [minute, names] of perMinute) if (minute >= from) count += names
      return count
    },
    prune: (minute) => {
      if (![...perMinute.keys()].some((each) => each < minute)) return []
      const gone = [...lastOf].flatMap(([name, last]) => (last < minute ? [name] : []))
      for (const name of gone) lastOf.delete(name)
      for (const each of [...perMinute.keys()]) if (each < minute) perMinute.delete(each)
      return gone
    },
    get size() {
      return lastOf.size
    },
  }
}

/** Distinct names of a window over what is final and, on top, what unfinalized blocks saw. */
export const distinctSince = (final: Recency, hot: Seen, from: number): number => {
  let count = final.since(from)
  for (const [name, minute] of hot) {
    if (minute >= from && (final.last(name) ?? Number.NEGATIVE_INFINITY) < from) count += 1
  }
  return count
}
