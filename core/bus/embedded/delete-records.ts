import { setImmediate as turn } from 'node:timers/promises'
import { HOUR_MS } from '../../time.ts'
import type { RetentionPolicy } from '../contract.ts'
import type { BatchHeader } from './batch-store.ts'
import { runTransaction } from './lmdb.ts'
import type { EmbeddedLog, EmbeddedTopic } from './log.ts'
import { FILL_THRESHOLDS, logUsedBytes } from './log-size.ts'

/**
 * Newest records of a topic without an age limit that no sweep deletes: an ingestor recovers from those of `{c}.blocks`
 * above the newest final height, at most 1,024 blocks with their retractions.
 */
const MIN_KEPT_RECORDS = 20_000
/** A block that is not final may still have to be taken back by its records: younger ones go only when the log is nearly full. */
const PROTECTED_AGE_MS = HOUR_MS

/** One partition of the log. */
export interface LogPartition {
  readonly topic: EmbeddedTopic
  readonly partition: number
}

/** Up to which offset every group with a committed offset has read a partition; infinite where no group has one. */
export type FirstUnreadOffsets = (at: LogPartition) => number

/** What a sweep by size works with. */
interface ShrinkOptions {
  readonly nowMs: number
  readonly retention: RetentionPolicy
  readonly limitBytes: number
  readonly signal: AbortSignal
}

/** Every partition of every topic. */
export const allPartitions = (log: EmbeddedLog): readonly LogPartition[] =>
  [...log.topics.values()].flatMap((topic) =>
    Array.from({ length: topic.spec.partitions }, (_, partition) => ({ topic, partition })),
  )

/** First offset that some group with a committed offset has not read, from the committed offsets and those of broadcast topics. */
export const firstUnreadOffsets = ({ offsets, meta }: EmbeddedLog): FirstUnreadOffsets => {
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
  plan: ShrinkOptions,
  lacking: number,
): Promise<void> => {
  const { limitBytes, retention, nowMs } = plan
  if (retention === 'off') return
  const room = limitBytes - lacking
  if (logUsedBytes(log) <= Math.min(FILL_THRESHOLDS.sweep * limitBytes, room)) return
  const floors = firstUnreadOffsets(log)
  const soft = Math.min(FILL_THRESHOLDS.swept * limitBytes, room)
  await removeOldestUntil(log, plan, { bytes: soft, beforeMs: nowMs - PROTECTED_AGE_MS, floors })
  const bytes = Math.min(FILL_THRESHOLDS.hardSwept * limitBytes, room)
  const beforeMs = Number.POSITIVE_INFINITY
  for (const goal of [
    { bytes, beforeMs, floors },
    { bytes, beforeMs },
  ]) {
    if (logUsedBytes(log) <= Math.min(FILL_THRESHOLDS.hard * limitBytes, room)) return
    await removeOldestUntil(log, plan, goal)
  }
}

interface RemovalTarget {
  /** Ends at this size. */
  readonly bytes: number
  /** Younger records stay. */
  readonly beforeMs: number
  /** Absent: unread records are deleted as well. */
  readonly floors?: FirstUnreadOffsets
}

/** Oldest first, some batches at a time. */
const removeOldestUntil = async (
  log: EmbeddedLog,
  { signal }: ShrinkOptions,
  { bytes, beforeMs, floors }: RemovalTarget,
): Promise<void> => {
  const toOf = (at: LogPartition): number =>
    Math.min(floors?.(at) ?? Number.POSITIVE_INFINITY, maxRemovableOffset(at))
  const removal = { from: 0, untilMs: beforeMs, toOf }
  await removeBatches(log, removal, () => signal.aborted || logUsedBytes(log) <= bytes)
}

const maxRemovableOffset = ({ topic, partition }: LogPartition): number => {
  const next = topic.next[partition] ?? 0
  return topic.spec.retentionMs === null ? Math.max(0, next - MIN_KEPT_RECORDS) : next
}

/** What goes of the batches. */
export interface Removal {
  /** Number of the first batch to look at. */
  readonly from: number
  /** Ends at the first batch of this log time; epoch milliseconds. */
  readonly untilMs: number
  /** First offset that stays, by partition. */
  readonly toOf: (at: LogPartition) => number
}

/** Batches of one transaction, and heads that are looked at without giving others a turn. */
const MAX_STEP_BATCHES = 64
/** Stored bytes of one transaction that are unpacked and written anew without what may go: some ten milliseconds. */
const MAX_STEP_REWRITTEN_BYTES = 524_288
const MAX_STEP_HEADERS = 1_000

/**
 * Removes from the batches, in their order, what may go: whole batches, and of a batch that some group has not read to its end
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
    const step = makeRemovalStep(topics)
    let looked = 0
    let isOver = true
    for (const head of log.batches.heads(next)) {
      if (head.timestampMs >= untilMs) break
      if (
        looked >= MAX_STEP_HEADERS ||
        step.batches.length >= MAX_STEP_BATCHES ||
        step.rewrittenBytes() >= MAX_STEP_REWRITTEN_BYTES
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
const makeRemovalStep = (topics: ReadonlyMap<number, EmbeddedTopic>) => {
  const batches: number[] = []
  let rewrittenBytes = 0
  const lows = new Map<string, LogPartition & { low: number }>()
  const of = (topicId: number, partition: number): number =>
    lows.get(`${topicId}/${partition}`)?.low ?? topics.get(topicId)?.low[partition] ?? 0
  return {
    batches,
    rewrittenBytes: () => rewrittenBytes,
    /** Notes the spans of a batch that may go. */
    take: ({ batch, bytes, ranges }: BatchHeader, toOf: Removal['toOf']): void => {
      let trimmed = 0
      for (const { topicId, partition, base, count } of ranges) {
        const topic = topics.get(topicId)
        const end = base + count
        if (topic === undefined || end > toOf({ topic, partition })) continue
        trimmed += 1
        // A batch of a clock that was set back may go after later ones: what is deleted stays deleted.
        const low = Math.max(end, of(topicId, partition))
        lows.set(`${topicId}/${partition}`, { topic, partition, low })
      }
      if (trimmed === 0) return
      batches.push(batch)
      if (trimmed < ranges.length) rewrittenBytes += bytes
    },
    remove: (log: EmbeddedLog): void => {
      if (batches.length === 0) return
      const changed = [...lows.values()]
      const done = runTransaction(log.root, () => {
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
export const removeRecords = (
  log: EmbeddedLog,
  keys: readonly Buffer[],
  beside?: () => void,
): void => {
  if (keys.length === 0) return
  runTransaction(log.root, () => {
    for (const key of keys) log.records.removeSync(key)
    beside?.()
  })
  log.recent.clear()
}
