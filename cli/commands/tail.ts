import { join } from 'node:path'
import type { LogRecord } from '../../core/bus/contract.ts'
import { openOfflineLogReader } from '../../core/bus/embedded/offline-reader.ts'
import { liveOwner } from '../../core/bus/embedded/process-lock.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { localCodec, openStoredSchemas, SCHEMAS_FILE } from '../../core/codec/local-codec.ts'
import { loadConfig } from '../../core/config/load.ts'
import { InvalidInput, Outage } from '../../core/errors.ts'
import { type RetryOptions, retry } from '../../core/retry.ts'
import { topicRow } from '../../schemas/topics.ts'
import { tailOverOps, unknownTopicError } from '../app/log-over-ops.ts'
import { tailTopic } from '../app/tail-topic.ts'
import { withInfra } from '../app/with-infra.ts'

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
const SCHEMA_RETRY: RetryOptions = {
  firstMs: 50,
  maxMs: 500,
  tries: 20,
  again: (e) => e instanceof Outage,
}

/** A record as one JSON line: bytes of a known topic decoded, others as base64. */
const recordLine = async (codec: Codec, record: LogRecord): Promise<string> => {
  const { topic, partition, offset, key, timestampMs, headers } = record
  const line = {
    topic,
    partition,
    offset,
    key,
    time: new Date(timestampMs).toISOString(),
    headers,
    ...(await decodedValue(codec, record)),
  }
  // JSON has no NaN: of candles it is a price that is not known, where null is one that has not changed.
  return JSON.stringify(line, (_, value) => (Number.isNaN(value) ? 'NaN' : value))
}

const decodedValue = async (codec: Codec, { topic, value }: LogRecord): Promise<object> => {
  const message = topicRow(topic)?.message
  if (value === null) return { value: null }
  if (!message) return { base64: Buffer.from(value).toString('base64') }
  try {
    return { value: await retry(async () => codec.decode(message, value), SCHEMA_RETRY) }
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    return { error: error.message, base64: Buffer.from(value).toString('base64') }
  }
}

/**
 * Prints a topic as JSON lines: of the brokers that are configured, else of a data folder. Of a folder that no process holds it prints
 * what is there and ends.
 */
export const tail = async (request: TailRequest): Promise<number> => {
  const { topic, dataDir, back, signal, environment } = request
  const config = loadConfig(environment, { dataDir })
  if (config.kafkaBrokers.length > 0) {
    return withInfra(config, async ({ bus, codec }) => {
      requireTopic(topic, await bus.topics(''))
      return printRecords(request, codec, tailTopic(bus, topic, back, signal))
    })
  }
  const logPath = join(dataDir, 'log')
  const codec = localCodec(openStoredSchemas(join(logPath, SCHEMAS_FILE)))
  if (liveOwner(logPath) !== undefined) {
    return printRecords(request, codec, tailOverOps(config, topic, back, signal))
  }
  const reader = openOfflineLogReader(logPath)
  try {
    requireTopic(topic, reader.topics())
    return await printRecords(request, codec, reader.last(topic, back))
  } finally {
    await reader.close()
  }
}

const requireTopic = (topic: string, known: readonly string[]): void => {
  if (!known.includes(topic)) throw unknownTopicError(topic, known)
}

const printRecords = async (
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
