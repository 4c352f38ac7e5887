import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Outage } from '../../errors.ts'
import type { LogRecord } from '../contract.ts'
import { type EmbeddedLog, endsOf, openLogAtRest, scan } from './log.ts'

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
  const log = openLogAtRest(path)
  return {
    topics: () => [...log.topics.keys()],
    last: (topic, back) => last(log, topic, back),
    close: log.close,
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
