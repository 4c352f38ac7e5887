import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import kafkajs, { Kafka, type logCreator, logLevel } from 'kafkajs'
import { Outage } from './fault.ts'
import type { Logger } from './log.ts'

/** How to reach the brokers. */
export interface KafkaAccess {
  /** `host:port`. */
  readonly brokers: readonly string[]
  readonly clientId: string
  readonly log: Logger
  /** SCRAM-SHA-512 over these listeners (contract/kafka.md 2.11). */
  readonly sasl?: { readonly username: string; readonly password: string }
}

/**
 * Pauses of kafkajs' own retries: connections, fence, metadata, coordinators. Source: contract/kafka.md 5.2 #5. About
 * 3 s in all, the time in which a cluster notices a dead broker; then the caller gets an `Outage` and decides.
 */
export const KAFKA_RETRY = { initialRetryTime: 5, maxRetryTime: 1_000, retries: 10 }

/** Compression of everything that is written (contract/kafka.md 5.4). */
export const COMPRESSION = kafkajs.CompressionTypes.GZIP

/** One client per process: producers and consumers share what it knows of offsets. */
export const kafkaClient = ({ brokers, clientId, log, sasl }: KafkaAccess): Kafka => {
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.GZIP] = () => GZIP_LEVEL_1
  return new Kafka({
    brokers: [...brokers],
    clientId,
    ...(sasl && { sasl: { mechanism: 'scram-sha-512', ...sasl } }),
    connectionTimeout: 3_000,
    requestTimeout: 30_000,
    retry: KAFKA_RETRY,
    logLevel: logLevel.WARN,
    logCreator: toPino(log),
  })
}

const GZIP_LEVEL_1 = {
  compress: (encoder: { readonly buffer: Buffer }): Promise<Buffer> =>
    promisify<Buffer, object, Buffer>(gzip)(encoder.buffer, { level: 1 }),
  decompress: (bytes: Buffer): Promise<Buffer> => promisify<Buffer, Buffer>(gunzip)(bytes),
}

/** kafkajs calls an error what a lost broker makes ordinary; what matters is thrown and logged by its caller. */
const toPino =
  (log: Logger): logCreator =>
  () =>
  ({ namespace, level, log: { message, ...facts } }) => {
    log[level === logLevel.ERROR ? 'warn' : 'debug']({ kafkajs: namespace, facts }, message)
  }

/** Kafka's name of an error, looked for through kafkajs' wrappers; undefined when the broker named none. */
export const kafkaErrorType = (error: unknown): string | undefined => {
  let at: unknown = error
  for (let depth = 0; depth < 5 && at instanceof Error; depth += 1) {
    if ('type' in at && typeof at.type === 'string') return at.type
    at = at.cause
  }
  return undefined
}

/** Errors after which the producer's id belongs to someone else. */
const FENCED = new Set([
  'INVALID_PRODUCER_EPOCH',
  'PRODUCER_FENCED',
  'INVALID_PRODUCER_ID_MAPPING',
  'UNKNOWN_PRODUCER_ID',
])

/** True when the error says that another holder took the id. */
export const isFencing = (error: unknown): boolean => FENCED.has(kafkaErrorType(error) ?? '')

/** An error of kafkajs as the house knows it; an `Outage` stays what it is. */
export const busOutage = (what: string, cause: unknown): Outage => {
  if (cause instanceof Outage) return cause
  const text = cause instanceof Error ? cause.message : String(cause)
  return new Outage('bus', `${what}: ${text}`, { cause, final: isFencing(cause) })
}
