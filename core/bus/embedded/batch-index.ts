import type { Database, RootDatabase } from 'lmdb'

/** Offsets of one partition that one batch holds, without a gap. */
export interface IndexedRange {
  /** First offset. */
  readonly base: number
  readonly count: number
  /** Number of the batch. */
  readonly batch: number
}

/** A span with its partition, before it is indexed. */
export interface PartitionRange extends Omit<IndexedRange, 'batch'> {
  readonly topicId: number
  readonly partition: number
}

/**
 * Which batch holds which offsets. What came last is held in memory and read again from the heads of the batches after a
 * start; the rest lies in rows of many spans, so that a commit does not touch a page for each of its topics.
 */
export interface BatchIndex {
  /** Newest batch whose spans lie in rows. */
  readonly indexed: number
  /** Takes a committed batch. */
  add(batch: number, ranges: readonly PartitionRange[]): void
  /** Spans of a partition with offsets from `from` on, in order. */
  ranges(topicId: number, partition: number, from: number): Iterable<IndexedRange>
  /** Within a transaction: writes what is held in memory, when that is much. Returns what is to be done after it. */
  save(): () => void
  /** Within a transaction: removes rows below an offset. Returns what is to be done after it. */
  remove(topicId: number, partition: number, low: number): () => void
}

/** Spans of one row: first offset, number of records, batch, and so on. */
type StoredRanges = readonly number[]

/** Batches whose spans memory holds. */
const MAX_UNINDEXED_BATCHES = 256
const FIELDS_PER_RANGE = 3
/** Offsets take 6 bytes of a key. */
const MAX_OFFSET = 2 ** 48 - 1

/** Key of a position in the log: topic id, partition, offset; big-endian, so that the tree keeps the log's order. */
export const offsetKey = (topicId: number, partition: number, offset: number): Buffer => {
  const key = Buffer.allocUnsafe(12)
  key.writeUInt32BE(topicId, 0)
  key.writeUInt16BE(partition, 4)
  key.writeUIntBE(Math.min(offset, MAX_OFFSET), 6, 6)
  return key
}

/** Offset in such a key. */
export const offsetOfKey = (key: Buffer): number => key.readUIntBE(6, 6)

/** Bytes that name the partition. */
const PARTITION_PREFIX_BYTES = 6
/** Key of the newest indexed batch among the log's marks. */
const LAST_INDEXED_KEY = ['indexed']

function* rangesInRow(row: StoredRanges): Iterable<IndexedRange> {
  for (let at = 0; at < row.length; at += FIELDS_PER_RANGE) {
    yield { base: row[at] ?? 0, count: row[at + 1] ?? 0, batch: row[at + 2] ?? 0 }
  }
}

/** Table of a log's marks. */
export type MetaTable = Database<unknown, (string | number)[]>

/** Opens the index and the table that it takes. */
export const openBatchIndex = (
  root: RootDatabase,
  meta: MetaTable,
): { readonly index: BatchIndex; readonly table: Database<StoredRanges, Buffer> } => {
  const table = root.openDB<StoredRanges, Buffer>('index', { keyEncoding: 'binary' })
  /** By the partition's bytes of a key. */
  let held = new Map<string, IndexedRange[]>()
  let indexed = Number(meta.get(LAST_INDEXED_KEY) ?? 0)
  let newest = indexed
  const nameOf = (topicId: number, partition: number): string =>
    offsetKey(topicId, partition, 0).toString('latin1', 0, PARTITION_PREFIX_BYTES)
  /** The row that may hold an offset, and those behind it. */
  function* rows(topicId: number, partition: number, from: number): Iterable<StoredRanges> {
    const first = offsetKey(topicId, partition, 0)
    let start = first
    for (const key of table.getKeys({
      start: offsetKey(topicId, partition, from),
      reverse: true,
      limit: 1,
    })) {
      if (key.compare(first) >= 0) start = key
    }
    const end = offsetKey(topicId, partition, MAX_OFFSET)
    for (const { value } of table.getRange({ start, end })) yield value
  }
  const index: BatchIndex = {
    get indexed() {
      return indexed
    },
    add: (batch, ranges) => {
      newest = batch
      for (const { topicId, partition, base, count } of ranges) {
        const name = nameOf(topicId, partition)
        const list = held.get(name)
        if (list === undefined) held.set(name, [{ base, count, batch }])
        else list.push({ base, count, batch })
      }
    },
    *ranges(topicId, partition, from) {
      for (const row of rows(topicId, partition, from)) {
        for (const range of rangesInRow(row)) if (range.base + range.count > from) yield range
      }
      for (const range of held.get(nameOf(topicId, partition)) ?? []) {
        if (range.base + range.count > from) yield range
      }
    },
    save: () => {
      if (newest - indexed < MAX_UNINDEXED_BATCHES) return () => undefined
      const to = newest
      for (const [name, ranges] of held) {
        const key = Buffer.concat([
          Buffer.from(name, 'latin1'),
          Buffer.alloc(PARTITION_PREFIX_BYTES),
        ])
        key.writeUIntBE(ranges[0]?.base ?? 0, PARTITION_PREFIX_BYTES, PARTITION_PREFIX_BYTES)
        table.putSync(
          key,
          ranges.flatMap(({ base, count, batch }) => [base, count, batch]),
        )
      }
      meta.putSync(LAST_INDEXED_KEY, to)
      return () => {
        held = new Map()
        indexed = to
      }
    },
    remove: (topicId, partition, low) => {
      const start = offsetKey(topicId, partition, 0)
      const end = offsetKey(topicId, partition, low)
      const over = [...table.getRange({ start, end })].filter(({ value }) =>
        [...rangesInRow(value)].every(({ base, count }) => base + count <= low),
      )
      for (const { key } of over) table.removeSync(key)
      return () => {
        const name = nameOf(topicId, partition)
        const left = held.get(name)?.filter(({ base, count }) => base + count > low) ?? []
        if (left.length > 0) held.set(name, left)
        else held.delete(name)
      }
    },
  }
  return { index, table }
}
