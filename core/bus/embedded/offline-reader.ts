import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Outage } from '../../errors.ts'
import type { LogRecord } from '../contract.ts'
import { type EmbeddedLog, openLogReadOnly, scanRecords, topicBounds } from './log.ts'

const READ_LIMIT = { records: 500, bytes: 4_194_304 }

/** A look at a log that no other process has open. */
export interface OfflineLogReader {
  topics(): readonly string[]
  /** The newest `back` records of each partition of a topic. Throws `Outage` for a topic that is not there. */
  last(topic: string, back: number): AsyncIterable<LogRecord>
  close(): Promise<void>
}

/** Opens a log folder for reading. Throws `Outage` when there is none, or when a process holds it. */
export const openOfflineLogReader = (path: string): OfflineLogReader => {
  if (!existsSync(join(path, 'data.mdb')))
    throw new Outage('bus', `${path} holds no embedded log; check --data`, { final: true })
  const log = openLogReadOnly(path)
  return {
    topics: () => [...log.topics.keys()],
    last: (topic, back) => readNewest(log, topic, back),
    close: log.close,
  }
}

async function* readNewest(
  log: EmbeddedLog,
  topic: string,
  back: number,
): AsyncIterable<LogRecord> {
  const held = log.topics.get(topic)
  if (!held) throw new Outage('bus', `topic ${topic} does not exist`, { final: true })
  for (const { partition, low, end } of topicBounds(held)) {
    let from = Math.max(low, end - back)
    while (from < end) {
      const found = scanRecords(log, { topic, partition, from, to: end }, READ_LIMIT)
      from = found.next
      yield* found.records
    }
  }
}
