import { connect, isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { promisify } from 'node:util'
import { gunzip, gunzipSync, gzip, gzipSync } from 'node:zlib'
import kafkajs, {
  type Admin,
  type Consumer,
  type ISocketFactory,
  Kafka,
  type KafkaConfig,
  type logCreator,
  logLevel,
  type PartitionAssigner,
  type ProducerConfig,
} from 'kafkajs'
import { Outage, RecordTooLarge } from '../../errors.ts'
import type { Logger } from '../../ops/logger.ts'
import {
  type FetchCluster,
  makeFetchCluster,
  makeRememberingProducer,
  type RememberingProducer,
} from './kafkajs-internals.ts'

/** How to reach the brokers. */
export interface KafkaConnectionOptions {
  /** `host:port`. */
  readonly brokers: readonly string[]
  readonly clientId: string
  readonly log: Logger
  /** Who we are to listeners that ask. */
  readonly sasl?: {
    readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'
    readonly username: string
    readonly password: string
  }
  /** Absent: plain text. PEM texts: the authority where it is not one of the system's, our certificate and its key. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string }
  /** A member that is silent for so long loses its lanes; default 45 s. */
  readonly sessionTimeoutMs?: number
}

/** The one client of a process: producers and consumers share what it knows of offsets. */
export interface KafkaClient {
  admin(): Admin
  producer(config: ProducerConfig): RememberingProducer
  /** A member of a group, with the fetch and session settings of this product. */
  consumer(groupId: string, assigner: PartitionAssigner): Consumer
  /** Connections that read without a group. */
  cluster(): FetchCluster
}

/**
 * Pauses of kafkajs' own retries: connections, fence, metadata, coordinators. About
 * 3 s in all, the time in which a cluster notices a dead broker; then the caller gets an `Outage` and decides.
 */
const KAFKAJS_RETRY = { initialRetryTime: 5, maxRetryTime: 1_000, retries: 10 }

/** Compression of everything that is written. */
export const COMPRESSION = kafkajs.CompressionTypes.GZIP

/** Settings of every consumer. */
const CONSUMER_SETTINGS = {
  minBytes: 1,
  maxWaitTimeInMs: 100,
  maxBytes: 16_777_216,
  maxBytesPerPartition: 4_194_304,
  metadataMaxAge: 60_000,
  rebalanceTimeout: 60_000,
  allowAutoTopicCreation: false,
  // The owner of a consumer starts it again, after every crash.
  retry: { ...KAFKAJS_RETRY, restartOnFailure: async () => false },
}
const SESSION_TIMEOUT_MS = 45_000
const HEARTBEAT_INTERVAL_MS = 3_000

const toSslOptions = ({ ca, cert, key }: NonNullable<KafkaConnectionOptions['tls']>) => ({
  ...(ca !== undefined && { ca: [ca] }),
  ...(cert !== undefined && { cert }),
  ...(key !== undefined && { key }),
})

/** Makes the client; nothing connects yet. */
export const makeKafkaClient = (access: KafkaConnectionOptions): KafkaClient => {
  const { brokers, clientId, log, sasl, tls, sessionTimeoutMs = SESSION_TIMEOUT_MS } = access
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.GZIP] = () => GZIP_LEVEL_1
  const kafka = new Kafka({
    brokers: [...brokers],
    clientId,
    ...(sasl && { sasl: sasl as NonNullable<KafkaConfig['sasl']> }),
    ...(tls && { ssl: tls.ca === undefined && tls.cert === undefined ? true : toSslOptions(tls) }),
    connectionTimeout: 3_000,
    requestTimeout: 30_000,
    retry: KAFKAJS_RETRY,
    socketFactory: openSocket,
    logLevel: logLevel.WARN,
    logCreator: pinoLogCreator(log),
  })
  return {
    admin: () => kafka.admin(),
    producer: (config) => makeRememberingProducer(kafka, config),
    cluster: () => makeFetchCluster(kafka),
    consumer: (groupId, assigner) =>
      kafka.consumer({
        ...CONSUMER_SETTINGS,
        groupId,
        partitionAssigners: [assigner],
        sessionTimeout: sessionTimeoutMs,
        heartbeatInterval: Math.min(HEARTBEAT_INTERVAL_MS, Math.floor(sessionTimeoutMs / 4)),
      }),
  }
}

