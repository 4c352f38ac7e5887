import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Database, Key, RootDatabase } from 'lmdb'
import { LRUCache } from 'lru-cache'
import { Packr } from 'msgpackr'
import {
  type BatchIndex,
  type Marks,
  openIndex,
  type PlacedSpan,
  type Span,
} from './bus-embedded-index.ts'

/** A record without its place: key, headers as name, value, name, value..., value. */
export type BatchRecord = readonly [
  key: string,
  headers: readonly string[],
  value: Uint8Array | null,
]

/**
 * Head of a batch as it lies in lmdb: log time and bytes of the body, then topic id, partition, first offset and number of
 * records of each span.
 */
type StoredHead = readonly [timestampMs: number, bytes: number, ...spans: readonly number[]]

/** A part of a body: batch, and which part. */
type PieceKey = [batch: number, piece: number]

/** Records of one partition within a batch. */
export interface Run {
  readonly topicId: number
  readonly partition: number
  /** Offset of the first one; there is no gap. */
  readonly base: number
  readonly records: readonly BatchRecord[]
}

/** A batch as it is read. */
interface Batch {
  readonly timestampMs: number
  readonly runs: ReadonlyMap<string, readonly BatchRecord[]>
}

/** Work on the batches within one transaction, to be forgotten when it fails. */
export interface BatchDraft {
  /** Writes one batch, and now and then the index of those before it. */
  write(timestampMs: number, runs: readonly Run[]): void
  /** After the transaction: makes its batches readable. */
  publish(): void
}

/** Records of topics that are cleaned by deletion: those that one commit wrote, together and compressed. */
export interface Batches {
  /** Tables that they take. */
  readonly tables: readonly Pick<Database<unknown, Key>, 'getStats'>[]
  draft(): BatchDraft
  /** Spans of a partition with offsets from `from` on, in order. */
  spans(topicId: number, partition: number, from: number): Iterable<Span>
  /** Log time of a batch. */
  timeOf(batch: number): number
  read(span: Span, topicId: number, partition: number): BatchOfPartition
  /**
   * Takes spans from the beginning of a partition, within a transaction; batches go when none of their records is left.
   * `lowOf` tells the first offset that stays in each partition. Returns what is to be done after the transaction.
   */
  remove(spans: readonly Span[], at: PartitionOf, lowOf: LowOf): () => void
}

/** Records of one partition in one batch. */
export interface BatchOfPartition {
  readonly timestampMs: number
  readonly records: readonly BatchRecord[]
}

interface PartitionOf {
  readonly topicId: number
  readonly partition: number
}

type LowOf = (topicId: number, partition: number) => number

/** Bytes of unpacked batches held for the next reader: readers of different topics want the same ones. */
const UNPACKED_BYTES = 16_777_216
const DEFLATE = { level: 3 } as const
/** Four of them fill a page of lmdb, which gives whole pages to what is larger than half of one. */
const PIECE_BYTES = 980
/** Numbers of batches only grow: lmdb fills each page before it begins another. */
const APPEND = { append: true } as const
const FIELDS_OF_HEAD = 2
const FIELDS_OF_SPAN = 4

const packr = new Packr({ useRecords: false })
const runKey = (topicId: number, partition: number): string => `${topicId}/${partition}`

const packed = (runs: readonly Run[]): Buffer =>
  deflateRawSync(packr.pack(runs.map(({ records }) => records)), DEFLATE)

/** What `packed` wrote: per span its records. */
const unpacked = (body: Buffer): { readonly runs: readonly BatchRecord[][]; bytes: number } => {
  const bytes = inflateRawSync(body)
  const runs: readonly BatchRecord[][] = packr.unpack(bytes)
  return { runs, bytes: bytes.length }
}

function* spansOf(head: StoredHead): Iterable<PlacedSpan> {
  for (let at = FIELDS_OF_HEAD; at < head.length; at += FIELDS_OF_SPAN) {
    const [topicId = 0, partition = 0, base = 0, count = 0] = head.slice(at) as readonly number[]
    yield { topicId, partition, base, count }
  }
}

