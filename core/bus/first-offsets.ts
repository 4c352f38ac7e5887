import type { GroupOffset, Subscription, Writer } from './contract.ts'

/** A lane as it opens: its writer has fenced every other, and these are the offsets that its group has committed for it. */
interface OpeningLane {
  readonly partition: number
  readonly writer: Pick<Writer, 'commit'>
  readonly committed: readonly GroupOffset[]
}

/**
 * Commits offset 0 for topics of a group that needs the whole log and for which the lane has no committed offset. From then on retention
 * cannot pass what the lane has not read without being noticed, also before its first record is done. Returns all committed offsets.
 */
export const commitFirstOffsets = async (
  { group, topics, needsWholeLog = false }: Subscription,
  { partition, writer, committed }: OpeningLane,
): Promise<readonly GroupOffset[]> => {
  if (!needsWholeLog) return committed
  const known = new Set(committed.map(({ topic }) => topic))
  const next = topics
    .filter((topic) => !known.has(topic))
    .map((topic) => ({ topic, partition, offset: 0 }))
  if (next.length === 0) return committed
  await writer.commit({ offsets: { group, next } })
  return [...committed, ...next]
}
