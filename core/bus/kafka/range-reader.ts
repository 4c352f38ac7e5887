import { Outage } from '../../errors.ts'
import { retry } from '../../retry.ts'
import type { LogRecord } from '../contract.ts'
import { busOutage, type KafkaClient, kafkaErrorType } from './client.ts'
import { type FetchBroker, type FetchCluster, type Fetched, fetchOnce } from './cluster.ts'
import { type At, type ReadFrom, toRecord } from './reader.ts'
import { topicIdOf } from './topic-id.ts'

/** Bytes of the first fetch of a read, and of the later ones. A larger batch still comes whole. */
const FIRST_BYTES = 262_144
const FETCH_BYTES = 4_194_304
/** A leader that moves or a connection that breaks: asked again, for about ten seconds. */
const AGAIN = { firstMs: 20, maxMs: 1_000, tries: 16 }
/**
 * A fetch without any entry says nothing of how far it is empty (kafkajs drops batches that compaction left without records):
 * so many offsets are tried one by one, then in growing steps.
 */
const SINGLE_STEPS = 1_000

/** Reads ranges without a group, over one connection per broker of its own. */
export interface RangeReader {
  /** Committed records of a range, in order. Throws `Outage`; final when the range left the log. */
  read(range: ReadFrom & { readonly to: number }, signal: AbortSignal): AsyncGenerator<LogRecord>
  /** Id that the cluster gave the topic when it was made; undefined from brokers that do not tell (before 3.0). */
  topicId(topic: string): Promise<string | undefined>
  close(): Promise<void>
}

/** Makes the reader of a process; it connects with the first read. */
export const rangeReader = (kafka: KafkaClient): RangeReader => {
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
  const withLeader = async <T>(at: At, work: (broker: FetchBroker) => Promise<T>): Promise<T> => {
    const cluster = await opened()
    try {
      await cluster.addTargetTopic(at.topic)
      return await work(await leaderOf(cluster, at))
    } catch (error) {
      // kafkajs refreshes a topic for ever that is gone, and nothing else then: it is let go of as a whole.
      if (kafkaErrorType(error) === 'UNKNOWN_TOPIC_OR_PARTITION') await forget(cluster)
      else if (!isOutOfRange(error)) await cluster.refreshMetadata().catch(() => undefined)
      throw error
    }
  }
  const fetchFrom: FetchFrom = (at, bytes, signal) =>
    retry(() => withLeader(at, (broker) => fetchOnce(broker, { ...at, bytes })), {
      ...AGAIN,
      signal,
      again: (error) => !isOutOfRange(error),
    }).catch((error: unknown) => {
      const what = `${at.topic}/${at.partition}: offset ${at.from}`
      if (signal.aborted) throw new Outage('bus', 'the bus closed', { final: true })
      if (!isOutOfRange(error)) throw busOutage(what, error)
      throw new Outage('bus', `${what} is below the log`, { final: true, cause: error })
    })
  return {
    read: (range, signal) => readFrom(fetchFrom, range, signal),
    topicId: async (topic) => {
      const ask = () => withLeader({ topic, partition: 0 }, (broker) => topicIdOf(broker, topic))
      try {
        return await retry(ask, AGAIN)
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

type FetchFrom = (at: ReadFrom, bytes: number, signal: AbortSignal) => Promise<Fetched>

async function* readFrom(
  fetchFrom: FetchFrom,
  { topic, partition, from, to }: ReadFrom & { readonly to: number },
  signal: AbortSignal,
): AsyncGenerator<LogRecord> {
  let place = from
  let empty = 0
  let bytes = FIRST_BYTES
  while (place < to) {
    const { messages, last } = await fetchFrom({ topic, partition, from: place }, bytes, signal)
    bytes = FETCH_BYTES
    for (const message of messages) {
      const record = toRecord({ topic, partition }, message)
      if (record.offset >= to) return
      yield record
    }
    empty = last === null ? empty + 1 : 0
    place = last === null ? place + stepAfter(empty) : Math.max(place, last) + 1
  }
}

const stepAfter = (empty: number): number =>
  empty <= SINGLE_STEPS ? 1 : 2 ** Math.min(20, empty - SINGLE_STEPS)

const leaderOf = async (cluster: FetchCluster, { topic, partition }: At): Promise<FetchBroker> => {
  const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]))
  if (nodeId === undefined) throw new Outage('bus', `${topic}/${partition} has no leader`)
  return cluster.findBroker({ nodeId })
}

const isOutOfRange = (error: unknown): boolean => kafkaErrorType(error) === 'OFFSET_OUT_OF_RANGE'
