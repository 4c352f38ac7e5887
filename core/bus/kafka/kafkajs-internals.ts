import { createRequire } from 'node:module'
import type { Kafka, KafkaMessage } from 'kafkajs'

/**
 * What kafkajs has inside and does not export: a connection to the brokers that fetches without a group, and the view of
 * a fetch without aborted records. Its version is pinned exactly; a test against real brokers covers all that is used.
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
export const makeFetchCluster = (kafka: Kafka): FetchCluster => {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  )
  const make = symbol && (Reflect.get(kafka, symbol) as (options: object) => FetchCluster)
  if (!make)
    throw new Error('kafkajs has no createCluster; install the version of package-lock.json')
  return make({
    metadataMaxAge: 60_000,
    allowAutoTopicCreation: false,
    isolationLevel: READ_COMMITTED,
  })
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
