import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Database, Key, PutOptions, RootDatabase } from 'lmdb'
import { LRUCache } from 'lru-cache'
import { Packr } from 'msgpackr'
import {
  type BatchIndex,
  type IndexedRange,
  type MetaTable,
  openBatchIndex,
  type PartitionRange,
} from './batch-index.ts'

/** A record without its position: key, headers as name, value, name, value..., value. */
export type BatchRecord = readonly [
  key: string,
  headers: readonly string[],
  value: Uint8Array | null,
]

/**
 * Head of a batch as it lies in lmdb: log time and bytes of the body, then topic id, partition, first offset and number of
 * records of each span.
 */
type StoredBatchHeader = readonly [timestampMs: number, bytes: number, ...spans: readonly number[]]

/** A part of a body: batch, and which part. */
type ChunkKey = [batch: number, piece: number]

/** Records of one partition within a batch. */
export interface PartitionRun {
  readonly topicId: number
  readonly partition: number
  /** Offset of the first one; there is no gap. */
  readonly base: number
  readonly records: readonly BatchRecord[]
}

/** A batch as it is read. */
interface UnpackedBatch {
  readonly timestampMs: number
  readonly runs: ReadonlyMap<string, readonly BatchRecord[]>
  readonly bytes: number
}

/** What a batch holds. */
export interface BatchHeader {
  readonly batch: number
  readonly timestampMs: number
  /** Of the body as it is stored. */
  readonly bytes: number
  readonly ranges: readonly PartitionRange[]
}

/** Work on the batches within one transaction, to be forgotten when it fails. */
export interface BatchTransaction {
  /** Writes one batch, and now and then the index of those before it. */
  write(timestampMs: number, runs: readonly PartitionRun[]): void
  /** After the transaction: makes its batches readable. */
  publish(): void
}

/** Records of topics that are cleaned by deletion: those that one commit wrote to one partition of each, together and compressed. */
export interface BatchStore {
  /** Tables that they take. */
  readonly tables: readonly Pick<Database<unknown, Key>, 'getStats'>[]
  draft(): BatchTransaction
  /** Spans of a partition with offsets from `from` on, in order. */
  ranges(topicId: number, partition: number, from: number): Iterable<IndexedRange>
  /** Log time of a batch. */
  timeOf(batch: number): number
  /** Heads of the batches from a number on, in order. */
  heads(from: number): Iterable<BatchHeader>
  read(range: IndexedRange, topicId: number, partition: number): PartitionBatch
  /**
   * Within a transaction: takes from batches what lies below the first offsets that stay, and from the index. A batch goes as a
   * whole when nothing of it is left, else what is left is written anew. Returns what is to be done after the transaction.
   */
  trim(batches: readonly number[], lows: StartOffsets): () => void
}

/** First offsets that stay, by partition. */
export interface StartOffsets {
  /** Those that change. */
  readonly changed: readonly { readonly topicId: number; readonly partition: number }[]
  of(topicId: number, partition: number): number
}

/** Records of one partition in one batch. */
export interface PartitionBatch {
  readonly timestampMs: number
  readonly records: readonly BatchRecord[]
  /** Of the whole batch, when it had to be unpacked for this; else 0. */
  readonly unpackedBytes: number
}

/** Bytes of unpacked batches held for the next reader: readers of different topics want the same ones. */
const MAX_UNPACKED_CACHE_BYTES = 16_777_216
const DEFLATE_OPTIONS = { level: 3 } as const
/** Four of them fill a page of lmdb, which gives whole pages to what is larger than half of one. */
const CHUNK_BYTES = 980
/** Numbers of batches only grow: lmdb fills each page before it begins another. */
const APPEND_OPTIONS = { append: true } as const
const HEADER_FIELDS = 2
const FIELDS_PER_RANGE = 4

const packr = new Packr({ useRecords: false })
const partitionKey = (topicId: number, partition: number): string => `${topicId}/${partition}`

