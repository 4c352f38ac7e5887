import type { Commit, GroupOffset, Lane, Writer } from '../contract.ts'
import type { LaneBuffer } from './lane-buffer.ts'

/** A lane as its handler sees it, and what it has committed so far. */
interface GapSkippingDeps extends Pick<Lane, 'partition' | 'committed' | 'take' | 'writer'> {
  readonly group: string
  readonly buffer: Pick<LaneBuffer, 'emptyTo'>
}

/**
 * Commits positions past offsets that hold no record. A transaction's marker and what was aborted take offsets of the log: a position
 * right behind the last record would be outside it once retention has passed them, although nothing was missed.
 * Commits of the lane are moved on as they come, and a `take` that found nothing commits what was read since.
 */
export const skipOffsetGaps = (reading: GapSkippingDeps): Pick<Lane, 'take' | 'writer'> => {
  const { group, partition, buffer, writer } = reading
  const positions = new Map(reading.committed.map((position) => [position.topic, position]))
  const moved = (position: GroupOffset): GroupOffset => ({
    ...position,
    offset: buffer.emptyTo(position),
  })
  const commit = async (given: Commit): ReturnType<Writer['commit']> => {
    if (given.offsets?.group !== group) return writer.commit(given)
    const next = given.offsets.next.map(moved)
    const ranges = await writer.commit({ ...given, offsets: { group, next } })
    for (const position of next)
      if (position.partition === partition) positions.set(position.topic, position)
    return ranges
  }
  const commitSkipped = async (): Promise<void> => {
    const next = [...positions.values()].filter(
      (position) => moved(position).offset > position.offset,
    )
    if (next.length > 0) await commit({ offsets: { group, next } })
  }
  return {
    writer: { ...writer, commit },
    take: async (options) => {
      const taken = await reading.take(options)
      if (taken.length === 0) await commitSkipped()
      return taken
    },
  }
}
