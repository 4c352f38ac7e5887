import { setImmediate as turn } from 'node:timers/promises'
import type { Retention } from './bus-contract.ts'
import { offsetIn, placeKey, type Span } from './bus-embedded-index.ts'
import type { EmbeddedLog, EmbeddedTopic } from './bus-embedded-log.ts'
import { logBytes, SHARES } from './bus-embedded-size.ts'

/** Work of one transaction, so that a sweep never holds the writer for long. */
export const STEP_RECORDS = 2_000
/** Records of one step of a sweep by size: small, so that the oldest go first across partitions. */
const SIZE_STEP_RECORDS = 500
/**
 * Newest records of a topic without an age limit that no sweep deletes: an ingestor recovers from those of `{c}.blocks`
 * above the newest final height (contract/kafka.md 3.2 I2), at most 1,024 blocks (3.9) with their retractions.
 */
const NEWEST_RECORDS = 20_000
/** A block that is not final may still have to be taken back by its records: younger ones go only when the log is nearly full. */
const YOUNG_MS = 3_600_000

/** One partition of the log. */
export interface PartitionAt {
  readonly topic: EmbeddedTopic
  readonly partition: number
}

/** Up to which offset every group with a place has read a partition; infinite where nobody has one. */
export type Floors = (at: PartitionAt) => number

/** What a sweep by size works with. */
interface ShrinkPlan {
  readonly nowMs: number
  readonly retention: Retention
  readonly limitBytes: number
  readonly signal: AbortSignal
}

/** Every partition of every topic. */
export const partitionsOf = (log: EmbeddedLog): readonly PartitionAt[] =>
  [...log.topics.values()].flatMap((topic) =>
    Array.from({ length: topic.spec.partitions }, (_, partition) => ({ topic, partition })),
  )

/** First offset that some group with a place has not read, from the committed places and those of broadcast topics. */
export const unreadFloors = ({ offsets, meta }: EmbeddedLog): Floors => {
  const floors = new Map<string, number>()
  const note = (topic: string, partition: number, offset: number): void => {
    const name = `${partition}/${topic}`
    floors.set(name, Math.min(floors.get(name) ?? offset, offset))
  }
  for (const { key, value } of offsets.getRange({})) note(key[1], key[2], value[0])
  for (const { key, value } of meta.getRange({ start: ['reads'], end: ['reads', '\uffff'] })) {
    note(String(key[2]), 0, Number(value))
  }
  return ({ topic, partition }) =>
    floors.get(`${partition}/${topic.spec.topic}`) ?? Number.POSITIVE_INFINITY
}

/**
 * Deletes the oldest records of topics that are cleaned by deletion, until the log is small enough: first those that every
 * group has read, and when that leaves it nearly full, or without `lacking` bytes of room, the others. The newest
 * values of compacted topics and lane state are never touched.
 */
export const shrinkLog = async (
  log: EmbeddedLog,
  plan: ShrinkPlan,
  lacking: number,
): Promise<void> => {
  const { limitBytes, retention, nowMs } = plan
  if (retention === 'off') return
  const room = limitBytes - lacking
  if (logBytes(log) <= Math.min(SHARES.sweep * limitBytes, room)) return
  const floors = unreadFloors(log)
  const soft = Math.min(SHARES.swept * limitBytes, room)
  await removeUntil(log, plan, { bytes: soft, beforeMs: nowMs - YOUNG_MS, floors })
  const bytes = Math.min(SHARES.hardSwept * limitBytes, room)
  const beforeMs = Number.POSITIVE_INFINITY
  for (const goal of [
    { bytes, beforeMs, floors },
    { bytes, beforeMs },
  ]) {
    if (logBytes(log) <= Math.min(SHARES.hard * limitBytes, room)) return
    await removeUntil(log, plan, goal)
  }
}

interface Goal {
  /** Ends at this size. */
  readonly bytes: number
  /** Younger records stay. */
  readonly beforeMs: number
  /** Absent: what nobody has read goes as well. */
  readonly floors?: Floors
}

interface Head extends PartitionAt {
  /** Records from here on stay. */
  readonly to: number
  /** Log time of the oldest record; infinite when none may go. */
  timeMs: number
}

