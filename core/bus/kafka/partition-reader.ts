import { randomUUID } from 'node:crypto'
import {
  AssignerProtocol,
  type Consumer,
  type EachBatchPayload,
  type KafkaMessage,
  type PartitionAssigner,
} from 'kafkajs'
import { Outage } from '../../errors.ts'
import type { Logger } from '../../ops/logger.ts'
import type { LogRecord, PartitionBounds } from '../contract.ts'
import { OffsetOutOfRange, type PermanentHalt } from '../keep-running.ts'
import type { KafkaClient } from './client.ts'
import { openRestartingConsumer } from './restarting-consumer.ts'

/** One partition of a topic. */
export interface TopicPartition {
  readonly topic: string
  readonly partition: number
}

/** One partition and where to read it from. */
export interface StartPosition extends TopicPartition {
  readonly from: number
}

/** Position of a reader in one partition, after what it handed over. */
export interface ReadPosition extends TopicPartition {
  readonly next: number
}

/** What a reader hands over. */
export interface PartitionReaderOptions {
  readonly kafka: KafkaClient
  readonly log: Logger
  readonly groupId: string
  readonly topics: readonly string[]
  readonly assigner: PartitionAssigner
  /** Open from the start. */
  readonly sources: readonly StartPosition[]
  readonly ends: (topic: string) => Promise<readonly PartitionBounds[]>
  /** Records in order and where the partition continues after them. The next ones come when it resolves. */
  readonly onRecords: (records: readonly LogRecord[], at: ReadPosition) => Promise<void> | void
  /** An answer without records: everything up to `next` is known to be empty. */
  readonly onEmpty?: (at: ReadPosition) => void
  /** A position left the log: that partition is closed. */
  readonly onHalt: (outage: Outage, at: TopicPartition) => void
  /** What this member owns after each joining of the group, by topic. */
  readonly onAssigned?: (owned: Readonly<Record<string, readonly number[]>>) => void
}

/** A running reader. Partitions that are not open are not read. */
export interface PartitionReader {
  open(source: StartPosition): void
  close(at: TopicPartition): void
  pause(at: TopicPartition): void
  resume(at: TopicPartition): void
  stop(): Promise<void>
}

/**
 * Reads partitions from offsets that the caller knows, over a kafkajs consumer that never commits and whose silent
 * resets are refused.
 */
export const openPartitionReader = async (
  plan: PartitionReaderOptions,
): Promise<PartitionReader> => {
  const { kafka, log, groupId, assigner, topics } = plan
  const positions = new Map(plan.sources.map((source) => [partitionKey(source), source.from]))
  const moved = new Set<string>()
  const consumer = await openRestartingConsumer({
    kafka,
    log,
    groupId,
    assigner,
    topics,
    config: {
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: MAX_CONCURRENT_PARTITIONS,
      eachBatch: (payload) => deliverBatch(plan, positions, payload),
    },
    onJoined: (member, owned) => {
      seekAssigned(member, positions, owned)
      plan.onAssigned?.(owned)
    },
    onEmpty: ({ topic, partition, first, last }) => {
      const name = partitionKey({ topic, partition })
      const position = positions.get(name)
      const next = last + 1
      if (position === undefined || next <= position) return
      if (moved.has(name) && first > position) return
      positions.set(name, next)
      plan.onEmpty?.({ topic, partition, next })
    },
  })
  const of = ({ topic, partition }: TopicPartition) => [{ topic, partitions: [partition] }]
  return {
    open: (source) => {
      const { topic, partition, from } = source
      positions.set(partitionKey(source), from)
      moved.add(partitionKey(source))
      consumer.whileMember((member) => {
        member.seek({ topic, partition, offset: String(from) })
        member.resume(of(source))
      })
    },
    close: (at) => {
      positions.delete(partitionKey(at))
      consumer.whileMember((member) => member.pause(of(at)))
    },
    pause: (at) => consumer.whileMember((member) => member.pause(of(at))),
    resume: (at) => consumer.whileMember((member) => member.resume(of(at))),
    stop: () => consumer.stop(),
  }
}

const MAX_CONCURRENT_PARTITIONS = 12

/** Sets every owned partition to its position; unopened ones stay paused. */
const seekAssigned = (
  consumer: Pick<Consumer, 'seek' | 'pause'>,
  positions: ReadonlyMap<string, number>,
  owned: Readonly<Record<string, readonly number[]>>,
): void => {
  for (const [topic, partitions] of Object.entries(owned)) {
    for (const partition of partitions) {
      const position = positions.get(partitionKey({ topic, partition }))
      if (position === undefined) consumer.pause([{ topic, partitions: [partition] }])
      else consumer.seek({ topic, partition, offset: String(position) })
    }
  }
}

/**
 * A reader of given partitions. kafkajs cannot read without a group, so it joins one of its own, whose only member gets
 * exactly these partitions, and which is deleted at the end.
 */
export const openStandaloneReader = async (
  plan: Omit<PartitionReaderOptions, 'groupId' | 'assigner' | 'topics'> & {
    readonly name: string
    readonly partitions: readonly TopicPartition[]
  },
): Promise<PartitionReader> => {
  const { kafka, log, name, partitions, ...rest } = plan
  const groupId = `${name}.${randomUUID()}`
  const reader = await openPartitionReader({
    ...rest,
    kafka,
    log,
    groupId,
    topics: [...new Set(partitions.map(({ topic }) => topic))],
    assigner: makeFixedAssigner(partitions),
  })
  return {
    ...reader,
    stop: async () => {
      await reader.stop()
      await deleteGroup(kafka, groupId).catch((error: unknown) =>
        log.debug({ err: error, groupId }, 'failed to delete temporary consumer group'),
      )
    },
  }
}