/** First byte of a body: how the rest is written. */
const [UNCOMPRESSED, DEFLATED] = [0, 1]
/** Below that, compressing costs more than it saves. */
const MIN_DEFLATED_BYTES = 512

const packRuns = (runs: readonly PartitionRun[]): Buffer => {
  const bytes = packr.pack(runs.map(({ records }) => records))
  return bytes.length < MIN_DEFLATED_BYTES
    ? Buffer.concat([Buffer.of(UNCOMPRESSED), bytes])
    : Buffer.concat([Buffer.of(DEFLATED), deflateRawSync(bytes, DEFLATE_OPTIONS)])
}

/** Batches are cut at a megabyte; one record may be as large as the bus takes. */
const MAX_UNPACKED_BYTES = 268_435_456

/** What `packed` wrote: per span its records. */
const unpackRuns = (body: Buffer): { readonly runs: readonly BatchRecord[][]; bytes: number } => {
  const rest = body.subarray(1)
  const bytes =
    body[0] === UNCOMPRESSED ? rest : inflateRawSync(rest, { maxOutputLength: MAX_UNPACKED_BYTES })
  const runs: readonly BatchRecord[][] = packr.unpack(bytes)
  return { runs, bytes: bytes.length }
}

function* rangesOfHeader(head: StoredBatchHeader): Iterable<PartitionRange> {
  for (let at = HEADER_FIELDS; at < head.length; at += FIELDS_PER_RANGE) {
    yield {
      topicId: head[at] ?? 0,
      partition: head[at + 1] ?? 0,
      base: head[at + 2] ?? 0,
      count: head[at + 3] ?? 0,
    }
  }
}

const toStoredHeader = (
  timestampMs: number,
  bytes: number,
  runs: readonly PartitionRun[],
): StoredBatchHeader => [
  timestampMs,
  bytes,
  ...runs.flatMap(({ topicId, partition, base, records }) => [
    topicId,
    partition,
    base,
    records.length,
  ]),
]

/** Keys of the parts of a body. */
const chunkKeys = (batch: number, [, bytes]: StoredBatchHeader): readonly ChunkKey[] =>
  Array.from({ length: Math.ceil(bytes / CHUNK_BYTES) }, (_, piece) => [batch, piece])

const chunkOf = (body: Buffer, [, piece]: ChunkKey): Buffer =>
  body.subarray(piece * CHUNK_BYTES, (piece + 1) * CHUNK_BYTES)

/** The tables of heads and bodies, a batch at a time. */
const openBatchTables = (root: RootDatabase) => {
  const heads = root.openDB<StoredBatchHeader, number>('heads', {})
  const pieces = root.openDB<Buffer, ChunkKey>('pieces', { encoding: 'binary' })
  const pieceAt = (key: ChunkKey): Buffer => {
    const piece = pieces.get(key)
    if (piece === undefined) throw new Error(`part ${key[1]} of batch ${key[0]} of the log is gone`)
    return piece
  }
  return {
    heads,
    pieces,
    headAt: (batch: number): StoredBatchHeader => {
      const head = heads.get(batch)
      if (head === undefined) throw new Error(`batch ${batch} of the log is gone`)
      return head
    },
    unpack: (batch: number, head: StoredBatchHeader) =>
      unpackRuns(Buffer.concat(chunkKeys(batch, head).map(pieceAt))),
    put: (
      batch: number,
      [timestampMs, runs]: BatchContents,
      options: PutOptions = {},
    ): StoredBatchHeader => {
      const body = packRuns(runs)
      const head = toStoredHeader(timestampMs, body.length, runs)
      heads.putSync(batch, head, options)
      for (const key of chunkKeys(batch, head)) pieces.putSync(key, chunkOf(body, key), options)
      return head
    },
    remove: (batch: number, head: StoredBatchHeader): void => {
      heads.removeSync(batch)
      for (const key of chunkKeys(batch, head)) pieces.removeSync(key)
    },
  }
}

