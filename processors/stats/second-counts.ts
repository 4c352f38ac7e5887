/**
 * A number of things, each at a second. Exact, and what a count costs does not depend on how many things there are, nor on how
 * many seconds they are at.
 */
export interface SecondCounts {
  /** One more at `to`, and one less at `from`; undefined = nowhere. */
  move(from: number | undefined, to: number | undefined): void
  /** Things at `from` or later. */
  since(from: number): number
  /** Nothing is left before this second. */
  startAt(second: number): void
}

/** Seconds of the blocks that are counted together. Each divides the one before it, and windows begin at multiples of one. */
const BLOCK_SECONDS = [1_440, 120, 30, 5, 1] as const

const add = (counts: Map<number, number>, block: number, by: number): void => {
  const count = (counts.get(block) ?? 0) + by
  if (count === 0) counts.delete(block)
  else counts.set(block, count)
}

/** Nothing is counted yet. */
export const createSecondCounts = (): SecondCounts => {
  const levels = BLOCK_SECONDS.map((seconds) => ({ seconds, counts: new Map<number, number>() }))
  let [oldest, newest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  return {
    move: (from, to) => {
      for (const { seconds, counts } of levels) {
        const before = from === undefined ? undefined : Math.floor(from / seconds)
        const after = to === undefined ? undefined : Math.floor(to / seconds)
        if (before === after) continue
        if (before !== undefined) add(counts, before, -1)
        if (after !== undefined) add(counts, after, 1)
      }
      oldest = Math.min(oldest, from ?? oldest, to ?? oldest)
      newest = Math.max(newest, from ?? newest, to ?? newest)
    },
    since: (from) => {
      let sum = 0
      let at = Math.max(from, oldest)
      while (at <= newest) {
        const level = levels.find(({ seconds }) => at % seconds === 0)
        if (level === undefined) break
        sum += level.counts.get(at / level.seconds) ?? 0
        at += level.seconds
      }
      return sum
    },
    startAt: (second) => {
      oldest = Math.max(oldest, second)
    },
  }
}
