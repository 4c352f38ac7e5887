import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Database, Key, PutOptions, RootDatabase } from 'lmdb'
import { LRUCache } from 'lru-cache'
import { Packr } from 'msgpackr'
import {
  type BatchIndex,
  type Marks,
  openIndex,
  type PlacedSpan,
  type Span,
} from './batch-index.ts'

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
  readonly bytes: number
}

/** What a batch holds. */
export interface BatchHead {
  readonly batch: number
  readonly timestampMs: number
  /** Of the body as it is stored. */
  readonly bytes: number
  readonly spans: readonly PlacedSpan[]
}

/** Work on the batches within one transaction, to be forgotten when it fails. */
export interface BatchDraft {
  /** Writes one batch, and now and then the index of those before it. */
  write(timestampMs: number, runs: readonly Run[]): void
  /** After the transaction: makes its batches readable. */
  publish(): void
}

/** Records of topics that are cleaned by deletion: those that one commit wrote to one partition of each, together and compressed. */
export interface Batches {
  /** Tables that they take. */
  readonly tables: readonly Pick<Database<unknown, Key>, 'getStats'>[]
  draft(): BatchDraft
  /** Spans of a partition with offsets from `from` on, in order. */
  spans(topicId: number, partition: number, from: number): Iterable<Span>
  /** Log time of a batch. */
  timeOf(batch: number): number
  /** Heads of the batches from a number on, in order. */
  heads(from: number): Iterable<BatchHead>
  read(span: Span, topicId: number, partition: number): BatchOfPartition
  /**
   * Within a transaction: takes from batches what lies below the first offsets that stay, and from the index. A batch goes as a
   * whole when nothing of it is left, else what is left is written anew. Returns what is to be done after the transaction.
   */
  trim(batches: readonly number[], lows: Lows): () => void
}

/** First offsets that stay, by partition. */
export interface Lows {
  /** Those that change. */
  readonly changed: readonly { readonly topicId: number; readonly partition: number }[]
  of(topicId: number, partition: number): number
}

/** Records of one partition in one batch. */
export interface BatchOfPartition {
  readonly timestampMs: number
  readonly records: readonly BatchRecord[]
  /** Of the whole batch, when it had to be unpacked for this; else 0. */
  readonly unpackedBytes: number
}

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

/** First byte of a body: how the rest is written. */
const [AS_IT_IS, DEFLATED] = [0, 1]
/** Below that, compressing costs more than it saves. */
const LEAST_DEFLATED_BYTES = 512

const packed = (runs: readonly Run[]): Buffer => {
  const bytes = packr.pack(runs.map(({ records }) => records))
  return bytes.length < LEAST_DEFLATED_BYTES
    ? Buffer.concat([Buffer.of(AS_IT_IS), bytes])
    : Buffer.concat([Buffer.of(DEFLATED), deflateRawSync(bytes, DEFLATE)])
}

/** Batches are cut at a megabyte; one record may be as large as the bus takes. */
const MOST_UNPACKED_BYTES = 268_435_456

/** What `packed` wrote: per span its records. */
const unpacked = (body: Buffer): { readonly runs: readonly BatchRecord[][]; bytes: number } => {
  const rest = body.subarray(1)
  const bytes =
    body[0] === AS_IT_IS ? rest : inflateRawSync(rest, { maxOutputLength: MOST_UNPACKED_BYTES })
  const runs: readonly BatchRecord[][] = packr.unpack(bytes)
  return { runs, bytes: bytes.length }
}

