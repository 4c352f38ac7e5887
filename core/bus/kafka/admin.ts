import type { Admin } from 'kafkajs'
import pLimit from 'p-limit'
import { Outage } from '../../errors.ts'
import { type RetryOptions, retry } from '../../retry.ts'
import { HOUR_MS } from '../../time.ts'
import type { Bus, GroupOffset, TopicSpec } from '../contract.ts'
import { busOutage, type KafkaClient, kafkaErrorType } from './client.ts'
import type { PartitionLeaders } from './writer.ts'

/** Copies of a record on a cluster that has enough brokers, and how many must have it before it counts as written. */
const REPLICATION_FACTOR = 3
const MIN_IN_SYNC_REPLICAS = 2
/** Largest batch of a topic. */
const MAX_MESSAGE_BYTES = 2_097_152
/** A state entry is what one block wrote: of tens of thousands of transfers, megabytes. */
const MAX_LARGE_MESSAGE_BYTES = 67_108_864
/** How long a new topic may take until it is served, each try being repeated within as well. */
const TOPIC_READY_RETRY: RetryOptions = { firstMs: 20, maxMs: 500, tries: 60 }

/** kafkajs leaves partitions out of an answer when its metadata was replaced in the meantime: asked again. */
class PartialResponse extends Outage {
  constructor(what: string) {
    super('bus', `${what} got a partial response`)
  }
}
const PARTIAL_RESPONSE_RETRY: RetryOptions = {
  firstMs: 5,
  maxMs: 250,
  tries: 40,
  again: (error) => error instanceof PartialResponse,
}

/** What the bus asks the cluster for beside reading and writing. */
export interface ClusterAdmin
  extends Pick<Bus, 'createTopics' | 'topics' | 'ends' | 'offsets' | 'close'> {
  readonly leaders: PartitionLeaders
  readonly clusterId: string
}

type CallAdmin = <T>(what: string, work: (admin: Admin) => Promise<T>) => Promise<T>

/**
 * Opens the administrative client. One request at a time: of two that run together, the older metadata may win, and
 * kafkajs then answers for a topic without naming its partitions, which reads as "nothing was ever committed".
 */
export const openAdmin = async (kafka: KafkaClient): Promise<ClusterAdmin> => {
  const admin = kafka.admin()
  const oneByOne = pLimit(1)
  const ask: CallAdmin = (what, work) => oneByOne(() => withBusErrors(what, () => work(admin)))
  await ask('the cluster', () => admin.connect())
  const { brokers, clusterId } = await ask('the cluster', () => admin.describeCluster())
  const leaders = makeLeaderCache(ask, brokers.length)
  return {
    leaders,
    clusterId,
    createTopics: (specs) => createTopics(ask, specs),
    topics: async (prefix) => {
      const names = await ask('the topics', () => admin.listTopics())
      return names.filter((name) => name.startsWith(prefix)).sort()
    },
    ends: async (topic) => fetchPartitionBounds(ask, topic, (await leaders.of(topic)).length),
    offsets: (group, topics) => fetchCommittedOffsets(ask, leaders, group, topics),
    close: () => admin.disconnect(),
  }
}

const withBusErrors = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    throw busOutage(what, error)
  }
}

const makeLeaderCache = (ask: CallAdmin, brokers: number): PartitionLeaders => {
  const held = new Map<string, Promise<readonly number[]>>()
  const fetch = async (topic: string): Promise<readonly number[]> => {
    const { topics } = await ask(topic, (admin) => admin.fetchTopicMetadata({ topics: [topic] }))
    const nodes: number[] = []
    for (const { partitionId, leader } of topics[0]?.partitions ?? []) nodes[partitionId] = leader
    return nodes
  }
  return {
    alone: () => brokers === 1,
    forget: () => held.clear(),
    of: (topic) => {
      const known = held.get(topic) ?? fetch(topic)
      held.set(topic, known)
      known.catch(() => held.delete(topic))
      return known
    },
  }
}

