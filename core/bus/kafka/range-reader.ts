import { Outage } from '../../errors.ts'
import { retry } from '../../retry.ts'
import type { LogRecord } from '../contract.ts'
import { busOutage, type KafkaClient, kafkaErrorType } from './client.ts'
import {
  type FetchBroker,
  type FetchCluster,
  type FetchResult,
  fetchPartition,
} from './kafkajs-internals.ts'
import { type StartPosition, type TopicPartition, toLogRecord } from './partition-reader.ts'
import { fetchTopicId } from './topic-id.ts'

/** Bytes of the first fetch of a read, and of the later ones. A larger batch still comes whole. */
const FIRST_FETCH_BYTES = 262_144
const LATER_FETCH_BYTES = 4_194_304
/** A leader that moves or a connection that breaks: asked again, for about ten seconds. */
const FETCH_RETRY = { firstMs: 20, maxMs: 1_000, tries: 16 }
/**
 * A fetch without any entry says nothing of how far it is empty (kafkajs drops batches that compaction left without records):
 * so many offsets are tried one by one, then in growing steps.
 */
const MAX_SINGLE_STEPS = 1_000

/** Reads ranges without a group, over one connection per broker of its own. */
export interface RangeReader {
  /** Committed records of a range, in order. Throws `Outage`; final when the range left the log. */
  read(
    range: StartPosition & { readonly to: number },
    signal: AbortSignal,
  ): AsyncGenerator<LogRecord>
  /** Id that the cluster gave the topic when it was made; undefined from brokers that do not tell (before 3.0). */
  topicId(topic: string): Promise<string | undefined>
  close(): Promise<void>
}

/** Makes the reader of a process; it connects with the first read. */
export const makeRangeReader = (kafka: KafkaClient): RangeReader => {
  let opening: Promise<FetchCluster> | undefined
  const connect = async (): Promise<FetchCluster> => {
    const cluster = kafka.cluster()
    await cluster.connect()
    return cluster
  }
  const opened = (): Promise<FetchCluster> => {
    opening ??= connect().catch((error: unknown) => {
      opening = undefined
      throw error
    })
    return opening
  }
  const forget = async (cluster: FetchCluster): Promise<void> => {
    if ((await opening?.catch(() => undefined)) === cluster) opening = undefined
    await cluster.disconnect().catch(() => undefined)
  }
  const withLeader = async <T>(
    at: TopicPartition,
    work: (broker: FetchBroker) => Promise<T>,
  ): Promise<T> => {
    const cluster = await opened()
    try {
      await cluster.addTargetTopic(at.topic)
      return await work(await leaderBrokerOf(cluster, at))
    } catch (error) {
      // kafkajs refreshes a topic for ever that is gone, and nothing else then: it is let go of as a whole.
      if (kafkaErrorType(error) === 'UNKNOWN_TOPIC_OR_PARTITION') await forget(cluster)
      else if (!isOffsetOutOfRange(error)) await cluster.refreshMetadata().catch(() => undefined)
      throw error
    }
  }
  const fetchFrom: FetchAt = (at, bytes, signal) =>
    retry(() => withLeader(at, (broker) => fetchPartition(broker, { ...at, bytes })), {
      ...FETCH_RETRY,
      signal,
      again: (error) => !isOffsetOutOfRange(error),
    }).catch((error: unknown) => {
      const what = `${at.topic}/${at.partition}: offset ${at.from}`
      if (signal.aborted) throw new Outage('bus', 'the bus closed', { final: true })
      if (!isOffsetOutOfRange(error)) throw busOutage(what, error)
      throw new Outage('bus', `${what} is below the log`, { final: true, cause: error })
    })
  return {
    read: (range, signal) => readRange(fetchFrom, range, signal),
    topicId: async (topic) => {
      const ask = () => withLeader({ topic, partition: 0 }, (broker) => fetchTopicId(broker, topic))
      try {
        return await retry(ask, FETCH_RETRY)
      } catch (error) {
        throw busOutage(topic, error)
      }
    },
    close: async () => {
      const cluster = await opening?.catch(() => undefined)
      await cluster?.disconnect()
    },
  }
}

type FetchAt = (at: StartPosition, bytes: number, signal: AbortSignal) => Promise<FetchResult>

async function* readRange(
  fetchFrom: FetchAt,
  { topic, partition, from, to }: StartPosition & { readonly to: number },
  signal: AbortSignal,
): AsyncGenerator<LogRecord> {
  let position = from
  let empty = 0
  let bytes = FIRST_FETCH_BYTES
  while (position < to) {
    const { messages, last } = await fetchFrom({ topic, partition, from: position }, bytes, signal)
    bytes = LATER_FETCH_BYTES
    for (const message of messages) {
      const record = toLogRecord({ topic, partition }, message)
      if (record.offset >= to) return
      yield record
    }
    empty = last === null ? empty + 1 : 0
    position = last === null ? position + gapStep(empty) : Math.max(position, last) + 1
  }
}

const gapStep = (empty: number): number =>
  empty <= MAX_SINGLE_STEPS ? 1 : 2 ** Math.min(20, empty - MAX_SINGLE_STEPS)

const leaderBrokerOf = async (
  cluster: FetchCluster,
  { topic, partition }: TopicPartition,
): Promise<FetchBroker> => {
  const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]))
  if (nodeId === undefined) throw new Outage('bus', `${topic}/${partition} has no leader`)
  return cluster.findBroker({ nodeId })
}

const isOffsetOutOfRange = (error: unknown): boolean =>
  kafkaErrorType(error) === 'OFFSET_OUT_OF_RANGE'
