import type { Admin } from 'kafkajs'
import pLimit from 'p-limit'
import type { Bus, Ends, GroupOffset, Running, Tail, TopicSpec } from './bus-contract.ts'
import { busOutage, type KafkaAccess, kafkaClient, kafkaErrorType } from './bus-kafka-client.ts'
import { joinGroup, type LaneHost } from './bus-kafka-lanes.ts'
import { readRange } from './bus-kafka-read.ts'
import { boundsOf, openOwnReader } from './bus-kafka-reader.ts'
import { type Leaders, openWriter } from './bus-kafka-writer.ts'
import { Outage } from './fault.ts'
import { retry } from './retry.ts'

/** Copies of a record on a cluster that has enough brokers, and how many must have it before it counts as written. */
const REPLICAS = 3
const MIN_IN_SYNC = 2
/** Largest batch of a topic. Source: contract/kafka.md 2.2. */
const MESSAGE_BYTES = 2_097_152
const HOUR_MS = 3_600_000
/** How long a new topic may take until it is served, each try being repeated within as well. */
const SERVED = { firstMs: 20, maxMs: 500, tries: 60 }

/** The Kafka bus of one process. */
export interface KafkaBusOptions extends KafkaAccess {
  /** Told when a lane or a tail cannot go on: its place left the log. */
  readonly onHalt?: (outage: Outage) => void
  /** Where lanes keep their state between two looks at its changelog; needed by `Lane.state` only. */
  readonly state?: {
    /** Folder, made when absent; processes of one machine may share it. */
    readonly path: string
    /** Most bytes of one lane's store. */
    readonly mapSizeBytes: number
  }
}

/** Stores that load at once: each holds a connection and up to 12 MiB of records. */
const LOADS_AT_ONCE = 8

/** Opens the bus on a Kafka cluster. Throws `Outage` when no broker answers. */
export const openKafkaBus = async (options: KafkaBusOptions): Promise<Bus> => {
  const { clientId, log, state, onHalt = () => undefined } = options
  const kafka = kafkaClient(options)
  const admin = kafka.admin()
  await guarded('the cluster', () => admin.connect())
  const { brokers, clusterId } = await guarded('the cluster', () => admin.describeCluster())
  const leaders = leaderCache(admin, brokers.length)
  const closing = new AbortController()
  const running = new Set<Running>()
  const held = (part: Running): Running => {
    const entry: Running = {
      stop: async () => {
        if (running.delete(entry)) await part.stop()
      },
    }
    running.add(entry)
    return entry
  }
  const ends = (topic: string) => fetchEnds(admin, topic)
  const host: LaneHost = {
    kafka,
    clientId,
    log,
    onHalt,
    ends,
    folder: state && { ...state, clusterId },
    loading: pLimit(LOADS_AT_ONCE),
    partitions: async (topic) => (await leaders.of(topic)).length,
    offsets: (group, topics) => fetchOffsets(admin, group, topics),
    writer: (id) => openWriter(kafka, leaders, id),
    read: (topic, partition, from, to) =>
      readOrEnd({ kafka, log, ends, name: `${clientId}.read`, signal: closing.signal }, [
        topic,
        partition,
        from,
        to,
      ]),
  }
  return {
    createTopics: (specs) => createTopics(admin, specs),
    topics: (prefix) => topicNames(admin, prefix),
    partitions: host.partitions,
    ends,
    writer: host.writer,
    read: host.read,
    offsets: host.offsets,
    subscribe: async (subscription) => held(await joinGroup(host, subscription)),
    tail: async (tail) => held(await startTail(host, tail)),
    sweep: async () => undefined,
    close: async () => {
      closing.abort(new Error('the bus closed'))
      await Promise.all([...running].map((part) => part.stop()))
      await admin.disconnect()
    },
  }
}

const guarded = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    throw busOutage(what, error)
  }
}

