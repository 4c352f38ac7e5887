import { join } from 'node:path'
import type { LogRecord } from '../core/bus-contract.ts'
import { openEmbeddedReader } from '../core/bus-embedded-reader.ts'
import { localCodec, SCHEMAS_FILE, storedSchemas } from '../core/codec.ts'
import type { Codec } from '../core/codec-contract.ts'
import { loadConfig } from '../core/config.ts'
import { Malformed, Outage } from '../core/fault.ts'
import { type RetryPlan, retry } from '../core/retry.ts'
import { topicRow } from '../schemas/topics.ts'
import { followBus } from './follow.ts'
import { withHeldParts } from './held-parts.ts'

/** What `sluice tail` is asked. */
export interface TailRequest {
  readonly topic: string
  readonly dataDir: string
  /** Where the brokers are named, if there are any. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Records of each partition before now. */
  readonly back: number
  /** Ends after that many; Infinity = until the signal. */
  readonly limit: number
  readonly write: (line: string) => void
  readonly signal: AbortSignal
}

/** How long a schema of another writer may take. */
const SCHEMA: RetryPlan = { firstMs: 50, maxMs: 500, tries: 20, again: (e) => e instanceof Outage }

/** A record as one JSON line: bytes of a known topic decoded, others as base64. */
const recordLine = async (codec: Codec, record: LogRecord): Promise<string> => {
  const { topic, partition, offset, key, timestampMs, headers } = record
  return JSON.stringify({
    ...{ topic, partition, offset, key, time: new Date(timestampMs).toISOString(), headers },
    ...(await decodedOf(codec, record)),
  })
}

const decodedOf = async (codec: Codec, { topic, value }: LogRecord): Promise<object> => {
  const message = topicRow(topic)?.message
  if (value === null) return { value: null }
  if (!message) return { base64: Buffer.from(value).toString('base64') }
  try {
    return { value: await retry(async () => codec.decode(message, value), SCHEMA) }
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    return { error: error.message, base64: Buffer.from(value).toString('base64') }
  }
}

/** Prints a topic as JSON lines: of the brokers that are configured, else of a data folder beside its owner. */
export const tail = async (request: TailRequest): Promise<number> => {
  const { topic, dataDir, back, signal, environment } = request
  const config = loadConfig(environment, { dataDir })
  if (config.kafkaBrokers.length > 0) {
    return withHeldParts(config, async ({ bus, codec }) => {
      refuseUnknown(topic, await bus.topics(''))
      return print(request, codec, followBus(bus, topic, back, signal))
    })
  }
  const reader = openEmbeddedReader(join(dataDir, 'log'))
  try {
    refuseUnknown(topic, reader.topics())
    const codec = localCodec(storedSchemas(join(dataDir, 'log', SCHEMAS_FILE)))
    return await print(request, codec, reader.follow(topic, back, signal))
  } finally {
    await reader.close()
  }
}

const refuseUnknown = (topic: string, known: readonly string[]): void => {
  if (known.includes(topic)) return
  const open = known.filter((name) => !name.startsWith('_'))
  throw new Outage('bus', `no topic ${topic}; there are ${open.join(', ')}`, { final: true })
}

const print = async (
  { limit, write }: TailRequest,
  codec: Codec,
  records: AsyncIterable<LogRecord>,
): Promise<number> => {
  let left = limit
  if (left <= 0) return 0
  for await (const record of records) {
    write(await recordLine(codec, record))
    left -= 1
    if (left <= 0) break
  }
  return 0
}
