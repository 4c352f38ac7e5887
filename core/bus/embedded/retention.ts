import { setImmediate as turn } from 'node:timers/promises'
import { DAY_MS } from '../../time.ts'
import type { RetentionPolicy } from '../contract.ts'
import { offsetKey, offsetOfKey } from './batch-index.ts'
import {
  allPartitions,
  type FirstUnreadOffsets,
  firstUnreadOffsets,
  type LogPartition,
  type Removal,
  removeBatches,
  removeRecords,
  shrinkLog,
} from './delete-records.ts'
import { runTransaction } from './lmdb.ts'
import type { EmbeddedLog, EmbeddedTopic } from './log.ts'

/** Work of one transaction, so that a sweep never holds the writer for long. */
const MAX_STEP_RECORDS = 2_000
/** Keys that one compaction keeps in memory; what is beyond waits for the next sweep. */
const MAX_COMPACTION_KEYS = 200_000
/** Compaction starts when the records since the last one are this share of those it kept. Kafka's `min.cleanable.dirty.ratio`. */
const MIN_CLEANABLE_DIRTY_RATIO = 0.1
/** A tombstone stays this long, so that a reader can see it. As Kafka's default of `delete.retention.ms`. */
const TOMBSTONE_RETENTION_MS = DAY_MS

/** When and how strictly to sweep. */
export interface RetentionOptions {
  readonly nowMs: number
  readonly retention: RetentionPolicy
  /** Records younger than this stay, whatever their topic says; milliseconds. `bounded` only. */
  readonly keepMs: number
  /** Most bytes of the log. */
  readonly limitBytes: number
  readonly signal: AbortSignal
}

/**
 * Deletes what retention no longer keeps, by age and then by size, and of compacted topics every record that a newer one
 * of its key replaced. `bounded` keeps what a group has not read, until the log is nearly full.
 */
export const enforceLogRetention = async (
  log: EmbeddedLog,
  plan: RetentionOptions,
): Promise<void> => {
  const floors = plan.retention === 'bounded' ? firstUnreadOffsets(log) : undefined
  await expireBatches(log, floors, plan)
  for (const at of allPartitions(log)) {
    if (plan.signal.aborted) return
    if (at.topic.spec.cleanup === 'compact,delete') await expireRecords(log, at, floors, plan)
  }
  await shrinkLog(log, plan, 0)
  for (const { topic, partition } of allPartitions(log)) {
    if (plan.signal.aborted) return
    if (!topic.isBatched) await compactPartition(log, topic, partition, plan)
  }
}

/** Log time before which records of a topic go; undefined: they stay, whatever their age. */
const expiryTimeMs = (retentionMs: number | null, plan: RetentionOptions): number | undefined => {
  if (plan.retention === 'off' || retentionMs === null) return undefined
  return (
    plan.nowMs - (plan.retention === 'bounded' ? Math.max(retentionMs, plan.keepMs) : retentionMs)
  )
}

/** Records of one batch have one retention, so each is looked at where its own age begins. */
const expireBatches = async (
  log: EmbeddedLog,
  floors: FirstUnreadOffsets | undefined,
  plan: RetentionOptions,
): Promise<void> => {
  const byRetention = new Map<number | null, LogPartition[]>()
  for (const at of allPartitions(log)) {
    const { retentionMs } = at.topic.spec
    if (at.topic.isBatched)
      byRetention.set(retentionMs, [...(byRetention.get(retentionMs) ?? []), at])
  }
  for (const [retentionMs, partitions] of byRetention) {
    const untilMs = expiryTimeMs(retentionMs, plan)
    if (untilMs === undefined) continue
    const toOf = (at: LogPartition): number =>
      at.topic.spec.retentionMs === retentionMs ? (floors?.(at) ?? Number.POSITIVE_INFINITY) : 0
    const from = Math.min(...partitions.map((at) => firstExpiredBatch(log, at, { untilMs, toOf })))
    if (Number.isFinite(from)) {
      await removeBatches(log, { from, untilMs, toOf }, () => plan.signal.aborted)
    }
  }
}