const fetchPartitionBounds = (
  ask: CallAdmin,
  topic: string,
  partitions: number,
  plan = PARTIAL_RESPONSE_RETRY,
) =>
  retry(async () => {
    const rows = await ask(topic, (admin) => admin.fetchTopicOffsets(topic))
    if (rows.length < partitions) throw new PartialResponse(topic)
    return rows
      .map(({ partition, low, high }) => ({ partition, low: Number(low), end: Number(high) }))
      .sort((a, b) => a.partition - b.partition)
  }, plan)

const fetchCommittedOffsets = async (
  ask: CallAdmin,
  leaders: PartitionLeaders,
  groupId: string,
  topics: readonly string[],
): Promise<readonly GroupOffset[]> => {
  const counts = new Map<string, number>()
  for (const topic of topics) counts.set(topic, (await leaders.of(topic)).length)
  const rows = await retry(async () => {
    const found = await ask(groupId, (admin) =>
      admin.fetchOffsets({ groupId, topics: [...topics] }),
    )
    const given = new Map(found.map(({ topic, partitions }) => [topic, partitions.length]))
    if (topics.some((topic) => (given.get(topic) ?? 0) < (counts.get(topic) ?? 0))) {
      throw new PartialResponse(groupId)
    }
    return found
  }, PARTIAL_RESPONSE_RETRY)
  return rows.flatMap(({ topic, partitions }) =>
    partitions
      .filter(({ offset }) => Number(offset) >= 0)
      .map(({ partition, offset, metadata }) => ({
        topic,
        partition,
        offset: Number(offset),
        ...(metadata && { metadata }),
      })),
  )
}

const createTopics = async (ask: CallAdmin, specs: readonly TopicSpec[]): Promise<void> => {
  const existing = new Set(await ask('the topics', (admin) => admin.listTopics()))
  const { brokers } = await ask('the cluster', (admin) => admin.describeCluster())
  const missing = specs.filter(({ topic }) => !existing.has(topic))
  const held = specs.filter(({ topic }) => existing.has(topic))
  if (held.length > 0) {
    const names = held.map(({ topic }) => topic)
    const { topics } = await ask('the topics', (admin) =>
      admin.fetchTopicMetadata({ topics: names }),
    )
    for (const { topic, partitions } of held) {
      const found = topics.find(({ name }) => name === topic)?.partitions.length
      if (found === partitions) continue
      throw new Outage('bus', `${topic} has ${found} partitions, not ${partitions}`, {
        final: true,
      })
    }
  }
  if (missing.length === 0) return
  const topics = missing.map((spec) => topicConfig(spec, brokers.length))
  await ask('the topics', async (admin) => {
    try {
      await admin.createTopics({ topics, waitForLeaders: false })
    } catch (error) {
      if (kafkaErrorType(error) !== 'TOPIC_ALREADY_EXISTS') throw error
    }
  })
  for (const { topic, partitions } of missing) await waitUntilServed(ask, topic, partitions)
}

/** Waits until the leaders of a new topic answer: a cluster says that a topic exists before all of its brokers know. */
const waitUntilServed = async (
  ask: CallAdmin,
  topic: string,
  partitions: number,
): Promise<void> => {
  await fetchPartitionBounds(ask, topic, partitions, TOPIC_READY_RETRY)
}

const topicConfig = (
  { topic, partitions, cleanup, retentionMs, hasLargeValues = false }: TopicSpec,
  brokers: number,
) => {
  const replicas = Math.min(REPLICATION_FACTOR, brokers)
  const compacted = {
    'segment.ms': HOUR_MS,
    'min.cleanable.dirty.ratio': 0.1,
    'delete.retention.ms': 24 * HOUR_MS,
  }
  const settings = {
    'cleanup.policy': cleanup,
    'retention.ms': retentionMs ?? -1,
    'min.insync.replicas': replicas < REPLICATION_FACTOR ? 1 : MIN_IN_SYNC_REPLICAS,
    'max.message.bytes': hasLargeValues ? MAX_LARGE_MESSAGE_BYTES : MAX_MESSAGE_BYTES,
    'message.timestamp.type': 'LogAppendTime',
    'compression.type': 'producer',
    ...(cleanup !== 'delete' && compacted),
  }
  return {
    topic,
    numPartitions: partitions,
    replicationFactor: replicas,
    configEntries: Object.entries(settings).map(([name, value]) => ({
      name,
      value: String(value),
    })),
  }
}
