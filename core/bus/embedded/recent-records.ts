import type { LogRecord } from '../contract.ts'

/** A committed record with the memory that it takes, about. */
interface CachedRecord {
  readonly record: LogRecord
  readonly bytes: number
}

/** Records of one topic-partition without a gap between their offsets. */
interface ConsecutiveRecords {
  readonly first: number
  readonly held: CachedRecord[]
}

/** Part of one partition, and how much of it at most. */
interface RecentRange {
  readonly topic: string
  readonly partition: number
  readonly from: number
  readonly to: number
}

/** The newest committed records, as the tree holds them too: readers at the head are served without a walk and a copy. */
export interface RecentRecords {
  /** Takes the next record of a partition. */
  add(record: LogRecord): void
  /** Records from `from` on; undefined when the first of them is not held. */
  range(range: RecentRange): Iterable<CachedRecord> | undefined
  /** Forgets all, because records of the tree were removed. */
  clear(): void
}

/** Memory that a record takes, about. */
export const estimateRecordBytes = ({ key, headers, value }: LogRecord): number => {
  let bytes = 64 + key.length + (value?.byteLength ?? 0)
  for (const name in headers) bytes += name.length + (headers[name]?.length ?? 0)
  return bytes
}

const partitionKey = (topic: string, partition: number): string => `${partition}/${topic}`

const endOffsetOf = ({ first, held }: ConsecutiveRecords): number => first + held.length

function* recordsInRange(
  runs: readonly ConsecutiveRecords[],
  from: number,
  to: number,
): Iterable<CachedRecord> {
  for (const { first, held } of runs) {
    const end = Math.min(held.length, to - first)
    for (let at = Math.max(0, from - first); at < end; at += 1) {
      const one = held[at]
      if (one !== undefined) yield one
    }
  }
}

/**
 * Holds at most `mostBytes`, and one record more: a half that is full makes the other one go, so that nothing is moved
 * or searched.
 */
export const makeRecentRecords = (mostBytes: number): RecentRecords => {
  let older = new Map<string, ConsecutiveRecords>()
  let newer = new Map<string, ConsecutiveRecords>()
  let bytes = 0
  return {
    add: (record) => {
      if (bytes > mostBytes / 2) {
        older = newer
        newer = new Map()
        bytes = 0
      }
      const held = { record, bytes: estimateRecordBytes(record) }
      const key = partitionKey(record.topic, record.partition)
      const run = newer.get(key)
      if (run === undefined) newer.set(key, { first: record.offset, held: [held] })
      else run.held.push(held)
      bytes += held.bytes
    },
    range: ({ topic, partition, from, to }) => {
      const key = partitionKey(topic, partition)
      const runs = [older.get(key), newer.get(key)].filter((run) => run !== undefined)
      const [first] = runs
      const last = runs.at(-1)
      if (first === undefined || last === undefined) return undefined
      return from < first.first || to > endOffsetOf(last)
        ? undefined
        : recordsInRange(runs, from, to)
    },
    clear: () => {
      older = new Map()
      newer = new Map()
      bytes = 0
    },
  }
}