const leaderCache = (admin: Admin, brokers: number): Leaders => {
  const held = new Map<string, Promise<readonly number[]>>()
  const fetch = async (topic: string): Promise<readonly number[]> => {
    const { topics } = await guarded(topic, () => admin.fetchTopicMetadata({ topics: [topic] }))
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

const topicNames = async (admin: Admin, prefix: string): Promise<readonly string[]> => {
  const names = await guarded('the topics', () => admin.listTopics())
  return names.filter((name) => name.startsWith(prefix)).sort()
}

const fetchEnds = async (admin: Admin, topic: string): Promise<readonly Ends[]> => {
  const rows = await guarded(topic, () => admin.fetchTopicOffsets(topic))
  return rows
    .map(({ partition, low, high }) => ({ partition, low: Number(low), end: Number(high) }))
    .sort((a, b) => a.partition - b.partition)
}

const fetchOffsets = async (
  admin: Admin,
  groupId: string,
  topics: readonly string[],
): Promise<readonly GroupOffset[]> => {
  const rows = await guarded(groupId, () => admin.fetchOffsets({ groupId, topics: [...topics] }))
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

const createTopics = async (admin: Admin, specs: readonly TopicSpec[]): Promise<void> => {
  const existing = new Set(await guarded('the topics', () => admin.listTopics()))
  const { brokers } = await guarded('the cluster', () => admin.describeCluster())
  const missing = specs.filter(({ topic }) => !existing.has(topic))
  const held = specs.filter(({ topic }) => existing.has(topic))
  if (held.length > 0) {
    const names = held.map(({ topic }) => topic)
    const { topics } = await guarded('the topics', () =>
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
  await guarded('the topics', async () => {
    try {
      await admin.createTopics({ topics, waitForLeaders: false })
    } catch (error) {
      if (kafkaErrorType(error) !== 'TOPIC_ALREADY_EXISTS') throw error
    }
  })
  for (const { topic, partitions } of missing) await served(admin, topic, partitions)
}

/** Waits until the leaders of a new topic answer: a cluster says that a topic exists before all of its brokers know. */
const served = async (admin: Admin, topic: string, partitions: number): Promise<void> =>
  retry(async () => {
    const found = await fetchEnds(admin, topic)
    if (found.length < partitions) throw new Outage('bus', `${topic} is not whole yet`)
  }, SERVED)

const topicConfig = ({ topic, partitions, cleanup, retentionMs }: TopicSpec, brokers: number) => {
  const replicas = Math.min(REPLICAS, brokers)
  const compacted = {
    'segment.ms': HOUR_MS,
    'min.cleanable.dirty.ratio': 0.1,
    'delete.retention.ms': 24 * HOUR_MS,
  }
  const settings = {
    'cleanup.policy': cleanup,
    'retention.ms': retentionMs ?? -1,
    'min.insync.replicas': replicas < REPLICAS ? 1 : MIN_IN_SYNC,
    'max.message.bytes': MESSAGE_BYTES,
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

type ReadPlan = Omit<Parameters<typeof readRange>[0], 'range'>

async function* readOrEnd(
  plan: ReadPlan,
  [topic, partition, from, to]: Parameters<Bus['read']>,
): ReturnType<Bus['read']> {
  const bounds = await boundsOf(plan.ends, { topic, partition })
  const end = Math.min(to ?? bounds.end, bounds.end)
  if (from < bounds.low && from < end) {
    throw new Outage('bus', `${topic}/${partition}: offset ${from} is below the log`, {
      final: true,
    })
  }
  yield* readRange({ ...plan, range: { topic, partition, from, to: end } })
}

const startTail = async (
  { kafka, log, ends, clientId, onHalt }: LaneHost,
  tail: Tail,
): Promise<Running> => {
  const places = new Map<string, { readonly until: number; next: number }>()
  const sources = []
  for (const topic of tail.topics) {
    for (const { partition, low, end } of await ends(topic)) {
      const from = tail.from === 'latest' ? end : low
      sources.push({ topic, partition, from })
      places.set(`${topic}/${partition}`, { until: end, next: from })
    }
  }
  let caughtUp = false
  const moveTo = (topic: string, partition: number, next: number): void => {
    const place = places.get(`${topic}/${partition}`)
    if (place) place.next = next
    checkCaughtUp()
  }
  const checkCaughtUp = (): void => {
    if (caughtUp || [...places.values()].some(({ next, until }) => next < until)) return
    caughtUp = true
    tail.onCaughtUp?.()
  }
  const reader = await openOwnReader({
    kafka,
    log,
    ends,
    name: `${clientId}.tail`,
    partitions: sources,
    sources,
    onRecords: async (records, { topic, partition, next }) => {
      await tail.onRecords(records)
      moveTo(topic, partition, next)
    },
    onEmpty: ({ topic, partition, next }) => moveTo(topic, partition, next),
    onHalt: (outage) => {
      log.error({ err: outage, topics: tail.topics }, 'tail halted')
      onHalt(outage)
    },
  })
  checkCaughtUp()
  return { stop: () => reader.stop() }
}
