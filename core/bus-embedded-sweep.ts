import { setImmediate as turn } from 'node:timers/promises'
import type { Retention } from './bus-contract.ts'
import { offsetIn, placeKey } from './bus-embedded-index.ts'
import type { EmbeddedLog, EmbeddedTopic } from './bus-embedded-log.ts'
import {
  type Floors,
  type PartitionAt,
  partitionsOf,
  removeAll,
  removeOldest,
  STEP_RECORDS,
  shrinkLog,
  unreadFloors,
} from './bus-embedded-shrink.ts'

/** Keys that one compaction keeps in memory; what is beyond waits for the next sweep. */
const COMPACTION_KEYS = 200_000
/** Compaction starts when the records since the last one are this share of those it kept. Source: kafka.md 2.10. */
const DIRTY_RATIO = 0.1
/** A tombstone stays this long, so that a reader can see it. Source: kafka.md 2.10, `delete.retention.ms`. */
const TOMBSTONE_MS = 86_400_000

/** When and how strictly to sweep. */
export interface SweepPlan {
  readonly nowMs: number
  readonly retention: Retention
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
export const sweepLog = async (log: EmbeddedLog, plan: SweepPlan): Promise<void> => {
  const floors = plan.retention === 'bounded' ? unreadFloors(log) : undefined
  for (const at of partitionsOf(log)) {
    if (plan.signal.aborted) return
    const { cleanup } = at.topic.spec
    if (cleanup !== 'compact') await expire(log, at, floors, plan)
  }
  await shrinkLog(log, plan, 0)
  for (const { topic, partition } of partitionsOf(log)) {
    if (plan.signal.aborted) return
    if (!topic.isBatched) await compact(log, topic, partition, plan)
  }
}

const expire = async (
  log: EmbeddedLog,
  at: PartitionAt,
  floors: Floors | undefined,
  { nowMs, retention, keepMs, signal }: SweepPlan,
): Promise<void> => {
  const { retentionMs } = at.topic.spec
  if (retention === 'off' || retentionMs === null) return
  const ageMs = retention === 'bounded' ? Math.max(retentionMs, keepMs) : retentionMs
  const to = floors?.(at) ?? Number.POSITIVE_INFINITY
  while (!signal.aborted && removeOldest(log, at, { beforeMs: nowMs - ageMs, to }) > 0) await turn()
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
      start: placeKey(topic.id, partition, at),
      end: placeKey(topic.id, partition, to),
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
    start: placeKey(id, partition, from),
    end: placeKey(id, partition, to),
  })
  for (const { key, value } of range) {
    if (newest.size >= COMPACTION_KEYS) return { newest, to: offsetIn(key) }
    newest.set(value[1], offsetIn(key))
  }
  return { newest, to }
}
