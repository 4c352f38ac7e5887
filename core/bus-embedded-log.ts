import { randomUUID } from 'node:crypto'
import { type Database, open, type RootDatabase } from 'lmdb'
import type { Ends, GroupOffset, Headers, LogRecord, TopicSpec } from './bus-contract.ts'
import { type Recent, recentRecords, recordBytes } from './bus-embedded-recent.ts'
import { Outage } from './fault.ts'
import { claimFolder } from './folder-owner.ts'

/** Layout of the folder; another number is another layout and is refused. */
const FORMAT = 1
/** Offsets take 6 bytes of the key. */
const LAST_OFFSET = 2 ** 48 - 1
/** Newest records held in memory: a second or two of what a busy process writes. */
const RECENT_BYTES = 33_554_432

/** A record as it lies in lmdb (msgpack): log time, key, headers as name, value, name, value..., value. */
export type StoredRecord = readonly [
  timestampMs: number,
  key: string,
  headers: readonly string[],
  value: Uint8Array | null,
]

/** A group's place as it lies in lmdb. */
export type StoredOffset = readonly [offset: number, metadata: string | null]

/** A topic with its bounds, as committed. `low` is the first offset kept, `next` the one after the last. */
export interface EmbeddedTopic {
  readonly id: number
  readonly spec: TopicSpec
  readonly low: number[]
  readonly next: number[]
}

/** The open folder: five tables of one lmdb environment and the topics, mirrored in memory. */
export interface EmbeddedLog {
  readonly path: string
  /** Made with the folder: no other log bears it. */
  readonly id: string
  readonly root: RootDatabase
  /** Topic id, partition, offset -> record. */
  readonly records: Database<StoredRecord, Buffer>
  /** Group, topic, partition -> place. */
  readonly offsets: Database<StoredOffset, [string, string, number]>
  /** Store, partition, key -> value. */
  readonly state: Database<Buffer, [string, number, string]>
  /** Topic rows, bounds, compaction marks, owner. */
  readonly meta: Database<unknown, (string | number)[]>
  readonly topics: Map<string, EmbeddedTopic>
  /** Newest records that this process committed. */
  readonly recent: Recent
  close(): Promise<void>
}

/** A bound of what one scan gives back. */
export interface ScanLimit {
  readonly records: number
  readonly bytes: number
}

/** Opens or makes the folder. Throws `Outage` when another live process holds it or its layout is not ours. */
export const openLog = (path: string, mapSizeBytes: number): EmbeddedLog => {
  const release = claimFolder(path)
  const root = open({
    path,
    noSubdir: false,
    mapSize: mapSizeBytes,
    maxDbs: 8,
    overlappingSync: false,
  })
  const meta = root.openDB<unknown, (string | number)[]>('meta', {})
  try {
    root.transactionSync(() => {
      const format = meta.get(['format']) ?? FORMAT
      if (format !== FORMAT) {
        throw new Outage('bus', `${path} has layout ${format}, not ${FORMAT}`, { final: true })
      }
      meta.putSync(['format'], FORMAT)
      if (meta.get(['life']) === undefined) meta.putSync(['life'], randomUUID())
    })
  } catch (error) {
    root.close()
    release()
    throw error
  }
  return {
    path,
    id: String(meta.get(['life'])),
    root,
    meta,
    records: root.openDB<StoredRecord, Buffer>('records', { keyEncoding: 'binary' }),
    offsets: root.openDB<StoredOffset, [string, string, number]>('offsets', {}),
    state: root.openDB<Buffer, [string, number, string]>('state', { encoding: 'binary' }),
    topics: loadTopics(meta),
    recent: recentRecords(RECENT_BYTES),
    close: async () => {
      await root.close()
      release()
    },
  }
}

