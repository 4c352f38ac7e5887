/** What is counted once per window. */
export const DISTINCT_KINDS = ['buyers', 'sellers', 'traders', 'pools', 'programs'] as const
export type DistinctKind = (typeof DISTINCT_KINDS)[number]

/** Who of a kind was seen, and in which minute last. */
export type LastSeenMinutes = ReadonlyMap<string, number>

/**
 * Distinct names per window by the minute in which each was last seen: every window ends now, so a name is inside exactly when
 * its last minute is. Exact, and what a count costs does not depend on how many minutes have names.
 */
export interface DistinctCounter {
  last(name: string): number | undefined
  /** True when the name was not seen in this minute or a later one before. */
  note(name: string, minute: number): boolean
  /** Names whose last minute is `from` or later. */
  since(from: number): number
  /** Forgets names that were last seen before `minute`; returns them. */
  prune(minute: number): readonly string[]
  readonly size: number
}

/** Minutes of the blocks whose names are counted together: a window of a day is a few blocks and some single minutes. */
const BLOCK_MINUTES = [256, 16, 1] as const

/** An empty recency. */
export const createDistinctCounter = (): DistinctCounter => {
  const lastOf = new Map<string, number>()
  const namesOf = new Map<number, Set<string>>()
  const counts = BLOCK_MINUTES.map((minutes) => ({ minutes, ofBlock: new Map<number, number>() }))
  let [oldest, newest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  const count = (minute: number, by: number): void => {
    for (const { minutes, ofBlock } of counts) {
      const block = Math.floor(minute / minutes)
      const names = (ofBlock.get(block) ?? 0) + by
      if (names === 0) ofBlock.delete(block)
      else ofBlock.set(block, names)
    }
  }
  const leave = (minute: number, name: string): void => {
    const names = namesOf.get(minute)
    names?.delete(name)
    if (names?.size === 0) namesOf.delete(minute)
    count(minute, -1)
  }
  const enter = (minute: number, name: string): void => {
    const names = namesOf.get(minute)
    if (names === undefined) namesOf.set(minute, new Set([name]))
    else names.add(name)
    count(minute, 1)
    oldest = Math.min(oldest, minute)
    newest = Math.max(newest, minute)
  }
  /** Minutes before this one that have names. */
  const minutesBefore = (minute: number): readonly number[] => {
    if (minute - oldest > namesOf.size) return [...namesOf.keys()].filter((each) => each < minute)
    const minutes: number[] = []
    for (let each = oldest; each < minute; each += 1) if (namesOf.has(each)) minutes.push(each)
    return minutes
  }
  return {
    last: (name) => lastOf.get(name),
    note: (name, minute) => {
      const before = lastOf.get(name)
      if (before !== undefined) {
        if (before >= minute) return false
        leave(before, name)
      }
      lastOf.set(name, minute)
      enter(minute, name)
      return true
    },
    since: (from) => {
      let names = 0
      let at = Math.max(from, oldest)
      while (at <= newest) {
        const level = counts.find(({ minutes }) => at % minutes === 0)
        if (level === undefined) break
        names += level.ofBlock.get(at / level.minutes) ?? 0
        at += level.minutes
      }
      return names
    },
    prune: (minute) => {
      const gone: string[] = []
      for (const each of minutesBefore(minute)) {
        const names = namesOf.get(each) ?? []
        for (const name of names) {
          lastOf.delete(name)
          gone.push(name)
        }
        count(each, -(namesOf.get(each)?.size ?? 0))
        namesOf.delete(each)
      }
      oldest = Math.max(oldest, minute)
      return gone
    },
    get size() {
      return lastOf.size
    },
  }
}

/** Distinct names of a window over what is final and, on top, what unfinalized blocks saw. */
export const countDistinctSince = (
  final: DistinctCounter,
  hot: LastSeenMinutes,
  from: number,
): number => {
  let count = final.since(from)
  for (const [name, minute] of hot) {
    if (minute >= from && (final.last(name) ?? Number.NEGATIVE_INFINITY) < from) count += 1
  }
  return count
}
