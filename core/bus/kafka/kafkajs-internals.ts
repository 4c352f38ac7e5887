import { createRequire } from 'node:module'
import type { Kafka, KafkaMessage, Producer, ProducerConfig } from 'kafkajs'

/**
 * What kafkajs has inside and does not export: a connection to the brokers that fetches without a group, the view of
 * a fetch without aborted records, and a producer's knowledge of the cluster. Its version is pinned exactly; a test against real brokers covers all that is used.
 */
export interface FetchCluster {
  connect(): Promise<void>
  disconnect(): Promise<void>
  /** Fetches metadata of a topic: its partitions and their leaders. */
  addTargetTopic(topic: string): Promise<void>
  refreshMetadata(): Promise<void>
  /** Partitions by the node that leads them. */
  findLeaderForPartitions(
    topic: string,
    partitions: readonly number[],
  ): Readonly<Record<string, readonly number[]>>
  findBroker(at: { readonly nodeId: string }): Promise<FetchBroker>
}

/** One broker. */
export interface FetchBroker {
  /** Newest version that it knows of each request. */
  readonly versions: Readonly<Record<number, { readonly maxVersion: number }>>
  fetch(request: FetchRequest): Promise<{
    readonly responses: readonly {
      readonly partitions: readonly PartitionData[]
    }[]
  }>
  readonly connectionPool: { send(call: RawRequest): Promise<unknown> }
}

/** A request that kafkajs does not know: how it is written and how its answer is read. */
interface RawRequest {
  readonly request: {
    readonly apiKey: number
    readonly apiVersion: number
    readonly apiName: string
    readonly encode: () => Promise<unknown>
  }
  readonly response: {
    readonly decode: (data: Buffer) => Promise<Buffer>
    readonly parse: (data: Buffer) => Promise<Buffer>
  }
}

interface FetchRequest {
  readonly isolationLevel: number
  readonly maxWaitTime: number
  readonly minBytes: number
  readonly maxBytes: number
  readonly topics: readonly {
    readonly topic: string
    readonly partitions: readonly {
      readonly partition: number
      readonly fetchOffset: string
      readonly maxBytes: number
    }[]
  }[]
}

interface PartitionData {
  readonly partition: number
  readonly highWatermark: string
  readonly messages: readonly unknown[]
}

interface FetchedBatch {
  readonly messages: readonly KafkaMessage[]
  readonly messagesWithinOffset: readonly { readonly offset: string }[]
}

const kafkajs = createRequire(import.meta.resolve('kafkajs'))
const KafkajsBatch: new (
  topic: string,
  fetchedOffset: string,
  data: PartitionData,
) => FetchedBatch = kafkajs('./src/consumer/batch.js')
const KafkajsEncoder: new () => RawEncoder = kafkajs('./src/protocol/encoder.js')

interface RawEncoder {
  writeBufferInternal(bytes: Buffer): void
}

/** `READ_COMMITTED` of the fetch request. */
const READ_COMMITTED = 1

/** A connection of its own to the cluster; nothing connects yet. */
export const makeFetchCluster = (kafka: Kafka): FetchCluster =>
  createClusterOf(kafka).make({
    metadataMaxAge: 60_000,
    allowAutoTopicCreation: false,
    isolationLevel: READ_COMMITTED,
  }) as FetchCluster

/** A producer that remembers who coordinates its transactions and groups. */
export interface RememberingProducer {
  readonly producer: Producer
  /** What it remembers was refused: the next request asks who it is. */
  readonly forgetCoordinators: () => void
}

/** kafkajs' cluster as its producer uses it. */
interface CoordinatedCluster {
  findGroupCoordinator(of: CoordinatorRequest): Promise<{ readonly nodeId: string }>
  findBroker(at: { readonly nodeId: string }): Promise<{ readonly nodeId: string }>
}

interface CoordinatorRequest {
  readonly groupId: string
  readonly coordinatorType?: number
}

/**
 * Makes a producer; nothing connects yet. kafkajs asks a broker who the coordinator is before each request to one, which are four round
 * trips in a transaction with offsets: here the answer is kept until it is forgotten.
 */
export const makeRememberingProducer = (
  kafka: Kafka,
  config: ProducerConfig,
): RememberingProducer => {
  const known = new Map<string, string>()
  const { symbol, make } = createClusterOf(kafka)
  Reflect.set(kafka, symbol, (options: object) => {
    const cluster = make(options) as CoordinatedCluster
    const ask = cluster.findGroupCoordinator.bind(cluster)
    cluster.findGroupCoordinator = async (of) => {
      const name = `${of.coordinatorType} ${of.groupId}`
      const nodeId = known.get(name)
      if (nodeId !== undefined) return cluster.findBroker({ nodeId })
      const broker = await ask(of)
      known.set(name, broker.nodeId)
      return broker
    }
    return cluster
  })
  try {
    return { producer: kafka.producer(config), forgetCoordinators: () => known.clear() }
  } finally {
    Reflect.set(kafka, symbol, make)
  }
}

const createClusterOf = (kafka: Kafka) => {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  )
  const make: unknown = symbol && Reflect.get(kafka, symbol)
  if (symbol === undefined || typeof make !== 'function')
    throw new Error('kafkajs has no createCluster; install the version of package-lock.json')
  return { symbol, make: make as (options: object) => unknown }
}

/** What one fetch gave. */
export interface FetchResult {
  /** Committed records from the offset on, in order. */
  readonly messages: readonly KafkaMessage[]
  /** Offset of the last entry, be it a marker or aborted; null when there was none. */
  readonly last: number | null
}

/** Fetches once from one partition. Throws kafkajs' errors, among them `OFFSET_OUT_OF_RANGE`. */
export const fetchPartition = async (
  broker: FetchBroker,
  { topic, partition, from, bytes }: FetchPosition,
): Promise<FetchResult> => {
  const offset = String(from)
  const { responses } = await broker.fetch({
    isolationLevel: READ_COMMITTED,
    maxWaitTime: 500,
    minBytes: 1,
    maxBytes: bytes,
    topics: [{ topic, partitions: [{ partition, fetchOffset: offset, maxBytes: bytes }] }],
  })
  const data = responses[0]?.partitions[0]
  if (data === undefined) return { messages: [], last: null }
  const { messages, messagesWithinOffset } = new KafkajsBatch(topic, offset, data)
  const last = messagesWithinOffset.at(-1)
  return { messages, last: last === undefined ? null : Number(last.offset) }
}

interface FetchPosition {
  readonly topic: string
  readonly partition: number
  readonly from: number
  readonly bytes: number
}

const rawEncoderOf = (body: Buffer): RawEncoder => {
  const encoder = new KafkajsEncoder()
  encoder.writeBufferInternal(body)
  return encoder
}

/** Sends a request whose header and body are given as bytes behind the client id, and gives the answer's. */
export const sendRawRequest = (
  { connectionPool }: FetchBroker,
  call: { readonly apiKey: number; readonly apiVersion: number; readonly apiName: string },
  body: Buffer,
): Promise<Buffer> =>
  connectionPool.send({
    request: { ...call, encode: async () => rawEncoderOf(body) },
    response: { decode: async (data) => data, parse: async (data) => data },
  }) as Promise<Buffer>