/** Topics and their bounds as committed now. */
export const loadTopics = (meta: EmbeddedLog['meta']): Map<string, EmbeddedTopic> => {
  const topics = new Map<string, EmbeddedTopic>()
  for (const { value } of meta.getRange({ start: ['topic'], end: ['topic', '\uffff'] })) {
    const { id, spec } = value as Pick<EmbeddedTopic, 'id' | 'spec'>
    const bound = (kind: string): number[] =>
      Array.from({ length: spec.partitions }, (_, p) => (meta.get([kind, id, p]) as number) ?? 0)
    topics.set(spec.topic, { id, spec, low: bound('low'), next: bound('next') })
  }
  return topics
}

/** Makes topics that are missing and takes over cleanup and retention of those that exist. */
export const ensureTopics = (log: EmbeddedLog, specs: readonly TopicSpec[]): void => {
  const added = new Map<string, EmbeddedTopic>()
  log.root.transactionSync(() => {
    for (const spec of specs) {
      const held = log.topics.get(spec.topic) ?? added.get(spec.topic)
      if (held && held.spec.partitions !== spec.partitions) {
        const { partitions } = held.spec
        throw new Outage(
          'bus',
          `${spec.topic} has ${partitions} partitions, not ${spec.partitions}`,
          {
            final: true,
          },
        )
      }
      const id = held?.id ?? log.topics.size + added.size + 1
      const zeros = (): number[] => Array.from({ length: spec.partitions }, () => 0)
      log.meta.putSync(['topic', spec.topic], { id, spec })
      added.set(spec.topic, { id, spec, low: held?.low ?? zeros(), next: held?.next ?? zeros() })
    }
  })
  for (const [name, topic] of added) log.topics.set(name, topic)
}

/** Throws `Outage` for a topic that was not created. */
export const topicOf = (log: EmbeddedLog, topic: string): EmbeddedTopic => {
  const found = log.topics.get(topic)
  if (!found) throw new Outage('bus', `no topic ${topic}`, { final: true })
  return found
}

/** Bounds of every partition of a topic. */
export const endsOf = ({ low, next }: EmbeddedTopic): readonly Ends[] =>
  next.map((end, partition) => ({ partition, low: low[partition] ?? 0, end }))

/** Key of a record: topic id, partition, offset; big-endian, so the tree keeps the log's order. */
export const recordKey = (topicId: number, partition: number, offset: number): Buffer => {
  const key = Buffer.allocUnsafe(12)
  key.writeUInt32BE(topicId, 0)
  key.writeUInt16BE(partition, 4)
  key.writeUIntBE(Math.min(offset, LAST_OFFSET), 6, 6)
  return key
}

/** Offset in a record key. */
export const offsetIn = (key: Buffer): number => key.readUIntBE(6, 6)

/** Committed records from `from` up to `to`, and where to read on; `next` passes over compacted offsets. */
export const scan = (
  log: EmbeddedLog,
  { topic, partition, from, to }: ScanRange,
  limit: ScanLimit,
): { readonly records: readonly LogRecord[]; readonly next: number; readonly bytes: number } => {
  const { id } = topicOf(log, topic)
  const records: LogRecord[] = []
  let bytes = 0
  const range = { topic, partition, from, to }
  for (const found of log.recent.range(range) ?? stored(log, id, range)) {
    const more = bytes + found.bytes
    if (records.length >= limit.records || (bytes > 0 && more > limit.bytes)) {
      return { records, next: found.record.offset, bytes }
    }
    bytes = more
    records.push(found.record)
  }
  return { records, next: Math.max(from, to), bytes }
}

/** Records as the tree holds them. */
function* stored(
  log: EmbeddedLog,
  id: number,
  { topic, partition, from, to }: ScanRange,
): Iterable<{ readonly record: LogRecord; readonly bytes: number }> {
  const range = log.records.getRange({
    start: recordKey(id, partition, from),
    end: recordKey(id, partition, to),
  })
  for (const { key, value } of range) {
    const record = toRecord({ topic, partition, offset: offsetIn(key) }, value)
    yield { record, bytes: recordBytes(record) }
  }
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
export const headerPairs = (headers: Headers | undefined): readonly string[] =>
  headers ? Object.entries(headers).flat() : []

/** Places of a group on the named topics. */
export const groupOffsets = (
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
