import type { DistinctCounter } from './distinct-counter.ts'
import { createSecondCounts } from './second-counts.ts'
import { firstIndexFrom, type Placed } from './windows.ts'

/**
 * Distinct names of one kind that unfinalized blocks add to those of final ones. Each is kept with the second in which it was seen
 * before, in a final block or not: a span holds a new name where the second lies inside and the one before it does not. What is
 * kept is one entry for each name of each block.
 */
export interface UnfinalizedNames {
  /** Names of the next block, which is at this second; `final` counts those of all blocks before the unfinalized ones. */
  push(names: readonly string[], second: number, final: DistinctCounter): void
  /** The newest block was taken back. */
  pop(): void
  /** The oldest block is final. */
  shift(): void
  /** Names seen at `from` or later, but for those that final blocks hold then or later. */
  since(from: number): number
  /** Of them those seen before `to`. */
  between(from: number, to: number): number
}

interface Sighting extends Placed {
  readonly name: string
  /** When the name was seen before; undefined = in no block that a window still looks at. */
  readonly before: number | undefined
}

/** A name that is in unfinalized blocks. */
interface SeenName {
  last: number
  /** Blocks that hold it. */
  blocks: number
}

/** No block yet. */
export const createUnfinalizedNames = (): UnfinalizedNames => {
  const sightings: Sighting[] = []
  /** Names of each block. */
  const sizes: number[] = []
  const seen = new Map<string, SeenName>()
  // One more where a name was seen, one less where it was seen before: each name counts where it was seen last.
  const counts = createSecondCounts()
  const release = ({ name, second, before }: Sighting): SeenName | undefined => {
    counts.move(second, before)
    const one = seen.get(name)
    if (one === undefined) return undefined
    one.blocks -= 1
    if (one.blocks === 0) seen.delete(name)
    return one
  }
  return {
    push: (names, second, final) => {
      sizes.push(names.length)
      for (const name of names) {
        const known = seen.get(name)
        const before = known?.last ?? final.last(name)
        sightings.push({ name, second, before })
        counts.move(before, second)
        if (known === undefined) seen.set(name, { last: second, blocks: 1 })
        else {
          known.last = second
          known.blocks += 1
        }
      }
    },
    pop: () => {
      const first = sightings.length - (sizes.pop() ?? 0)
      for (const sighting of sightings.splice(first)) {
        const one = release(sighting)
        // Left in a block before, it was seen there.
        if (one !== undefined) one.last = sighting.before ?? one.last
      }
    },
    shift: () => {
      for (const sighting of sightings.splice(0, sizes.shift() ?? 0)) release(sighting)
    },
    since: counts.since,
    between: (from, to) => {
      let names = 0
      for (let at = firstIndexFrom(sightings, from); at < sightings.length; at += 1) {
        const sighting = sightings[at]
        if (sighting === undefined || sighting.second >= to) break
        if (sighting.before === undefined || sighting.before < from) names += 1
      }
      return names
    },
  }
}