/** Log time and records of a batch. */
type BatchContents = readonly [timestampMs: number, runs: readonly PartitionRun[]]
type BatchTables = ReturnType<typeof openBatchTables>

/** Opens the tables of batches in a log's environment. */
export const openBatchStore = (root: RootDatabase, meta: MetaTable): BatchStore => {
  const tables = openBatchTables(root)
  const { heads, headAt } = tables
  const { index, table } = openBatchIndex(root, meta)
  const cached = new LRUCache<number, UnpackedBatch>({ maxSize: MAX_UNPACKED_CACHE_BYTES })
  let next = index.indexed + 1
  for (const { key, value } of heads.getRange({ start: next })) {
    index.add(key, [...rangesOfHeader(value)])
    next = key + 1
  }
  const onPublished = (to: number): void => {
    next = to
  }
  const read = (number: number): UnpackedBatch => {
    const head = headAt(number)
    const { runs, bytes } = tables.unpack(number, head)
    const named = [...rangesOfHeader(head)].map(
      ({ topicId, partition }, at) => [partitionKey(topicId, partition), runs[at] ?? []] as const,
    )
    const batch = { timestampMs: head[0], runs: new Map(named), bytes }
    cached.set(number, batch, { size: bytes })
    return batch
  }
  return {
    tables: [heads, tables.pieces, table],
    draft: () => beginBatchTransaction({ tables, index, first: next, onPublished }),
    ranges: index.ranges,
    timeOf: (batch) => headAt(batch)[0],
    *heads(from) {
      for (const { key, value } of heads.getRange({ start: from })) {
        yield {
          batch: key,
          timestampMs: value[0],
          bytes: value[1],
          ranges: [...rangesOfHeader(value)],
        }
      }
    },
    read: ({ batch }, topicId, partition) => {
      const held = cached.get(batch)
      const { timestampMs, runs, bytes } = held ?? read(batch)
      const records = runs.get(partitionKey(topicId, partition)) ?? []
      return { timestampMs, records, unpackedBytes: held === undefined ? bytes : 0 }
    },
    trim: (batches, lows) => {
      const done = lows.changed.map(({ topicId, partition }) =>
        index.remove(topicId, partition, lows.of(topicId, partition)),
      )
      for (const batch of batches) trimBatch(tables, batch, lows)
      return () => {
        for (const each of done) each()
        for (const batch of batches) cached.delete(batch)
      }
    },
  }
}

/** Takes from a batch what lies below the lows. */
const trimBatch = (tables: BatchTables, batch: number, { of }: StartOffsets): void => {
  const head = tables.headAt(batch)
  const ranges = [...rangesOfHeader(head)]
  const isLeft = ({ topicId, partition, base, count }: PartitionRange): boolean =>
    base + count > of(topicId, partition)
  if (ranges.every(isLeft)) return
  if (!ranges.some(isLeft)) {
    tables.remove(batch, head)
    return
  }
  const { runs } = tables.unpack(batch, head)
  const left = ranges.flatMap((range, at) =>
    isLeft(range) ? [{ ...range, records: runs[at] ?? [] }] : [],
  )
  tables.remove(batch, head)
  tables.put(batch, [head[0], left])
}

interface BatchTransactionDeps {
  readonly tables: BatchTables
  readonly index: BatchIndex
  readonly first: number
  readonly onPublished: (next: number) => void
}

const beginBatchTransaction = ({
  tables,
  index,
  first,
  onPublished,
}: BatchTransactionDeps): BatchTransaction => {
  const written: StoredBatchHeader[] = []
  let indexed: (() => void) | undefined
  return {
    write: (timestampMs, runs) => {
      indexed ??= index.save()
      written.push(tables.put(first + written.length, [timestampMs, runs], APPEND_OPTIONS))
    },
    publish: () => {
      indexed?.()
      for (const [at, head] of written.entries()) index.add(first + at, [...rangesOfHeader(head)])
      onPublished(first + written.length)
    },
  }
}