/** Number of the batch with the oldest records of a partition, if they may go; else infinite. */
const firstExpiredBatch = (
  { batches }: EmbeddedLog,
  at: LogPartition,
  { untilMs, toOf }: Omit<Removal, 'from'>,
): number => {
  const { topic, partition } = at
  for (const { base, count, batch } of batches.ranges(
    topic.id,
    partition,
    topic.low[partition] ?? 0,
  )) {
    const mayGo = base + count <= toOf(at) && batches.timeOf(batch) < untilMs
    return mayGo ? batch : Number.POSITIVE_INFINITY
  }
  return Number.POSITIVE_INFINITY
}

const expireRecords = async (
  log: EmbeddedLog,
  at: LogPartition,
  floors: FirstUnreadOffsets | undefined,
  plan: RetentionOptions,
): Promise<void> => {
  const beforeMs = expiryTimeMs(at.topic.spec.retentionMs, plan)
  if (beforeMs === undefined) return
  const to = floors?.(at) ?? Number.POSITIVE_INFINITY
  while (!plan.signal.aborted && removeOldestRecords(log, at, { beforeMs, to }) > 0) await turn()
}

/** Deletes records that lie alone from the beginning of a partition in one transaction; returns how many. */
const removeOldestRecords = (
  log: EmbeddedLog,
  { topic, partition }: LogPartition,
  { beforeMs, to }: { readonly beforeMs: number; readonly to: number },
): number => {
  const keys: Buffer[] = []
  for (const { key, value } of log.records.getRange({
    start: offsetKey(topic.id, partition, topic.low[partition] ?? 0),
    end: offsetKey(topic.id, partition, Math.min(to, topic.next[partition] ?? 0)),
    limit: MAX_STEP_RECORDS,
  })) {
    if (value[0] >= beforeMs) break
    keys.push(key)
  }
  const last = keys.at(-1)
  if (last === undefined) return 0
  const low = offsetOfKey(last) + 1
  removeRecords(log, keys, () => log.meta.putSync(['low', topic.id, partition], low))
  topic.low[partition] = low
  return keys.length
}

/** Up to which offset a partition is compacted, and how many records that left. */
interface CompactionProgress {
  readonly to: number
  readonly kept: number
}

const compactPartition = async (
  log: EmbeddedLog,
  topic: EmbeddedTopic,
  partition: number,
  { nowMs, signal }: RetentionOptions,
): Promise<void> => {
  const markKey = ['clean', topic.id, partition]
  const mark = (log.meta.get(markKey) as CompactionProgress | undefined) ?? { to: 0, kept: 0 }
  const end = topic.next[partition] ?? 0
  if (end === mark.to || end - mark.to < mark.kept * MIN_CLEANABLE_DIRTY_RATIO) return
  const { newest, to } = await newestOffsets(log, topic, partition, { from: mark.to, to: end })
  let at = 0
  let kept = 0
  while (at < to && !signal.aborted) {
    const gone: Buffer[] = []
    const range = log.records.getRange({
      start: offsetKey(topic.id, partition, at),
      end: offsetKey(topic.id, partition, to),
      limit: MAX_STEP_RECORDS,
    })
    let seen = 0
    for (const { key, value } of range) {
      const offset = offsetOfKey(key)
      const [timestampMs, name, , body] = value
      const replaced = (newest.get(name) ?? offset) > offset
      const forgotten = body === null && timestampMs < nowMs - TOMBSTONE_RETENTION_MS
      if (replaced || forgotten) gone.push(key)
      else kept += 1
      at = offset + 1
      seen += 1
    }
    removeRecords(log, gone)
    if (seen < MAX_STEP_RECORDS) at = to
    await turn()
  }
  if (at >= to) runTransaction(log.root, () => log.meta.putSync(markKey, { to, kept }))
}

const newestOffsets = async (
  log: EmbeddedLog,
  { id }: EmbeddedTopic,
  partition: number,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<{ readonly newest: ReadonlyMap<string, number>; readonly to: number }> => {
  const newest = new Map<string, number>()
  let at = from
  for (;;) {
    const range = log.records.getRange({
      start: offsetKey(id, partition, at),
      end: offsetKey(id, partition, to),
      limit: MAX_STEP_RECORDS,
    })
    let seen = 0
    for (const { key, value } of range) {
      if (newest.size >= MAX_COMPACTION_KEYS) return { newest, to: offsetOfKey(key) }
      newest.set(value[1], offsetOfKey(key))
      at = offsetOfKey(key) + 1
      seen += 1
    }
    if (seen < MAX_STEP_RECORDS) return { newest, to }
    await turn()
  }
}
