import { randomUUID } from 'node:crypto'
import { type Database, open, type RootDatabase, type RootDatabaseOptionsWithPath } from 'lmdb'
import { Outage } from '../../errors.ts'
import type {
  GroupOffset,
  LogRecord,
  PartitionBounds,
  RecordHeaders,
  TopicSpec,
} from '../contract.ts'
import { type MetaTable, offsetKey, offsetOfKey } from './batch-index.ts'
import { type BatchStore, openBatchStore } from './batch-store.ts'
import { runTransaction } from './lmdb.ts'
import { acquireFolderLock } from './process-lock.ts'
import { estimateRecordBytes, makeRecentRecords, type RecentRecords } from './recent-records.ts'

/** Layout of the folder; another number is another layout and is refused. */
const LAYOUT_VERSION = 2
/** Tables that an environment may have. */
export const MAX_TABLES = 8
/** Newest records held in memory: a second or two of what a busy process writes. */
const MAX_RECENT_BYTES = 33_554_432

/** A record as it lies in lmdb (msgpack): log time, key, headers as name, value, name, value..., value. */
export type StoredRecord = readonly [
  timestampMs: number,
  key: string,
  headers: readonly string[],
  value: Uint8Array | null,
]

/** A group's committed offset as it is stored in lmdb. */
export type StoredOffset = readonly [offset: number, metadata: string | null]

/** A topic with its bounds, as committed. `low` is the first offset kept, `next` the one after the last. */
export interface EmbeddedTopic {
  readonly id: number
  readonly spec: TopicSpec
  /** Its records lie in batches; else each alone, so that a newer record of its key can replace it. */
  readonly isBatched: boolean
  readonly low: number[]
  readonly next: number[]
}

/** State of all lanes: store, partition, key -> value. */
export type StateTable = Database<Buffer, [string, number, string]>

/** The open folder: the tables of one lmdb environment and the topics, mirrored in memory. */
export interface EmbeddedLog {
  readonly path: string
  /** Made with the folder: no other log bears it. */
  readonly id: string
  readonly root: RootDatabase
  /** Records of topics that are compacted: topic id, partition, offset -> record. */
  readonly records: Database<StoredRecord, Buffer>
  /** Records of all other topics. */
  readonly batches: BatchStore
  /** Group, topic, partition -> committed offset. */
  readonly offsets: Database<StoredOffset, [string, string, number]>
  readonly state: StateTable
  /** Topic rows, bounds, compaction marks. */
  readonly meta: MetaTable
  readonly topics: Map<string, EmbeddedTopic>
  /** Newest records that this process committed. */
  readonly recent: RecentRecords
  close(): Promise<void>
}

/** A bound of what one scan gives back. */
export interface ScanLimit {
  readonly records: number
  readonly bytes: number
}

/** Opens or makes the folder. Throws `Outage` when another live process holds it or its layout is not ours. */
export const openLog = (path: string, mapSizeBytes: number): EmbeddedLog =>
  openEnvironment(path, { mapSize: mapSizeBytes, overlappingSync: false }, (root) => {
    const meta: MetaTable = root.openDB('meta', {})
    const format = meta.get(['format']) ?? LAYOUT_VERSION
    if (format !== LAYOUT_VERSION) throw layoutMismatch(path, format)
    const tables = openTables(root, MAX_RECENT_BYTES)
    // After the tables: a process that ends in between leaves a folder that is made again, not one without some of them.
    runTransaction(root, () => {
      if (meta.get(['life']) === undefined) meta.putSync(['life'], randomUUID())
      meta.putSync(['format'], LAYOUT_VERSION)
    })
    return { ...tables, id: String(meta.get(['life'])) }
  })

/** Opens a log that has no writer. Throws `Outage` as `openLog` does, and `IncompleteLog`. */
export const openLogReadOnly = (path: string): EmbeddedLog =>
  openEnvironment(path, { readOnly: true }, (root) => {
    const meta = root.openDB<unknown, (string | number)[]>('meta', {}) as MetaTable | undefined
    const format = meta?.get(['format'])
    if (meta === undefined || format === undefined) throw new IncompleteLog(path)
    if (format !== LAYOUT_VERSION) throw layoutMismatch(path, format)
    return { ...openTables(root, 0), id: String(meta.get(['life'])) }
  })

/** A folder whose first process ended before its log was made: whoever opens it to write makes it. */
export class IncompleteLog extends Outage {
  constructor(path: string) {
    super('bus', `${path} holds an incomplete log; delete the folder, or restore a backup`, {
      final: true,
    })
  }
}

