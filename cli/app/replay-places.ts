import type { Bus, GroupOffset, LogRecord } from '../../core/bus/contract.ts'

/** How far replays of one partition of a dead-letter topic have come. */
export interface ReplayPlace {
  readonly partition: number
  /** Letters before were looked at. */
  readonly offset: number
  /** Of them those that could not be published, which the next replay tries again; ascending. */
  readonly stayed: readonly number[]
}

/** Longest text beside a committed place; a broker takes 4,096 bytes by default (`offset.metadata.max.bytes`). */
const MAX_METADATA_LENGTH = 3_500

/** Consumer group that keeps the places. */
export const replayGroup = (topic: string): string => `replay.${topic}`

/** Places of a dead-letter topic, by partition. */
export const replayPlaces = async (
  bus: Bus,
  topic: string,
): Promise<ReadonlyMap<number, ReplayPlace>> => {
  const committed = await bus.offsets(replayGroup(topic), [topic])
  return new Map(
    committed.map(({ partition, offset, metadata = '' }) => {
      const stayed = (metadata.match(/\d{1,15}/g) ?? []).map(Number)
      return [partition, { partition, offset, stayed }]
    }),
  )
}

/** A place as it is committed. Of more letters than its text can name the oldest are tried no more. */
export const committedPlace = (
  topic: string,
  { partition, offset, stayed }: ReplayPlace,
): GroupOffset => {
  let metadata = ''
  for (const each of stayed.toSorted((a, b) => b - a)) {
    const longer = `${each} ${metadata}`
    if (longer.length > MAX_METADATA_LENGTH) break
    metadata = longer
  }
  return { topic, partition, offset, metadata: metadata.trimEnd() }
}

/** True for a letter that a replay has published. */
export const wasPublished = (
  places: ReadonlyMap<number, ReplayPlace>,
  { partition, offset }: Pick<LogRecord, 'partition' | 'offset'>,
): boolean => {
  const place = places.get(partition)
  return place !== undefined && offset < place.offset && !place.stayed.includes(offset)
}

/** The places after letters were looked at, with those that stayed. */
export const placesAfter = (
  places: ReadonlyMap<number, ReplayPlace>,
  looked: readonly { readonly record: LogRecord; readonly stays: boolean }[],
): ReadonlyMap<number, ReplayPlace> => {
  const next = new Map(places)
  for (const { record, stays } of looked) {
    const { partition, offset } = record
    const before = next.get(partition) ?? { partition, offset: 0, stayed: [] }
    const others = before.stayed.filter((each) => each !== offset)
    next.set(partition, {
      partition,
      offset: Math.max(before.offset, offset + 1),
      stayed: stays ? [...others, offset] : others,
    })
  }
  return next
}
