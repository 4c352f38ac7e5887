import { setImmediate as turn } from 'node:timers/promises'
import type { Retention } from '../contract.ts'
import type { BatchHead } from './batches.ts'
import { inTransaction } from './lmdb.ts'
import type { EmbeddedLog, EmbeddedTopic } from './log.ts'
import { logBytes, SHARES } from './log-size.ts'

/**
 * Newest records of a topic without an age limit that no sweep deletes: an ingestor recovers from those of `{c}.blocks`
 * above the newest final height, at most 1,024 blocks with their retractions.
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

/** Oldest first, some batches at a time. */
const removeUntil = async (
  log: EmbeddedLog,
  { signal }: ShrinkPlan,
  { bytes, beforeMs, floors }: Goal,
): Promise<void> => {
  const toOf = (at: PartitionAt): number =>
    Math.min(floors?.(at) ?? Number.POSITIVE_INFINITY, endOf(at))
  const removal = { from: 0, untilMs: beforeMs, toOf }
  await removeBatches(log, removal, () => signal.aborted || logBytes(log) <= bytes)
}

const endOf = ({ topic, partition }: PartitionAt): number => {
  const next = topic.next[partition] ?? 0
  return topic.spec.retentionMs === null ? Math.max(0, next - NEWEST_RECORDS) : next
}

/** What goes of the batches. */
export interface Removal {
  /** Number of the first batch to look at. */
  readonly from: number
  /** Ends at the first batch of this log time; epoch milliseconds. */
  readonly untilMs: number
  /** First offset that stays, by partition. */
  readonly toOf: (at: PartitionAt) => number
}

/** Batches of one transaction, and heads that are looked at without giving others a turn. */
const STEP_BATCHES = 64
/** Stored bytes of one transaction that are unpacked and written anew without what may go: some ten milliseconds. */
const STEP_REWRITTEN_BYTES = 524_288
const STEP_HEADS = 1_000

/**
 * Removes from the batches, in their order, what may go: whole batches, and of a batch that somebody has not read to its end
 * the rest. Ends when `isEnough` says so, which is asked before each transaction.
 */
export const removeBatches = async (
  log: EmbeddedLog,
  { from, untilMs, toOf }: Removal,
  isEnough: () => boolean,
): Promise<void> => {
  const topics = new Map([...log.topics.values()].map((topic) => [topic.id, topic]))
  let next = from
  while (!isEnough()) {
    const step = makeStep(topics)
    let looked = 0
    let isOver = true
    for (const head of log.batches.heads(next)) {
      if (head.timestampMs >= untilMs) break
      if (
        looked >= STEP_HEADS ||
        step.batches.length >= STEP_BATCHES ||
        step.rewrittenBytes() >= STEP_REWRITTEN_BYTES
      ) {
        isOver = false
        break
      }
      looked += 1
      next = head.batch + 1
      step.take(head, toOf)
    }
    step.remove(log)
    if (isOver) return
    await turn()
  }
}

/** What one transaction removes. */
const makeStep = (topics: ReadonlyMap<number, EmbeddedTopic>) => {
  const batches: number[] = []
  let rewrittenBytes = 0
  const lows = new Map<string, PartitionAt & { low: number }>()
  const of = (topicId: number, partition: number): number =>
    lows.get(`${topicId}/${partition}`)?.low ?? topics.get(topicId)?.low[partition] ?? 0
  return {
    batches,
    rewrittenBytes: () => rewrittenBytes,
    /** Notes the spans of a batch that may go. */
    take: ({ batch, bytes, spans }: BatchHead, toOf: Removal['toOf']): void => {
      let trimmed = 0
      for (const { topicId, partition, base, count } of spans) {
        const topic = topics.get(topicId)
        const low = base + count
        if (topic === undefined || low > toOf({ topic, partition })) continue
        trimmed += 1
        lows.set(`${topicId}/${partition}`, { topic, partition, low })
      }
      if (trimmed === 0) return
      batches.push(batch)
      if (trimmed < spans.length) rewrittenBytes += bytes
    },
    remove: (log: EmbeddedLog): void => {
      if (batches.length === 0) return
      const changed = [...lows.values()]
      const done = inTransaction(log.root, () => {
        for (const { topic, partition, low } of changed) {
          log.meta.putSync(['low', topic.id, partition], low)
        }
        const at = changed.map(({ topic, partition }) => ({ topicId: topic.id, partition }))
        return log.batches.trim(batches, { changed: at, of })
      })
      done()
      for (const { topic, partition, low } of changed) topic.low[partition] = low
    },
  }
}

/** Deletes records in one transaction, with what is written beside. */
export const removeAll = (log: EmbeddedLog, keys: readonly Buffer[], beside?: () => void): void => {
  if (keys.length === 0) return
  inTransaction(log.root, () => {
    for (const key of keys) log.records.removeSync(key)
    beside?.()
  })
  log.recent.clear()
}