const deleteGroup = async (kafka: KafkaClient, groupId: string): Promise<void> => {
  const admin = kafka.admin()
  try {
    await admin.connect()
    await admin.deleteGroups([groupId])
  } finally {
    await admin.disconnect()
  }
}

/** Names a partition. */
export const partitionKey = ({ topic, partition }: TopicPartition): string =>
  `${topic}/${partition}`

const deliverBatch = async (
  plan: PartitionReaderOptions,
  positions: Map<string, number>,
  { batch, resolveOffset, isStale }: EachBatchPayload,
): Promise<void> => {
  const { topic, partition } = batch
  const at = { topic, partition }
  const name = partitionKey(at)
  const from = positions.get(name)
  if (from === undefined || isStale()) return
  const outage = await detectOffsetReset(plan.ends, batch, from)
  if (isStale() || positions.get(name) !== from) return
  if (outage) {
    positions.delete(name)
    plan.onHalt(outage, at)
    return
  }
  const records = batch.messages
    .filter(({ offset }) => Number(offset) >= from)
    .map((message) => toLogRecord(at, message))
  const next = Math.max(from, Number(batch.lastOffset()) + 1)
  if (records.length > 0) await plan.onRecords(records, { ...at, next })
  if (positions.get(name) === from) positions.set(name, next)
  const last = batch.messages.at(-1)
  if (last && !isStale()) resolveOffset(last.offset)
}

/** Start of the fetch that a batch came from; kafkajs leaves it out of its types. */
const fetchOffsetOf = (batch: object): number =>
  'fetchedOffset' in batch ? Number(batch.fetchedOffset) : Number.NaN

/**
 * kafkajs answers "offset out of range" by starting over elsewhere without a word: a batch
 * from another offset than ours is either that, or an answer without records lay between.
 */
const detectOffsetReset = async (
  ends: PartitionReaderOptions['ends'],
  batch: EachBatchPayload['batch'],
  from: number,
): Promise<PermanentHalt | undefined> => {
  if (fetchOffsetOf(batch) === from) return undefined
  const { topic, partition } = batch
  const bounds = (await ends(topic)).find((row) => row.partition === partition)
  return bounds && outOfRangeError({ topic, partition, from }, bounds)
}

/** Bounds of one partition. Throws `Outage` when there is none. */
export const boundsOfPartition = async (
  ends: PartitionReaderOptions['ends'],
  { topic, partition }: TopicPartition,
): Promise<PartitionBounds> => {
  const bounds = (await ends(topic)).find((row) => row.partition === partition)
  if (!bounds) throw new Outage('bus', `${topic} has no partition ${partition}`, { final: true })
  return bounds
}

/** The outage of a position that the log does not hold; undefined when it holds it. */
export const outOfRangeError = (
  { topic, partition, from }: StartPosition,
  { low, end }: PartitionBounds,
): PermanentHalt | undefined =>
  from >= low && from <= end
    ? undefined
    : new OffsetOutOfRange({ topic, partition, position: from, low, end })

/** A record as kafkajs gives it. */
export const toLogRecord = (
  { topic, partition }: TopicPartition,
  message: KafkaMessage,
): LogRecord => ({
  topic,
  partition,
  offset: Number(message.offset),
  key: message.key?.toString('utf8') ?? '',
  value: message.value,
  headers: Object.fromEntries(
    Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)]),
  ),
  timestampMs: Number(message.timestamp),
})

const ASSIGNER_VERSION = 1
const NO_USER_DATA = Buffer.alloc(0)

/** What a member of a group says of itself when it joins. */
export interface GroupMemberMetadata {
  readonly id: string
  /** As its `about` gave it; empty from a member that says nothing. */
  readonly about: Buffer
}

/** Group protocol of an assigner: its name, what it gives each member, by member id, and what a member says of itself. */
export const makeAssigner =
  (
    name: string,
    assign: (
      members: readonly GroupMemberMetadata[],
    ) => ReadonlyMap<string, Record<string, number[]>>,
    about: () => Buffer = () => NO_USER_DATA,
  ): PartitionAssigner =>
  () => ({
    name,
    version: ASSIGNER_VERSION,
    assign: async ({ members }) => {
      const given = assign(
        members.map(({ memberId: id, memberMetadata }) => ({
          id,
          about: AssignerProtocol.MemberMetadata.decode(memberMetadata)?.userData ?? NO_USER_DATA,
        })),
      )
      return members.map(({ memberId }) => ({
        memberId,
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version: ASSIGNER_VERSION,
          assignment: given.get(memberId) ?? {},
          userData: NO_USER_DATA,
        }),
      }))
    },
    protocol: ({ topics }) => ({
      name,
      metadata: AssignerProtocol.MemberMetadata.encode({
        version: ASSIGNER_VERSION,
        topics,
        userData: about(),
      }),
    }),
  })

const makeFixedAssigner = (partitions: readonly TopicPartition[]): PartitionAssigner =>
  makeAssigner('sluice-fixed', (members) => {
    const owned: Record<string, number[]> = {}
    for (const { topic, partition } of partitions) {
      owned[topic] = [...(owned[topic] ?? []), partition]
    }
    return new Map(members.map(({ id }) => [id, owned]))
  })
