import { existsSync } from 'node:fs'
import { open } from 'lmdb'
import type { LogRecord } from './bus-contract.ts'
import {
  type EmbeddedLog,
  endsOf,
  loadTopics,
  type StoredOffset,
  type StoredRecord,
  scan,
} from './bus-embedded-log.ts'
import { recentRecords } from './bus-embedded-recent.ts'
import { Outage } from './fault.ts'
import { pause } from './retry.ts'

/** How often the log is looked at for new records, and what one look takes. */
const POLL_MS = 100
const CHUNK = { records: 500, bytes: 4_194_304 }

/** A look at a log that another process owns. */
export interface EmbeddedReader {
  topics(): readonly string[]
  /**
   * Committed records of a topic: the last `back` of each partition, then what comes, until the signal aborts.
   * Throws `Outage` for a topic that is not there.
   */
  follow(topic: string, back: number, signal: AbortSignal): AsyncIterable<LogRecord>
  /** Newest record of a partition; undefined when it is empty. */
  last(topic: string, partition: number): LogRecord | undefined
  close(): Promise<void>
}

/** Opens a log folder for reading beside its owner. Throws `Outage` when there is none. */
export const openEmbeddedReader = (path: string): EmbeddedReader => {
  if (!existsSync(path)) throw new Outage('bus', `there is no log in ${path}`, { final: true })
  const root = open({ path, noSubdir: false, maxDbs: 8, readOnly: true })
  const meta = root.openDB<unknown, (string | number)[]>('meta', {})
  const log = (): EmbeddedLog => {
    root.resetReadTxn()
    return {
      ...{ path, id: '', root, meta, close: () => root.close() },
      records: root.openDB<StoredRecord, Buffer>('records', { keyEncoding: 'binary' }),
      offsets: root.openDB<StoredOffset, [string, string, number]>('offsets', {}),
      state: root.openDB<Buffer, [string, number, string]>('state', { encoding: 'binary' }),
      topics: loadTopics(meta),
      recent: recentRecords(0),
    }
  }
  return {
    topics: () => [...log().topics.keys()],
    follow: (topic, back, signal) => follow(log, topic, back, signal),
    last: (topic, partition) => {
      const now = log()
      const held = now.topics.get(topic)
      const { low = 0, end = 0 } = (held && endsOf(held)[partition]) ?? {}
      const range = { topic, partition, from: Math.max(low, end - 1), to: end }
      return held && end > low ? scan(now, range, CHUNK).records.at(-1) : undefined
    },
    close: () => root.close(),
  }
}

async function* follow(
  log: () => EmbeddedLog,
  topic: string,
  back: number,
  signal: AbortSignal,
): AsyncIterable<LogRecord> {
  const first = log().topics.get(topic)
  if (!first) throw new Outage('bus', `no topic ${topic}`, { final: true })
  const places = endsOf(first).map(({ low, end }) => Math.max(low, end - back))
  while (!signal.aborted) {
    const now = log()
    const ends = endsOf(now.topics.get(topic) ?? first)
    let moved = false
    for (const { partition, end } of ends) {
      const from = places[partition] ?? end
      if (from >= end) continue
      const found = scan(now, { topic, partition, from, to: end }, CHUNK)
      places[partition] = found.next
      moved = true
      yield* found.records
    }
    if (!moved) await pause(POLL_MS, signal).catch(() => undefined)
  }
}