function* spansOf(head: StoredHead): Iterable<PlacedSpan> {
  for (let at = FIELDS_OF_HEAD; at < head.length; at += FIELDS_OF_SPAN) {
    yield {
      topicId: head[at] ?? 0,
      partition: head[at + 1] ?? 0,
      base: head[at + 2] ?? 0,
      count: head[at + 3] ?? 0,
    }
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

const pieceOf = (body: Buffer, [, piece]: PieceKey): Buffer =>
  body.subarray(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES)

/** The tables of heads and bodies, a batch at a time. */
const openTables = (root: RootDatabase) => {
  const heads = root.openDB<StoredHead, number>('heads', {})
  const pieces = root.openDB<Buffer, PieceKey>('pieces', { encoding: 'binary' })
  const pieceAt = (key: PieceKey): Buffer => {
    const piece = pieces.get(key)
    if (piece === undefined) throw new Error(`part ${key[1]} of batch ${key[0]} of the log is gone`)
    return piece
  }
  return {
    heads,
    pieces,
    headAt: (batch: number): StoredHead => {
      const head = heads.get(batch)
      if (head === undefined) throw new Error(`batch ${batch} of the log is gone`)
      return head
    },
    unpack: (batch: number, head: StoredHead) =>
      unpacked(Buffer.concat(keysOf(batch, head).map(pieceAt))),
    put: (batch: number, [timestampMs, runs]: Filling, options: PutOptions = {}): StoredHead => {
      const body = packed(runs)
      const head = headOf(timestampMs, body.length, runs)
      heads.putSync(batch, head, options)
      for (const key of keysOf(batch, head)) pieces.putSync(key, pieceOf(body, key), options)
      return head
    },
    remove: (batch: number, head: StoredHead): void => {
      heads.removeSync(batch)
      for (const key of keysOf(batch, head)) pieces.removeSync(key)
    },
  }
}

/** Log time and records of a batch. */
type Filling = readonly [timestampMs: number, runs: readonly Run[]]
type Tables = ReturnType<typeof openTables>

/** Opens the tables of batches in a log's environment. */
export const openBatches = (root: RootDatabase, meta: Marks): Batches => {
  const tables = openTables(root)
  const { heads, headAt } = tables
  const { index, table } = openIndex(root, meta)
  const cached = new LRUCache<number, Batch>({ maxSize: UNPACKED_BYTES })
  let next = index.indexed + 1
  for (const { key, value } of heads.getRange({ start: next })) {
    index.add(key, [...spansOf(value)])
    next = key + 1
  }
  const onPublished = (to: number): void => {
    next = to
  }
  const read = (number: number): Batch => {
    const head = headAt(number)
    const { runs, bytes } = tables.unpack(number, head)
    const named = [...spansOf(head)].map(
      ({ topicId, partition }, at) => [runKey(topicId, partition), runs[at] ?? []] as const,
    )
    const batch = { timestampMs: head[0], runs: new Map(named), bytes }
    cached.set(number, batch, { size: bytes })
    return batch
  }
  return {
    tables: [heads, tables.pieces, table],
    draft: () => draftOn({ tables, index, first: next, onPublished }),
    spans: index.spans,
    timeOf: (batch) => headAt(batch)[0],
    *heads(from) {
      for (const { key, value } of heads.getRange({ start: from })) {
        yield { batch: key, timestampMs: value[0], bytes: value[1], spans: [...spansOf(value)] }
      }
    },
    read: ({ batch }, topicId, partition) => {
      const held = cached.get(batch)
      const { timestampMs, runs, bytes } = held ?? read(batch)
      const records = runs.get(runKey(topicId, partition)) ?? []
      return { timestampMs, records, unpackedBytes: held === undefined ? bytes : 0 }
    },
    trim: (batches, lows) => {
      const done = lows.changed.map(({ topicId, partition }) =>
        index.remove(topicId, partition, lows.of(topicId, partition)),
      )
      for (const batch of batches) trim(tables, batch, lows)
      return () => {
        for (const each of done) each()
        for (const batch of batches) cached.delete(batch)
      }
    },
  }
}

/** Takes from a batch what lies below the lows. */
const trim = (tables: Tables, batch: number, { of }: Lows): void => {
  const head = tables.headAt(batch)
  const spans = [...spansOf(head)]
  const isLeft = ({ topicId, partition, base, count }: PlacedSpan): boolean =>
    base + count > of(topicId, partition)
  if (spans.every(isLeft)) return
  if (!spans.some(isLeft)) {
    tables.remove(batch, head)
    return
  }
  const { runs } = tables.unpack(batch, head)
  const left = spans.flatMap((span, at) =>
    isLeft(span) ? [{ ...span, records: runs[at] ?? [] }] : [],
  )
  tables.remove(batch, head)
  tables.put(batch, [head[0], left])
}

interface DraftPlan {
  readonly tables: Tables
  readonly index: BatchIndex
  readonly first: number
  readonly onPublished: (next: number) => void
}

const draftOn = ({ tables, index, first, onPublished }: DraftPlan): BatchDraft => {
  const written: StoredHead[] = []
  let indexed: (() => void) | undefined
  return {
    write: (timestampMs, runs) => {
      indexed ??= index.save()
      written.push(tables.put(first + written.length, [timestampMs, runs], APPEND))
    },
    publish: () => {
      indexed?.()
      for (const [at, head] of written.entries()) index.add(first + at, [...spansOf(head)])
      onPublished(first + written.length)
    },
  }
}