/** Oldest first over all partitions, a step at a time. */
const removeUntil = async (
  log: EmbeddedLog,
  { signal }: ShrinkPlan,
  { bytes, beforeMs, floors }: Goal,
): Promise<void> => {
  const heads = partitionsOf(log)
    .filter(({ topic }) => topic.isBatched)
    .map((at): Head => {
      const to = Math.min(floors?.(at) ?? Number.POSITIVE_INFINITY, endOf(at))
      return { ...at, to, timeMs: oldestMs(log, at, to) }
    })
  while (!signal.aborted && logBytes(log) > bytes) {
    heads.sort((a, b) => a.timeMs - b.timeMs)
    const [oldest, second] = heads
    if (oldest === undefined || oldest.timeMs >= beforeMs) return
    // Up to the next partition's oldest record, and that time itself, so that every step gets on.
    const untilMs = Math.min(beforeMs, (second?.timeMs ?? beforeMs) + 1)
    removeOldest(log, oldest, { beforeMs: untilMs, to: oldest.to, most: SIZE_STEP_RECORDS })
    oldest.timeMs = oldestMs(log, oldest, oldest.to)
    await turn()
  }
}

const endOf = ({ topic, partition }: PartitionAt): number => {
  const next = topic.next[partition] ?? 0
  return topic.spec.retentionMs === null ? Math.max(0, next - NEWEST_RECORDS) : next
}

/** Log time of the oldest records, which go as a whole span or not at all. */
const oldestMs = (
  { batches }: EmbeddedLog,
  { topic, partition }: PartitionAt,
  to: number,
): number => {
  for (const { base, count, batch } of batches.spans(
    topic.id,
    partition,
    topic.low[partition] ?? 0,
  )) {
    if (base + count <= to) return batches.timeOf(batch)
    break
  }
  return Number.POSITIVE_INFINITY
}

/** Which of the oldest records of a partition go. */
interface Oldest {
  /** Log time in epoch milliseconds. */
  readonly beforeMs: number
  /** First offset that stays. */
  readonly to: number
  readonly most?: number
}

/** Deletes records from the beginning of a partition in one transaction; returns how many. */
export const removeOldest = (log: EmbeddedLog, at: PartitionAt, oldest: Oldest): number =>
  at.topic.isBatched ? removeSpans(log, at, oldest) : removeRecords(log, at, oldest)

const removeSpans = (
  log: EmbeddedLog,
  { topic, partition }: PartitionAt,
  { beforeMs, to, most = STEP_RECORDS }: Oldest,
): number => {
  const first = topic.low[partition] ?? 0
  const spans: Span[] = []
  let low = first
  for (const span of log.batches.spans(topic.id, partition, first)) {
    const end = span.base + span.count
    const isEnough = spans.length > 0 && end - first > most
    if (isEnough || end > to || log.batches.timeOf(span.batch) >= beforeMs) break
    spans.push(span)
    low = end
  }
  if (spans.length === 0) return 0
  const lows = new Map([...log.topics.values()].map((one) => [one.id, one.low]))
  const lowOf = (topicId: number, at: number): number =>
    topicId === topic.id && at === partition ? low : (lows.get(topicId)?.[at] ?? 0)
  const done = log.root.transactionSync(() => {
    log.meta.putSync(['low', topic.id, partition], low)
    return log.batches.remove(spans, { topicId: topic.id, partition }, lowOf)
  })
  done()
  topic.low[partition] = low
  return low - first
}

const removeRecords = (
  log: EmbeddedLog,
  { topic, partition }: PartitionAt,
  { beforeMs, to, most = STEP_RECORDS }: Oldest,
): number => {
  const keys: Buffer[] = []
  const end = Math.min(to, topic.next[partition] ?? 0)
  for (const { key, value } of log.records.getRange({
    start: placeKey(topic.id, partition, topic.low[partition] ?? 0),
    end: placeKey(topic.id, partition, end),
    limit: most,
  })) {
    if (value[0] >= beforeMs) break
    keys.push(key)
  }
  const last = keys.at(-1)
  if (last === undefined) return 0
  const low = offsetIn(last) + 1
  removeAll(log, keys, () => log.meta.putSync(['low', topic.id, partition], low))
  topic.low[partition] = low
  return keys.length
}

/** Deletes records in one transaction, with what is written beside. */
export const removeAll = (log: EmbeddedLog, keys: readonly Buffer[], beside?: () => void): void => {
  if (keys.length === 0) return
  log.root.transactionSync(() => {
    for (const key of keys) log.records.removeSync(key)
    beside?.()
  })
  log.recent.clear()
}
