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
import type { Ends, LogRecord } from '../contract.ts'
import { type Halt, OutsideLog } from '../task-runner.ts'
import type { KafkaClient } from './client.ts'
import { openConsumer } from './consumer.ts'

/** One partition of a topic. */
export interface At {
  readonly topic: string
  readonly partition: number
}

/** One partition and where to read it from. */
export interface ReadFrom extends At {
  readonly from: number
}

/** Place of a reader in one partition, after what it handed over. */
export interface ReadPlace extends At {
  readonly next: number
}

/** What a reader hands over. */
export interface ReaderPlan {
  readonly kafka: KafkaClient
  readonly log: Logger
  readonly groupId: string
  readonly topics: readonly string[]
  readonly assigner: PartitionAssigner
  /** Open from the start. */
  readonly sources: readonly ReadFrom[]
  readonly ends: (topic: string) => Promise<readonly Ends[]>
  /** Records in order and where the partition goes on after them. The next ones come when it resolves. */
  readonly onRecords: (records: readonly LogRecord[], at: ReadPlace) => Promise<void> | void
  /** An answer without records: everything up to `next` is known to be empty. */
  readonly onEmpty?: (at: ReadPlace) => void
  /** A place left the log: that partition is closed. */
  readonly onHalt: (outage: Outage, at: At) => void
  /** What this member owns after each joining of the group, by topic. */
  readonly onAssigned?: (owned: Readonly<Record<string, readonly number[]>>) => void
}

/** A running reader. Partitions that are not open are not read. */
export interface Reader {
  open(source: ReadFrom): void
  close(at: At): void
  pause(at: At): void
  resume(at: At): void
  stop(): Promise<void>
}

/**
 * Reads partitions from offsets that the caller knows, over a kafkajs consumer that never commits and whose silent
 * resets are refused.
 */
export const openReader = async (plan: ReaderPlan): Promise<Reader> => {
  const { kafka, log, groupId, assigner, topics } = plan
  const places = new Map(plan.sources.map((source) => [nameOf(source), source.from]))
  const moved = new Set<string>()
  const consumer = await openConsumer({
    kafka,
    log,
    groupId,
    assigner,
    topics,
    config: {
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: CONCURRENCY,
      eachBatch: (payload) => deliver(plan, places, payload),
    },
    onJoined: (member, owned) => {
      seekOwned(member, places, owned)
      plan.onAssigned?.(owned)
    },
    onEmpty: ({ topic, partition, first, last }) => {
      const name = nameOf({ topic, partition })
      const place = places.get(name)
      const next = last + 1
      if (place === undefined || next <= place) return
      if (moved.has(name) && first > place) return
      places.set(name, next)
      plan.onEmpty?.({ topic, partition, next })
    },
  })
  const of = ({ topic, partition }: At) => [{ topic, partitions: [partition] }]
  return {
    open: (source) => {
      const { topic, partition, from } = source
      places.set(nameOf(source), from)
      moved.add(nameOf(source))
      consumer.whileMember((member) => {
        member.seek({ topic, partition, offset: String(from) })
        member.resume(of(source))
      })
    },
    close: (at) => {
      places.delete(nameOf(at))
      consumer.whileMember((member) => member.pause(of(at)))
    },
    pause: (at) => consumer.whileMember((member) => member.pause(of(at))),
    resume: (at) => consumer.whileMember((member) => member.resume(of(at))),
    stop: () => consumer.stop(),
  }
}

const CONCURRENCY = 12

/** Sets every owned partition to its place; those that nobody opened rest. */
const seekOwned = (
  consumer: Pick<Consumer, 'seek' | 'pause'>,
  places: ReadonlyMap<string, number>,
  owned: Readonly<Record<string, readonly number[]>>,
): void => {
  for (const [topic, partitions] of Object.entries(owned)) {
    for (const partition of partitions) {
      const place = places.get(nameOf({ topic, partition }))
      if (place === undefined) consumer.pause([{ topic, partitions: [partition] }])
      else consumer.seek({ topic, partition, offset: String(place) })
    }
  }
}

/**
 * A reader of given partitions. kafkajs cannot read without a group, so it joins one of its own, whose only member gets
 * exactly these partitions, and which is deleted at the end.
 */