const layoutMismatch = (path: string, format: unknown): Outage =>
  new Outage(
    'bus',
    `${path} has a log of layout ${format}, not one of layout ${LAYOUT_VERSION}: use another folder`,
    { final: true },
  )

/**
 * State of a block that is not final is a long text that repeats itself, written once and removed soon. lmdb-js packs values of a
 * thousand bytes and more by LZ4, to a third of their pages, and reads those that were written as they are.
 */
export const openStateTable = (root: RootDatabase): StateTable =>
  root.openDB('state', { encoding: 'binary', compression: true })

/** Claims the folder, opens its environment, and lets go of both when what follows fails. */
const openEnvironment = (
  path: string,
  options: Omit<RootDatabaseOptionsWithPath, 'path'>,
  use: (root: RootDatabase) => Omit<EmbeddedLog, 'path' | 'root' | 'close'>,
): EmbeddedLog => {
  const release = acquireFolderLock(path)
  let root: RootDatabase | undefined
  try {
    const environment = open({ path, noSubdir: false, maxDbs: MAX_TABLES, ...options })
    root = environment
    const close = async (): Promise<void> => {
      await environment.close()
      release()
    }
    return { path, root, close, ...use(environment) }
  } catch (error) {
    root?.close()
    release()
    throw error
  }
}

const openTables = (
  root: RootDatabase,
  recentBytes: number,
): Omit<EmbeddedLog, 'path' | 'root' | 'close' | 'id'> => {
  const meta: MetaTable = root.openDB('meta', {})
  return {
    meta,
    records: root.openDB<StoredRecord, Buffer>('records', { keyEncoding: 'binary' }),
    batches: openBatchStore(root, meta),
    offsets: root.openDB<StoredOffset, [string, string, number]>('offsets', {}),
    state: openStateTable(root),
    topics: loadTopics(meta),
    recent: makeRecentRecords(recentBytes),
  }
}

/** Topics and their bounds as committed now. */
const loadTopics = (meta: EmbeddedLog['meta']): Map<string, EmbeddedTopic> => {
  const topics = new Map<string, EmbeddedTopic>()
  for (const { value } of meta.getRange({ start: ['topic'], end: ['topic', '\uffff'] })) {
    const { id, spec } = value as Pick<EmbeddedTopic, 'id' | 'spec'>
    const bound = (kind: string): number[] =>
      Array.from({ length: spec.partitions }, (_, p) => (meta.get([kind, id, p]) as number) ?? 0)
    const isBatched = spec.cleanup === 'delete'
    topics.set(spec.topic, { id, spec, isBatched, low: bound('low'), next: bound('next') })
  }
  return topics
}

/** Makes topics that are missing and takes over retention of those that exist. Throws `Outage` where one was made otherwise. */
export const ensureTopics = (log: EmbeddedLog, specs: readonly TopicSpec[]): void => {
  const added = new Map<string, EmbeddedTopic>()
  let lastId = Math.max(0, ...[...log.topics.values()].map(({ id }) => id))
  const newId = (): number => {
    lastId += 1
    return lastId
  }
  runTransaction(log.root, () => {
    for (const spec of specs) {
      const held = log.topics.get(spec.topic) ?? added.get(spec.topic)
      const isBatched = spec.cleanup === 'delete'
      if (held) assertSameLayout(held, spec)
      const id = held?.id ?? newId()
      const zeros = (): number[] => Array.from({ length: spec.partitions }, () => 0)
      log.meta.putSync(['topic', spec.topic], { id, spec })
      const [low, next] = [held?.low ?? zeros(), held?.next ?? zeros()]
      added.set(spec.topic, { id, spec, isBatched, low, next })
    }
  })
  for (const [name, topic] of added) log.topics.set(name, topic)
}

/** Records of a topic lie where its partitions and its cleanup said when it was made. */
const assertSameLayout = ({ spec, isBatched }: EmbeddedTopic, wanted: TopicSpec): void => {
  const refuse = (what: string): Outage =>
    new Outage('bus', `${wanted.topic} has ${what}`, { final: true })
  if (spec.partitions !== wanted.partitions) {
    throw refuse(`${spec.partitions} partitions, not ${wanted.partitions}`)
  }
  if (isBatched !== (wanted.cleanup === 'delete')) {
    throw refuse(`the cleanup policy ${spec.cleanup}, not ${wanted.cleanup}`)
  }
}

/** Throws `Outage` for a topic that was not created. */
export const getTopic = (log: EmbeddedLog, topic: string): EmbeddedTopic => {
  const found = log.topics.get(topic)
  if (!found) throw new Outage('bus', `topic ${topic} does not exist`, { final: true })
  return found
}

