import { join } from 'node:path'
import type { LogRecord } from '../core/bus-contract.ts'
import { openEmbeddedReader } from '../core/bus-embedded-reader.ts'
import { localCodec } from '../core/codec.ts'
import type { Codec } from '../core/codec-contract.ts'
import { Malformed, Outage } from '../core/fault.ts'
import { topicRow } from '../schemas/topics.ts'

/** What `sluice tail` is asked. */
export interface TailRequest {
  readonly topic: string
  readonly dataDir: string
  /** Records of each partition before now. */
  readonly back: number
  /** Ends after that many; Infinity = until the signal. */
  readonly limit: number
  readonly write: (line: string) => void
  readonly signal: AbortSignal
}

/** A record as one JSON line: bytes of a known topic decoded, others as base64. */
const recordLine = (codec: Codec, record: LogRecord): string => {
  const { topic, partition, offset, key, timestampMs, headers } = record
  return JSON.stringify({
    ...{ topic, partition, offset, key, time: new Date(timestampMs).toISOString(), headers },
    ...decodedOf(codec, record),
  })
}

const decodedOf = (codec: Codec, { topic, value }: LogRecord): object => {
  const message = topicRow(topic)?.message
  if (value === null) return { value: null }
  if (!message) return { base64: Buffer.from(value).toString('base64') }
  try {
    return { value: codec.decode(message, value) }
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    return { error: error.message, base64: Buffer.from(value).toString('base64') }
  }
}

/** Prints a topic of a data folder as JSON lines, beside the process that owns it. Resolves with the exit code. */
export const tail = async (request: TailRequest): Promise<number> => {
  const { topic, dataDir, back, limit, write, signal } = request
  const reader = openEmbeddedReader(join(dataDir, 'log'))
  const codec = localCodec()
  let left = limit
  try {
    if (!reader.topics().includes(topic)) {
      const known = reader.topics().filter((name) => !name.startsWith('_'))
      throw new Outage('bus', `no topic ${topic}; there are ${known.join(', ')}`, { final: true })
    }
    if (left <= 0) return 0
    for await (const record of reader.follow(topic, back, signal)) {
      write(recordLine(codec, record))
      left -= 1
      if (left <= 0) break
    }
    return 0
  } finally {
    await reader.close()
  }
}