export const openOwnReader = async (
  plan: Omit<ReaderPlan, 'groupId' | 'assigner' | 'topics'> & {
    readonly name: string
    readonly partitions: readonly At[]
  },
): Promise<Reader> => {
  const { kafka, log, name, partitions, ...rest } = plan
  const groupId = `${name}.${randomUUID()}`
  const reader = await openReader({
    ...rest,
    kafka,
    log,
    groupId,
    topics: [...new Set(partitions.map(({ topic }) => topic))],
    assigner: fixedAssigner(partitions),
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

const nameOf = ({ topic, partition }: At): string => `${topic}/${partition}`

const deliver = async (
  plan: ReaderPlan,
  places: Map<string, number>,
  { batch, resolveOffset, isStale }: EachBatchPayload,
): Promise<void> => {
  const { topic, partition } = batch
  const at = { topic, partition }
  const name = nameOf(at)
  const from = places.get(name)
  if (from === undefined || isStale()) return
  const outage = await resetOutage(plan.ends, batch, from)
  if (isStale() || places.get(name) !== from) return
  if (outage) {
    places.delete(name)
    plan.onHalt(outage, at)
    return
  }
  const records = batch.messages
    .filter(({ offset }) => Number(offset) >= from)
    .map((message) => toRecord(at, message))
  const next = Math.max(from, Number(batch.lastOffset()) + 1)
  if (records.length > 0) await plan.onRecords(records, { ...at, next })
  if (places.get(name) === from) places.set(name, next)
  const last = batch.messages.at(-1)
  if (last && !isStale()) resolveOffset(last.offset)
}

/** Start of the fetch that a batch came from; kafkajs leaves it out of its types. */
const fetchedFrom = (batch: object): number =>
  'fetchedOffset' in batch ? Number(batch.fetchedOffset) : Number.NaN

/**
 * kafkajs answers "offset out of range" by starting over elsewhere without a word: a batch
 * from another place than ours is either that, or an answer without records lay between.
 */
const resetOutage = async (
  ends: ReaderPlan['ends'],
  batch: EachBatchPayload['batch'],
  from: number,
): Promise<Halt | undefined> => {
  if (fetchedFrom(batch) === from) return undefined
  const { topic, partition } = batch
  const bounds = (await ends(topic)).find((row) => row.partition === partition)
  return bounds && outsideLog({ topic, partition, from }, bounds)
}

/** Bounds of one partition. Throws `Outage` when there is none. */
export const boundsOf = async (
  ends: ReaderPlan['ends'],
  { topic, partition }: At,
): Promise<Ends> => {
  const bounds = (await ends(topic)).find((row) => row.partition === partition)
  if (!bounds) throw new Outage('bus', `${topic} has no partition ${partition}`, { final: true })
  return bounds
}

/** The outage of a place that the log does not have; undefined when it has it. */
export const outsideLog = (
  { topic, partition, from }: ReadFrom,
  { low, end }: Ends,
): Halt | undefined =>
  from >= low && from <= end
    ? undefined
    : new OutsideLog({ topic, partition, place: from, low, end })

/** A record as kafkajs gives it. */
export const toRecord = ({ topic, partition }: At, message: KafkaMessage): LogRecord => ({
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
const NO_DATA = Buffer.alloc(0)

/** What a member of a group says of itself when it joins. */
export interface JoinedMember {
  readonly id: string
  /** As its `about` gave it; empty from a member that says nothing. */
  readonly about: Buffer
}

/** Group protocol of an assigner: its name, what it gives each member, by member id, and what a member says of itself. */
export const assignerOf =
  (
    name: string,
    assign: (members: readonly JoinedMember[]) => ReadonlyMap<string, Record<string, number[]>>,
    about: () => Buffer = () => NO_DATA,
  ): PartitionAssigner =>
  () => ({
    name,
    version: ASSIGNER_VERSION,
    assign: async ({ members }) => {
      const given = assign(
        members.map(({ memberId: id, memberMetadata }) => ({
          id,
          about: AssignerProtocol.MemberMetadata.decode(memberMetadata)?.userData ?? NO_DATA,
        })),
      )
      return members.map(({ memberId }) => ({
        memberId,
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version: ASSIGNER_VERSION,
          assignment: given.get(memberId) ?? {},
          userData: NO_DATA,
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

const fixedAssigner = (partitions: readonly At[]): PartitionAssigner =>
  assignerOf('sluice-fixed', (members) => {
    const owned: Record<string, number[]> = {}
    for (const { topic, partition } of partitions) {
      owned[topic] = [...(owned[topic] ?? []), partition]
    }
    return new Map(members.map(({ id }) => [id, owned]))
  })
