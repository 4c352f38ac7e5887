import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Bus, LogRecord, RunningTask } from '../../core/bus/contract.ts'
import type { Logger } from '../../core/ops/logger.ts'
import { CHANNEL_TOPICS, RECOVERABLE_TOPICS } from '../../schemas/channels.ts'
import { TOPICS, type TopicRow, topicName } from '../../schemas/topics.ts'
import type { Hub } from './hub.ts'
import { PARTITION_SKEW_MS } from './publication-history.ts'
import { createNameReader } from './token-names.ts'

/** What the feed reads and whom it tells. */
export interface BusSubscriberOptions {
  readonly bus: Bus
  readonly hub: Hub
  readonly log: Logger
  readonly chains: readonly string[]
  /** Called between records when much was published: time to look at slow sockets. */
  readonly onPressure: () => void
}

/** Records per partition that refill the history at a start. */
const BACKFILL_RECORDS = 2_000
/** Shared bytes after which slow sockets are looked at: a fraction of what one socket may queue. */
const BACKPRESSURE_CHECK_BYTES = 256 * 1_024
/** Records after which other work gets its turn. */
const RECORDS_PER_YIELD = 200

/** Follows the topics of every chain into the hub; returns when names are known and the history is refilled. */
export const startBusSubscriber = async (options: BusSubscriberOptions): Promise<RunningTask> => {
  const running: RunningTask[] = []
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((tail) => tail.stop()))
  }
  try {
    for (const chain of options.chains) {
      running.push(await tailTokenNames(options, chain))
      running.push(await tailChannelTopics(options, chain))
    }
  } catch (error) {
    await stop()
    throw error
  }
  options.hub.goLive()
  return { stop }
}

const tailTokenNames = async (
  { bus, hub }: BusSubscriberOptions,
  chain: string,
): Promise<RunningTask> => {
  let caughtUp = (): void => undefined
  const allRead = new Promise<void>((resolve) => {
    caughtUp = resolve
  })
  const tail = await bus.tail({
    topics: [topicName('tokensProcessed', chain), topicName('tokenPrices', chain)],
    from: 'earliest',
    onRecords: (records) => {
      for (const record of records) hub.accept(record)
    },
    onCaughtUp: caughtUp,
  })
  await allRead
  return tail
}

/** How far a partition was read; a record beyond that, when the tail begins, shows what lies between. */
interface PartitionProgress {
  next: number
  tailed: boolean
}

/** The tail starts before the refill reads, and waits for it, so no record falls between the two. */
const tailChannelTopics = async (
  options: BusSubscriberOptions,
  chain: string,
): Promise<RunningTask> => {
  const { bus } = options
  const topics = channelTopics(chain, new Set(await bus.topics(`${chain}.`)))
  const keptTopics = topics.filter((topic) => isKept(topic, chain))
  const progressByPartition = new Map<string, PartitionProgress>()
  let refilled = (): void => undefined
  const ready = new Promise<void>((resolve) => {
    refilled = resolve
  })
  let live = false
  const accept = createRecordHandler(options, { chain, isLive: () => live })
  const acceptKept = async (record: LogRecord): Promise<void> => {
    const { topic, partition, offset } = record
    const progress = progressByPartition.get(partitionName(record)) ?? {
      next: offset,
      tailed: true,
    }
    if (offset < progress.next) return
    if (!progress.tailed) {
      for await (const missed of bus.read(topic, partition, progress.next, offset)) {
        await accept(missed)
      }
    }
    await accept(record)
    progressByPartition.set(partitionName(record), { next: offset + 1, tailed: true })
  }
  const acceptOnce = createOnceHandler(accept)
  const setEpoch = createEpochSetter(options, { chain, keptTopics })
  const tail = await bus.tail({
    topics,
    from: 'latest',
    onRecords: async (records) => {
      await ready
      await setEpoch()
      for (const record of records) {
        await (keptTopics.includes(record.topic) ? acceptKept(record) : acceptOnce(record))
      }
    },
  })
  try {
    for (const topic of keptTopics) {
      await backfillHistory(options, { topic, progressByPartition, accept })
    }
    await setEpoch()
    live = true
  } catch (error) {
    await Promise.all([refilled(), tail.stop()])
    throw error
  } finally {
    refilled()
  }
  return tail
}

const partitionName = ({ topic, partition }: Pick<LogRecord, 'topic' | 'partition'>): string =>
  `${topic}/${partition}`

/** The tail gives records again that came with one that was not taken: those before it have been sent. */
const createOnceHandler = (accept: (record: LogRecord) => Promise<void>) => {
  const next = new Map<string, number>()
  return async (record: LogRecord): Promise<void> => {
    const partition = partitionName(record)
    if (record.offset < (next.get(partition) ?? 0)) return
    await accept(record)
    next.set(partition, record.offset + 1)
  }
}