const headOf = (timestampMs: number, bytes: number, runs: readonly Run[]): StoredHead => [
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
const keysOf = (batch: number, [, bytes]: StoredHead): readonly PieceKey[] =>
  Array.from({ length: Math.ceil(bytes / PIECE_BYTES) }, (_, piece) => [batch, piece])

/** Opens the tables of batches in a log's environment. */
export const openBatches = (root: RootDatabase, meta: Marks): Batches => {
  const heads = root.openDB<StoredHead, number>('heads', {})
  const pieces = root.openDB<Buffer, PieceKey>('pieces', { encoding: 'binary' })
  const { index, table } = openIndex(root, meta)
  const cached = new LRUCache<number, Batch>({ maxSize: UNPACKED_BYTES })
  let next = index.indexed + 1
  for (const { key, value } of heads.getRange({ start: next })) {
    index.add(key, [...spansOf(value)])
    next = key + 1
  }
  const headAt = (batch: number): StoredHead => {
    const head = heads.get(batch)
    if (head === undefined) throw new Error(`batch ${batch} of the log is gone`)
    return head
  }
  const pieceAt = (key: PieceKey): Buffer => {
    const piece = pieces.get(key)
    if (piece === undefined) throw new Error(`part ${key[1]} of batch ${key[0]} of the log is gone`)
    return piece
  }
  const read = (number: number): Batch => {
    const held = cached.get(number)
    if (held !== undefined) return held
    const head = headAt(number)
    const { runs, bytes } = unpacked(Buffer.concat(keysOf(number, head).map(pieceAt)))
    const named = [...spansOf(head)].map(
      ({ topicId, partition }, at) => [runKey(topicId, partition), runs[at] ?? []] as const,
    )
    const batch = { timestampMs: head[0], runs: new Map(named) }
    cached.set(number, batch, { size: bytes })
    return batch
  }
  return {
    tables: [heads, pieces, table],
    draft: () =>
      draftOn({
        heads,
        pieces,
        index,
        first: next,
        onPublished: (to) => {
          next = to
        },
      }),
    spans: index.spans,
    timeOf: (batch) => headAt(batch)[0],
    read: ({ batch }, topicId, partition) => {
      const { timestampMs, runs } = read(batch)
      return { timestampMs, records: runs.get(runKey(topicId, partition)) ?? [] }
    },
    remove: (spans, { topicId, partition }, lowOf) => {
      const low = lowOf(topicId, partition)
      const done = index.remove(topicId, partition, low)
      for (const { batch } of spans) {
        const head = headAt(batch)
        const isOver = [...spansOf(head)].every(
          (span) => span.base + span.count <= lowOf(span.topicId, span.partition),
        )
        if (!isOver) continue
        heads.removeSync(batch)
        for (const key of keysOf(batch, head)) pieces.removeSync(key)
      }
      return () => {
        done()
        for (const { batch } of spans) cached.delete(batch)
      }
    },
  }
}

interface DraftPlan {
  readonly heads: Database<StoredHead, number>
  readonly pieces: Database<Buffer, PieceKey>
  readonly index: BatchIndex
  readonly first: number
  readonly onPublished: (next: number) => void
}

const draftOn = ({ heads, pieces, index, first, onPublished }: DraftPlan): BatchDraft => {
  const written: StoredHead[] = []
  let indexed: (() => void) | undefined
  return {
    write: (timestampMs, runs) => {
      indexed ??= index.save()
      const batch = first + written.length
      const body = packed(runs)
      const head = headOf(timestampMs, body.length, runs)
      heads.putSync(batch, head, APPEND)
      for (const key of keysOf(batch, head)) {
        const from = key[1] * PIECE_BYTES
        pieces.putSync(key, body.subarray(from, from + PIECE_BYTES), APPEND)
      }
      written.push(head)
    },
    publish: () => {
      indexed?.()
      for (const [at, head] of written.entries()) index.add(first + at, [...spansOf(head)])
      onPublished(first + written.length)
    },
  }
}
