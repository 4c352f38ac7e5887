import { Outage } from '../../errors.ts'
import type { LogRecord, ProducerRecord } from '../contract.ts'
import { partitionOf } from '../partitioner.ts'
import { offsetKey } from './batch-index.ts'
import type { BatchRecord, BatchTransaction, PartitionRun } from './batch-store.ts'
import { type EmbeddedLog, getTopic, toHeaderPairs } from './log.ts'

/** A commit's records beyond it lie in another batch, so that a reader of one does not unpack too much. */
const MAX_BATCH_BYTES = 1_048_576

/** Bytes as lmdb takes them. */
export const toBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Where a record of the transaction lies. */
interface RecordPosition {
  readonly topicId: number
  readonly partition: number
  readonly offset: number
  /** Undefined: the record lies alone. */
  readonly batch: OpenBatch | undefined
}

/** Records of one commit that go at the same age and that one lane reads. */
interface OpenBatch {
  readonly runs: Map<string, PartitionRun & { readonly records: BatchRecord[] }>
  bytes: number
}

/** Next offsets and records of one transaction, on top of the committed ones. */
export class WriteBatch {
  readonly log: EmbeddedLog
  readonly timestampMs: number
  readonly #next = new Map<string, Map<number, number>>()
  /** Partitions whose next offset is not written yet. */
  readonly #moved = new Map<string, readonly [topic: string, partition: number]>()
  readonly #records: LogRecord[] = []
  readonly #batches: BatchTransaction
  /** By retention and partition: what goes together, and what one lane reads, lies together. */
  readonly #open = new Map<string, OpenBatch>()

  constructor(log: EmbeddedLog, timestampMs: number) {
    this.log = log
    this.timestampMs = timestampMs
    this.#batches = log.batches.draft()
  }

  /** Gives a record its partition and offset. */
  position(record: ProducerRecord): RecordPosition {
    const { id, spec, isBatched, next } = getTopic(this.log, record.topic)
    const partition = record.partition ?? partitionOf(record.key, spec.partitions)
    const committed = next[partition]
    if (committed === undefined) {
      throw new Outage('bus', `${record.topic} has no partition ${partition}`, { final: true })
    }
    const drafted = this.#next.get(record.topic) ?? new Map<number, number>()
    const offset = drafted.get(partition) ?? committed
    drafted.set(partition, offset + 1)
    this.#next.set(record.topic, drafted)
    this.#moved.set(`${partition}/${record.topic}`, [record.topic, partition])
    const batch = isBatched ? this.#batchOf(`${spec.retentionMs}/${partition}`) : undefined
    return { topicId: id, partition, offset, batch }
  }

  #batchOf(name: string): OpenBatch {
    const open = this.#open.get(name) ?? { runs: new Map(), bytes: 0 }
    this.#open.set(name, open)
    return open
  }

  /** Writes a record at its position. */
  put({ topic, key, headers = {}, value: bytes }: ProducerRecord, at: RecordPosition): void {
    const { timestampMs } = this
    const { topicId, partition, offset, batch } = at
    const value = bytes && toBuffer(bytes)
    const pairs = toHeaderPairs(headers)
    if (batch === undefined) {
      const position = offsetKey(topicId, partition, offset)
      this.log.records.putSync(position, [timestampMs, key, pairs, value])
    } else {
      addToBatch(batch, at, [key, pairs, value])
      if (batch.bytes > MAX_BATCH_BYTES) this.#write(batch)
    }
    this.#records.push({ topic, partition, offset, key, value, headers, timestampMs })
  }

  #write(batch: OpenBatch): void {
    if (batch.runs.size === 0) return
    this.#batches.write(this.timestampMs, [...batch.runs.values()])
    batch.runs.clear()
    batch.bytes = 0
  }

  /** Writes open batches and the drafted offsets. */
  save(): void {
    for (const batch of this.#open.values()) this.#write(batch)
    for (const [topic, partition] of this.#moved.values()) {
      const { id } = getTopic(this.log, topic)
      this.log.meta.putSync(['next', id, partition], this.#next.get(topic)?.get(partition))
    }
    this.#moved.clear()
  }

  /** Makes the drafted offsets the committed ones and the records readable; returns the topics that grew. */
  publish(): ReadonlySet<string> {
    this.#batches.publish()
    for (const record of this.#records) this.log.recent.add(record)
    for (const [topic, drafted] of this.#next) {
      const { next } = getTopic(this.log, topic)
      for (const [partition, offset] of drafted) next[partition] = offset
    }
    return new Set(this.#next.keys())
  }
}

const addToBatch = (
  batch: OpenBatch,
  { topicId, partition, offset }: RecordPosition,
  record: BatchRecord,
): void => {
  const name = `${topicId}/${partition}`
  const run = batch.runs.get(name)
  if (run === undefined) {
    batch.runs.set(name, { topicId, partition, base: offset, records: [record] })
  } else run.records.push(record)
  batch.bytes += record[0].length + (record[2]?.byteLength ?? 0)
}