/** Optional topics are there on chains that have what they hold. */
const channelTopics = (chain: string, existing: ReadonlySet<string>): readonly string[] =>
  CHANNEL_TOPICS.flatMap((topic) => {
    const name = topicName(topic, chain)
    const row: TopicRow = TOPICS[topic]
    return row.optional === true && !existing.has(name) ? [] : [name]
  })

/** Whether something of the topic is kept for clients that come back. */
const isKept = (topic: string, chain: string): boolean =>
  [...RECOVERABLE_TOPICS].some((kept) => topicName(kept, chain) === topic)

const backfillHistory = async (
  { bus, hub }: BusSubscriberOptions,
  lane: {
    readonly topic: string
    readonly progressByPartition: Map<string, PartitionProgress>
    readonly accept: (record: LogRecord) => Promise<void>
  },
): Promise<void> => {
  const { topic, progressByPartition, accept } = lane
  const ends = await bus.ends(topic)
  const origin = randomUUID()
  const refills: Refill[] = []
  for (const { partition, low, end } of ends) {
    const startOffset = Math.max(low, end - BACKFILL_RECORDS)
    hub.openLane({ topic, partition, partitions: ends.length, startOffset, origin })
    const records: Refill['records'][number][] = []
    for await (const record of bus.read(topic, partition, startOffset, end)) {
      await accept(record)
      records.push({ offset: record.offset, timestampMs: record.timestampMs })
    }
    refills.push({ partition, startOffset, records })
    progressByPartition.set(partitionName({ topic, partition }), { next: end, tailed: false })
  }
  for (const limit of recoveryLimits(refills)) hub.limitRecovery({ topic, ...limit })
}

/** What was read of one partition. */
interface Refill {
  readonly partition: number
  readonly startOffset: number
  readonly records: readonly Pick<LogRecord, 'offset' | 'timestampMs'>[]
}

/**
 * A token has trades in the partitions of other tokens too. All of them were read as far back as the one that was read least far, by
 * the time at which the log took its records: whoever has got a record that is younger has missed none from before.
 */
const recoveryLimits = (refills: readonly Refill[]) => {
  const starts = refills
    .filter(({ startOffset }) => startOffset > 0)
    .map(({ records }) => records[0]?.timestampMs ?? Number.POSITIVE_INFINITY)
  if (starts.length === 0) return []
  const wholeSinceMs = Math.max(...starts) + PARTITION_SKEW_MS
  return refills.map(({ partition, startOffset, records }) => {
    const older = records.findLast(({ timestampMs }) => timestampMs <= wholeSinceMs)
    return { partition, offset: older === undefined ? startOffset : older.offset + 1 }
  })
}

/** Gives the lanes their lasting epoch as soon as the chain has a first block. */
const createEpochSetter = (
  { bus, hub }: BusSubscriberOptions,
  { chain, keptTopics }: { readonly chain: string; readonly keptTopics: readonly string[] },
) => {
  let isSet = false
  return async (): Promise<void> => {
    if (isSet) return
    const origin = await readEpochSeed(bus, chain)
    isSet = origin !== undefined
    if (origin === undefined) return
    for (const topic of keptTopics) hub.setOrigin(topic, origin)
  }
}

/** Names are looked up for live records only: those of older ones have been read from `tokens.processed`. */
const createRecordHandler = (
  options: BusSubscriberOptions,
  { chain, isLive }: { readonly chain: string; readonly isLive: () => boolean },
) => {
  const { hub, onPressure } = options
  const readNames = createNameReader(options, chain)
  let records = 0
  let checkedBytes = 0
  const take = async (record: LogRecord): Promise<void> => {
    if (!isLive()) return hub.accept(record)
    const unresolved = hub.acceptNamed(record)
    if (unresolved.length === 0) return
    await readNames(unresolved)
    hub.accept(record)
  }
  return async (record: LogRecord): Promise<void> => {
    await take(record)
    records += 1
    const isOverThreshold = hub.published - checkedBytes > BACKPRESSURE_CHECK_BYTES
    if (!isOverThreshold && records % RECORDS_PER_YIELD !== 0) return
    await nextTurn()
    if (!isOverThreshold) return
    checkedBytes = hub.published
    onPressure()
  }
}

/** The first record of `{c}.blocks` never expires, so it names this life of the chain's topics. */
const readEpochSeed = async (bus: Bus, chain: string): Promise<string | undefined> => {
  const topic = topicName('blocks', chain)
  const [first] = await bus.ends(topic)
  for await (const record of bus.read(topic, 0, first?.low ?? 0)) {
    return `${record.offset}@${record.timestampMs}`
  }
  return undefined
}
