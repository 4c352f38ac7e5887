import { existsSync } from 'node:fs'
import { join } from 'node:path'
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
import { claimFolder } from './folder-owner.ts'

const CHUNK = { records: 500, bytes: 4_194_304 }

/** A look at a log that no other process has open. */
export interface EmbeddedReader {
  topics(): readonly string[]
  /** The newest `back` records of each partition of a topic. Throws `Outage` for a topic that is not there. */
  last(topic: string, back: number): AsyncIterable<LogRecord>
  close(): Promise<void>
}

/** Opens a log folder for reading. Throws `Outage` when there is none, or when a process holds it. */
export const openEmbeddedReader = (path: string): EmbeddedReader => {
  if (!existsSync(join(path, 'data.mdb')))
    throw new Outage('bus', `there is no log in ${path}`, { final: true })
  const release = claimFolder(path)
  const root = open({ path, noSubdir: false, maxDbs: 8, readOnly: true })
  const meta = root.openDB<unknown, (string | number)[]>('meta', {})
  const close = async (): Promise<void> => {
    await root.close()
    release()
  }
  const log: EmbeddedLog = {
    ...{ path, id: '', root, meta, close },
    records: root.openDB<StoredRecord, Buffer>('records', { keyEncoding: 'binary' }),
    offsets: root.openDB<StoredOffset, [string, string, number]>('offsets', {}),
    state: root.openDB<Buffer, [string, number, string]>('state', { encoding: 'binary' }),
    topics: loadTopics(meta),
    recent: recentRecords(0),
  }
  return {
    topics: () => [...log.topics.keys()],
    last: (topic, back) => last(log, topic, back),
    close,
  }
}

async function* last(log: EmbeddedLog, topic: string, back: number): AsyncIterable<LogRecord> {
  const held = log.topics.get(topic)
  if (!held) throw new Outage('bus', `no topic ${topic}`, { final: true })
  for (const { partition, low, end } of endsOf(held)) {
    let from = Math.max(low, end - back)
    while (from < end) {
      const found = scan(log, { topic, partition, from, to: end }, CHUNK)
      from = found.next
      yield* found.records
    }
  }
}
