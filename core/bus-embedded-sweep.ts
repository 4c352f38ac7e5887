import { setImmediate as turn } from 'node:timers/promises'
import { type EmbeddedLog, type EmbeddedTopic, offsetIn, recordKey } from './bus-embedded-log.ts'

/** Work of one transaction, so that a sweep never holds the writer for long. */
const STEP_RECORDS = 2_000
/** Keys that one compaction keeps in memory; what is beyond waits for the next sweep. */
const COMPACTION_KEYS = 200_000
/** Compaction starts when the records since the last one are this share of those it kept. Source: kafka.md 2.10. */
const DIRTY_RATIO = 0.1
/** A tombstone stays this long, so that a reader can see it. Source: kafka.md 2.10, `delete.retention.ms`. */
const TOMBSTONE_MS = 86_400_000

/** When and how strictly to sweep. */
export interface SweepPlan {
  readonly nowMs: number
  readonly retention: 'off' | 'contract'
  readonly signal: AbortSignal
}

/** Deletes what retention no longer keeps, and of compacted topics every record that a newer one of its key replaced. */
export const sweepLog = async (log: EmbeddedLog, plan: SweepPlan): Promise<void> => {
  for (const topic of log.topics.values()) {
    for (let partition = 0; partition < topic.spec.partitions; partition += 1) {
      if (plan.signal.aborted) return
      if (topic.spec.cleanup !== 'delete') await compact(log, topic, partition, plan)
      if (topic.spec.cleanup !== 'compact') await expire(log, topic, partition, plan)
    }
  }
}

const expire = async (
  log: EmbeddedLog,
  topic: EmbeddedTopic,
  partition: number,
  { nowMs, retention, signal }: SweepPlan,
): Promise<void> => {
  const { retentionMs } = topic.spec
  if (retention === 'off' || retentionMs === null) return
  for (;;) {
    const expired = expiredKeys(log, topic, partition, nowMs - retentionMs)
    const last = expired.at(-1)
    if (last === undefined || signal.aborted) return
    removeAll(log, expired, () =>
      log.meta.putSync(['low', topic.id, partition], offsetIn(last) + 1),
    )
    topic.low[partition] = offsetIn(last) + 1
    await turn()
  }
}

const expiredKeys = (
  log: EmbeddedLog,
  { id, low, next }: EmbeddedTopic,
  partition: number,
  beforeMs: number,
): readonly Buffer[] => {
  const keys: Buffer[] = []
  const range = log.records.getRange({
    start: recordKey(id, partition, low[partition] ?? 0),
    end: recordKey(id, partition, next[partition] ?? 0),
    limit: STEP_RECORDS,
  })
  for (const { key, value } of range) {
    if (value[0] >= beforeMs) break
    keys.push(key)
  }
  return keys
}

/** Up to which offset a partition is compacted, and how many records that left. */
interface CleanMark {
  readonly to: number
  readonly kept: number
}

const compact = async (
  log: EmbeddedLog,
  topic: EmbeddedTopic,
  partition: number,
  { nowMs, signal }: SweepPlan,
): Promise<void> => {
  const markKey = ['clean', topic.id, partition]
  const mark = (log.meta.get(markKey) as CleanMark | undefined) ?? { to: 0, kept: 0 }
  const end = topic.next[partition] ?? 0
  if (end === mark.to || end - mark.to < mark.kept * DIRTY_RATIO) return
  const { newest, to } = newestOffsets(log, topic, partition, { from: mark.to, to: end })
  let at = 0
  let kept = 0
  while (at < to && !signal.aborted) {
    const gone: Buffer[] = []
    const range = log.records.getRange({
      start: recordKey(topic.id, partition, at),
      end: recordKey(topic.id, partition, to),
      limit: STEP_RECORDS,
    })
    let seen = 0
    for (const { key, value } of range) {
      const offset = offsetIn(key)
      const [timestampMs, name, , body] = value
      const replaced = (newest.get(name) ?? offset) > offset
      const forgotten = body === null && timestampMs < nowMs - TOMBSTONE_MS
      if (replaced || forgotten) gone.push(key)
      else kept += 1
      at = offset + 1
      seen += 1
    }
    removeAll(log, gone)
    if (seen < STEP_RECORDS) at = to
    await turn()
  }
  if (at >= to) log.root.transactionSync(() => log.meta.putSync(markKey, { to, kept }))
}

const newestOffsets = (
  log: EmbeddedLog,
  { id }: EmbeddedTopic,
  partition: number,
  { from, to }: { readonly from: number; readonly to: number },
): { readonly newest: ReadonlyMap<string, number>; readonly to: number } => {
  const newest = new Map<string, number>()
  const range = log.records.getRange({
    start: recordKey(id, partition, from),
    end: recordKey(id, partition, to),
  })
  for (const { key, value } of range) {
    if (newest.size >= COMPACTION_KEYS) return { newest, to: offsetIn(key) }
    newest.set(value[1], offsetIn(key))
  }
  return { newest, to }
}

const removeAll = (log: EmbeddedLog, keys: readonly Buffer[], beside?: () => void): void => {
  if (keys.length === 0) return
  log.root.transactionSync(() => {
    for (const key of keys) log.records.removeSync(key)
    beside?.()
  })
  log.recent.clear()
}