const KEEP_ALIVE_MS = 60_000

/** As kafkajs opens one, but nothing waits until the broker has acknowledged what was sent before: 40 ms, where it has no answer yet. */
const openSocket: ISocketFactory = ({ host, port, ssl, onConnect }) => {
  const socket = ssl
    ? connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }), ...ssl }, onConnect)
    : connect({ host, port }, onConnect)
  return socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS)
}

/**
 * Bytes up to which a batch is compressed at once, in some 50 microseconds, where a turn through libuv's threads takes as long as
 * the other work that waits for them. A commit has a small batch for each of its partitions.
 */
const SMALL_BATCH_BYTES = 16_384
/** The same of a compressed batch, which is unpacked in some 10 to 25 microseconds. */
const SMALL_PACKED_BYTES = 8_192

const GZIP_LEVEL_1 = {
  compress: async ({ buffer }: { readonly buffer: Buffer }): Promise<Buffer> =>
    buffer.length <= SMALL_BATCH_BYTES
      ? gzipSync(buffer, { level: 1 })
      : promisify<Buffer, object, Buffer>(gzip)(buffer, { level: 1 }),
  decompress: async (bytes: Buffer): Promise<Buffer> =>
    bytes.length <= SMALL_PACKED_BYTES
      ? gunzipSync(bytes)
      : promisify<Buffer, Buffer>(gunzip)(bytes),
}

/** kafkajs calls an error what a lost broker makes ordinary; what matters is thrown and logged by its caller. */
const pinoLogCreator =
  (log: Logger): logCreator =>
  () =>
  ({ namespace, level, log: { message, ...fields } }) => {
    log[level === logLevel.ERROR ? 'warn' : 'debug']({ kafkajs: namespace, fields }, message)
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
const FENCING_ERRORS = new Set([
  'INVALID_PRODUCER_EPOCH',
  'PRODUCER_FENCED',
  'INVALID_PRODUCER_ID_MAPPING',
  'UNKNOWN_PRODUCER_ID',
])

/** True when the error says that another holder took the id. */
export const isFencingError = (error: unknown): boolean =>
  FENCING_ERRORS.has(kafkaErrorType(error) ?? '')

/** Errors that say that a batch is larger than the topic or the broker takes. */
const SIZE_ERRORS = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])

/** An error of kafkajs as this product knows it; an `Outage` stays what it is. A batch that is too large is `RecordTooLarge`. */
export const busOutage = (what: string, cause: unknown): Outage => {
  if (cause instanceof Outage) return cause
  const text = cause instanceof Error ? errorText(cause) : String(cause)
  if (SIZE_ERRORS.has(kafkaErrorType(cause) ?? '')) {
    return new RecordTooLarge(`${what}: ${text}`, { cause })
  }
  return new Outage('bus', `${what}: ${text}`, { cause, final: isFencingError(cause) })
}

/** Errors of one answer that a message names. */
const MAX_NAMED_ERRORS = 5

/** The message; of several errors in one, as for topics that were not made, each with its topic. */
const errorText = (error: Error): string => {
  if (!('errors' in error && Array.isArray(error.errors))) return error.message
  const parts = error.errors.slice(0, MAX_NAMED_ERRORS).map((each: unknown) => {
    if (!(each instanceof Error)) return String(each)
    return 'topic' in each ? `${each.topic}: ${each.message}` : each.message
  })
  const rest = error.errors.length - parts.length
  return `${error.message} (${parts.join('; ')}${rest > 0 ? `; ${rest} more` : ''})`
}
