import type { Bus, GroupOffset, LogRecord } from '../../core/bus/contract.ts'

/** How far replays of one partition of a dead-letter topic have come. */
export interface ReplayPosition {
  readonly partition: number
  /** Dead letters before it were looked at. */
  readonly offset: number
  /** Of them those that could not be published, which the next replay tries again; ascending. */
  readonly notReplayed: readonly number[]
}

/** Longest text beside a committed offset; a broker takes 4,096 bytes by default (`offset.metadata.max.bytes`). */
const MAX_METADATA_LENGTH = 3_500

/** Consumer group that keeps the positions. */
export const replayGroup = (topic: string): string => `replay.${topic}`

/** Replay positions of a dead-letter topic, by partition. */
export const replayPositions = async (
  bus: Bus,
  topic: string,
): Promise<ReadonlyMap<number, ReplayPosition>> => {
  const committed = await bus.offsets(replayGroup(topic), [topic])
  return new Map(
    committed.map(({ partition, offset, metadata = '' }) => {
      const notReplayed = (metadata.match(/\d{1,15}/g) ?? []).map(Number)
      return [partition, { partition, offset, notReplayed }]
    }),
  )
}

/** A position as it is committed. Of more dead letters than its text can name the oldest are not tried again. */
export const committedPosition = (
  topic: string,
  { partition, offset, notReplayed }: ReplayPosition,
): GroupOffset => {
  let metadata = ''
  for (const each of notReplayed.toSorted((a, b) => b - a)) {
    const longer = `${each} ${metadata}`
    if (longer.length > MAX_METADATA_LENGTH) break
    metadata = longer
  }
  return { topic, partition, offset, metadata: metadata.trimEnd() }
}

/** True for a dead letter that a replay has published. */
export const wasPublished = (
  positions: ReadonlyMap<number, ReplayPosition>,
  { partition, offset }: Pick<LogRecord, 'partition' | 'offset'>,
): boolean => {
  const position = positions.get(partition)
  return (
    position !== undefined && offset < position.offset && !position.notReplayed.includes(offset)
  )
}

/** The positions after a replay looked at more dead letters, with those that it could not publish. */
export const positionsAfter = (
  positions: ReadonlyMap<number, ReplayPosition>,
  inspected: readonly { readonly record: LogRecord; readonly stays: boolean }[],
): ReadonlyMap<number, ReplayPosition> => {
  const next = new Map(positions)
  for (const { record, stays } of inspected) {
    const { partition, offset } = record
    const before = next.get(partition) ?? { partition, offset: 0, notReplayed: [] }
    const others = before.notReplayed.filter((each) => each !== offset)
    next.set(partition, {
      partition,
      offset: Math.max(before.offset, offset + 1),
      notReplayed: stays ? [...others, offset] : others,
    })
  }
  return next
}
