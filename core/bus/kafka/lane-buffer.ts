import type { Outage } from '../../errors.ts'
import type { GroupOffset, Lane, LogRecord } from '../contract.ts'
import {
  partitionKey,
  type ReadPosition,
  type StartPosition,
  type TopicPartition,
} from './partition-reader.ts'

/** Bytes that wait per partition before it pauses; it continues at half of it. */
const PAUSE_THRESHOLD_BYTES = 8_388_608
/** Bytes of one `take`; a single larger record still passes. */
const MAX_POLL_BYTES = 16_777_216

/** Bytes of a record that count against a buffer. */
const estimateRecordBytes = ({ key, value }: LogRecord): number =>
  96 + key.length + (value?.byteLength ?? 0)

/** Records that wait for one lane, bounded per partition. */
export interface LaneBuffer {
  /** Next offset wanted of an open source. */
  positionOf(at: TopicPartition): number | undefined
  /** Where reading stands, if no record from the offset on was ever accepted: all between is empty. Else the offset. */
  emptyTo(offset: GroupOffset): number
  open(source: StartPosition): void
  /** Takes what is new to this lane. */
  accept(records: readonly LogRecord[], at: ReadPosition): void
  isFull(at: TopicPartition): boolean
  /** The next `take` throws this. */
  fail(outage: Outage): void
  take(options: PollOptions): Promise<readonly LogRecord[]>
}

type PollOptions = Parameters<Lane['take']>[0]

interface PartitionQueue {
  readonly at: TopicPartition
  position: number
  /** Offset of the last record that was accepted; -1 before the first. */
  newest: number
  bytes: number
  records: LogRecord[]
}

/** Makes an empty buffer. `resumeIfRoom` is called with a partition that has room again. */
export const makeLaneBuffer = (
  signal: AbortSignal,
  onRoom: (at: TopicPartition) => void,
): LaneBuffer => {
  const queues = new Map<string, PartitionQueue>()
  let failed: Outage | undefined
  let wake = (): void => undefined
  signal.addEventListener('abort', () => wake(), { once: true })
  const takeNow = ({ maxRecords, without }: PollOptions): readonly LogRecord[] => {
    signal.throwIfAborted()
    if (failed) throw failed
    const taken: LogRecord[] = []
    let room = MAX_POLL_BYTES
    for (const queue of queues.values()) {
      if (without?.has(queue.at.topic)) continue
      const before = queue.bytes
      const part = takeFirst(queue, maxRecords - taken.length, room)
      room -= before - queue.bytes
      taken.push(...part)
      if (before > PAUSE_THRESHOLD_BYTES / 2 && queue.bytes <= PAUSE_THRESHOLD_BYTES / 2)
        onRoom(queue.at)
    }
    return taken
  }
  return {
    positionOf: (at) => queues.get(partitionKey(at))?.position,
    emptyTo: (given) => {
      const queue = queues.get(partitionKey(given))
      const isEmpty = queue !== undefined && queue.newest < given.offset
      return isEmpty ? Math.max(queue.position, given.offset) : given.offset
    },
    open: ({ topic, partition, from }) => {
      const at = { topic, partition }
      queues.set(partitionKey(at), { at, position: from, newest: -1, bytes: 0, records: [] })
    },
    accept: (records, at) => {
      const queue = queues.get(partitionKey(at))
      if (!queue) return
      const fresh = records.filter(({ offset }) => offset >= queue.position)
      queue.position = Math.max(queue.position, at.next)
      queue.newest = fresh.at(-1)?.offset ?? queue.newest
      for (const record of fresh) queue.records.push(record)
      queue.bytes += fresh.reduce((sum, record) => sum + estimateRecordBytes(record), 0)
      if (fresh.length > 0) wake()
    },
    isFull: (at) => (queues.get(partitionKey(at))?.bytes ?? 0) > PAUSE_THRESHOLD_BYTES,
    fail: (outage) => {
      failed = outage
      wake()
    },
    take: async (options) => {
      const endMs = Date.now() + options.maxWaitMs
      for (;;) {
        const taken = takeNow(options)
        const leftMs = endMs - Date.now()
        if (taken.length > 0 || leftMs <= 0) return taken
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, leftMs)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
    },
  }
}

/** Takes the first records of a queue; the first one fits always while any room is left. */
const takeFirst = (
  queue: PartitionQueue,
  maxRecords: number,
  room: number,
): readonly LogRecord[] => {
  let bytes = 0
  let count = 0
  for (const record of queue.records) {
    const size = estimateRecordBytes(record)
    if (count >= maxRecords || room <= 0 || (count > 0 && bytes + size > room)) break
    bytes += size
    count += 1
  }
  const taken = queue.records.slice(0, count)
  queue.records = queue.records.slice(count)
  queue.bytes -= bytes
  return taken
}