/** Bounds of every partition of a topic. */
export const topicBounds = ({ low, next }: EmbeddedTopic): readonly PartitionBounds[] =>
  next.map((end, partition) => ({ partition, low: low[partition] ?? 0, end }))

/** Committed records from `from` up to `to`, and where to read on; `next` passes over compacted offsets. */
export const scanRecords = (
  log: EmbeddedLog,
  { topic, partition, from, to }: ScanRange,
  limit: ScanLimit,
): { readonly records: readonly LogRecord[]; readonly next: number; readonly bytes: number } => {
  const held = getTopic(log, topic)
  const records: LogRecord[] = []
  let bytes = 0
  const range = { topic, partition, from, to }
  for (const found of log.recent.range(range) ?? scanStored(log, held, range)) {
    const more = bytes + found.bytes
    if (records.length >= limit.records || (bytes > 0 && more > limit.bytes)) {
      return { records, next: found.record.offset, bytes }
    }
    bytes = more
    records.push(found.record)
  }
  return { records, next: Math.max(from, to), bytes }
}

/** A record, and what it took to have it. */
interface ScannedRecord {
  readonly record: LogRecord
  readonly bytes: number
}

/** Records as the tables hold them. */
const scanStored = (log: EmbeddedLog, { id, isBatched }: EmbeddedTopic, range: ScanRange) =>
  isBatched ? scanBatches(log, id, range) : scanSingleRecords(log, id, range)

function* scanSingleRecords(
  log: EmbeddedLog,
  id: number,
  { topic, partition, from, to }: ScanRange,
): Iterable<ScannedRecord> {
  const range = log.records.getRange({
    start: offsetKey(id, partition, from),
    end: offsetKey(id, partition, to),
  })
  for (const { key, value } of range) {
    const record = toRecord({ topic, partition, offset: offsetOfKey(key) }, value)
    yield { record, bytes: estimateRecordBytes(record) }
  }
}

/** A batch that had to be unpacked counts with all that it holds. */
function* scanBatches(
  { batches }: EmbeddedLog,
  id: number,
  { topic, partition, from, to }: ScanRange,
): Iterable<ScannedRecord> {
  let next = from
  for (const range of batches.ranges(id, partition, from)) {
    if (range.base >= to) break
    const { timestampMs, records, unpackedBytes } = batches.read(range, id, partition)
    let bytes = unpackedBytes
    const end = Math.min(range.base + range.count, to)
    for (let offset = Math.max(range.base, from); offset < end; offset += 1) {
      const held = offset === next ? records[offset - range.base] : undefined
      if (held === undefined) throw new Error(`${topic}/${partition}: offset ${next} is gone`)
      const [key, pairs, value] = held
      // A copy: a view would keep the whole batch in memory for as long as the record is held.
      const own = value && Buffer.from(value)
      const record = toRecord({ topic, partition, offset }, [timestampMs, key, pairs, own])
      bytes += estimateRecordBytes(record)
      yield { record, bytes }
      bytes = 0
      next = offset + 1
    }
  }
  if (next < to) throw new Error(`${topic}/${partition}: offset ${next} is gone`)
}

/** Part of one partition. */
export interface ScanRange {
  readonly topic: string
  readonly partition: number
  readonly from: number
  readonly to: number
}

const toRecord = (
  at: Pick<LogRecord, 'topic' | 'partition' | 'offset'>,
  [timestampMs, key, pairs, value]: StoredRecord,
): LogRecord => {
  const headers: Record<string, string> = {}
  for (let i = 0; i < pairs.length; i += 2) headers[pairs[i] ?? ''] = pairs[i + 1] ?? ''
  return { key, ...at, value, headers, timestampMs }
}

/** Headers as they are stored. */
export const toHeaderPairs = (headers: RecordHeaders | undefined): readonly string[] =>
  headers ? Object.entries(headers).flat() : []

/** Committed offsets of a group on the named topics. */
export const readGroupOffsets = (
  log: EmbeddedLog,
  group: string,
  topics: readonly string[],
): readonly GroupOffset[] =>
  topics.flatMap((topic) => {
    const range = log.offsets.getRange({
      start: [group, topic, 0],
      end: [group, topic, Number.MAX_SAFE_INTEGER],
    })
    return [...range].map(({ key: [, , partition], value: [offset, metadata] }) => ({
      topic,
      partition,
      offset,
      ...(metadata !== null && { metadata }),
    }))
  })
