import { Outage } from '../../errors.ts'
import type { LogRecord, ProducerRecord } from '../contract.ts'
import { partitionOf } from '../partitioner.ts'
import { offsetKey } from './batch-index.ts'
import type { BatchRecord, BatchTransaction, PartitionRun } from './batch-store.ts'
import { type EmbeddedLog, type EmbeddedTopic, getTopic, toHeaderPairs } from './log.ts'

/** A commit's records beyond it lie in another batch, so that a reader of one does not unpack too much. */
const MAX_BATCH_BYTES = 1_048_576

/** Bytes as lmdb takes them. */
export const toBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** One partition of a topic within the transaction. */
interface PartitionDraft {
  readonly topic: string
  readonly topicId: number
  readonly partition: number
  /** Undefined: each record lies alone. */
  readonly batch: OpenBatch | undefined
  /** Its records in the batch; undefined = the batch has none. */
  run: OpenRun | undefined
  next: number
  /** The next offset is written already. */
  isSaved: boolean
}

/** Where a record of the transaction lies. */
export interface RecordPosition {
  readonly partition: number
  readonly offset: number
  readonly draft: PartitionDraft
}

interface OpenRun extends PartitionRun {
  readonly records: BatchRecord[]
}

/** Records of one commit that go at the same age and that one lane reads. */
interface OpenBatch {
  readonly drafts: PartitionDraft[]
  bytes: number
}

const NO_HEADERS = Object.freeze({})
const NO_PAIRS: readonly string[] = []

/** Next offsets and records of one transaction, on top of the committed ones. */
export class WriteBatch {
  readonly log: EmbeddedLog
  readonly timestampMs: number
  /** By topic, then by partition. */
  readonly #drafts = new Map<string, Map<number, PartitionDraft>>()
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
    const topic = getTopic(this.log, record.topic)
    const partition = record.partition ?? partitionOf(record.key, topic.spec.partitions)
    const draft =
      this.#drafts.get(record.topic)?.get(partition) ??
      this.#addDraft(record.topic, topic, partition)
    const offset = draft.next
    draft.next += 1
    draft.isSaved = false
    return { partition, offset, draft }
  }

  #addDraft(
    topic: string,
    { id: topicId, spec, isBatched, next }: EmbeddedTopic,
    partition: number,
  ): PartitionDraft {
    const committed = next[partition]
    if (committed === undefined) {
      throw new Outage('bus', `${topic} has no partition ${partition}`, { final: true })
    }
    const batch = isBatched ? this.#batchOf(`${spec.retentionMs}/${partition}`) : undefined
    const draft: PartitionDraft = {
      topic,
      topicId,
      partition,
      batch,
      run: undefined,
      next: committed,
      isSaved: true,
    }
    const drafts = this.#drafts.get(topic) ?? new Map<number, PartitionDraft>()
    this.#drafts.set(topic, drafts.set(partition, draft))
    return draft
  }

  #batchOf(name: string): OpenBatch {
    const open = this.#open.get(name) ?? { drafts: [], bytes: 0 }
    this.#open.set(name, open)
    return open
  }

  /** Writes a record at its position. */
  put({ topic, key, headers, value: bytes }: ProducerRecord, at: RecordPosition): void {
    const { timestampMs } = this
    const { partition, offset, draft } = at
    const value = bytes && toBuffer(bytes)
    const pairs = headers ? toHeaderPairs(headers) : NO_PAIRS
    if (draft.batch === undefined) {
      const position = offsetKey(draft.topicId, partition, offset)
      this.log.records.putSync(position, [timestampMs, key, pairs, value])
    } else {
      addToBatch(draft.batch, at, [key, pairs, value])
      if (draft.batch.bytes > MAX_BATCH_BYTES) this.#write(draft.batch)
    }
    const known = headers ?? NO_HEADERS
    this.#records.push({ topic, partition, offset, key, value, headers: known, timestampMs })
  }

  #write(batch: OpenBatch): void {
    const runs = batch.drafts.flatMap(({ run }) => run ?? [])
    if (runs.length > 0) this.#batches.write(this.timestampMs, runs)
    for (const draft of batch.drafts) draft.run = undefined
    batch.drafts.length = 0
    batch.bytes = 0
  }

  /** Writes open batches and the drafted offsets. */
  save(): void {
    for (const batch of this.#open.values()) this.#write(batch)
    for (const drafts of this.#drafts.values()) {
      for (const draft of drafts.values()) {
        if (draft.isSaved) continue
        this.log.meta.putSync(['next', draft.topicId, draft.partition], draft.next)
        draft.isSaved = true
      }
    }
  }

  /** Makes the drafted offsets the committed ones and the records readable; returns the topics that grew. */
  publish(): ReadonlySet<string> {
    this.#batches.publish()
    for (const record of this.#records) this.log.recent.add(record)
    for (const [topic, drafts] of this.#drafts) {
      const { next } = getTopic(this.log, topic)
      for (const draft of drafts.values()) next[draft.partition] = draft.next
    }
    return new Set(this.#drafts.keys())
  }
}

const addToBatch = (
  batch: OpenBatch,
  { draft, offset }: RecordPosition,
  record: BatchRecord,
): void => {
  if (draft.run === undefined) {
    const { topicId, partition } = draft
    draft.run = { topicId, partition, base: offset, records: [record] }
    batch.drafts.push(draft)
  } else draft.run.records.push(record)
  batch.bytes += record[0].length + (record[2]?.byteLength ?? 0)
}
