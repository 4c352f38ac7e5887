import { Outage } from '../../errors.ts'
import { pause } from '../../retry.ts'
import {
  type Bus,
  type GroupOffset,
  type Lane,
  laneWriterId,
  type RunningTask,
  type Subscription,
} from '../contract.ts'
import { commitFirstOffsets } from '../first-offsets.ts'
import { type HaltedLanes, keepRunning, PermanentHalt } from '../keep-running.ts'
import type { KafkaClient } from './client.ts'
import { type LaneMemberMetadata, makeLaneAssigner } from './lane-assigner.ts'
import { type LaneBuffer, makeLaneBuffer } from './lane-buffer.ts'
import { lanesWithLocalState } from './lane-store-files.ts'
import { type LaneStoresDeps, makeLaneStores } from './lane-stores.ts'
import { skipOffsetGaps } from './offset-gaps.ts'
import {
  boundsOfPartition,
  openPartitionReader,
  openStandaloneReader,
  outOfRangeError,
  type PartitionReader,
  type StartPosition,
  type TopicPartition,
} from './partition-reader.ts'
import type { LaneWriter } from './writer.ts'

/** A fenced lane waits so long before it takes its id again: by then it knows whether the lane still is its own. */
const FENCED_RETRY_MS = 3_000

/** What lanes need of the bus. */
export interface LaneDeps extends LaneStoresDeps, Pick<Bus, 'offsets' | 'partitions'> {
  readonly kafka: KafkaClient
  readonly clientId: string
  readonly writer: (id: string) => Promise<LaneWriter>
  readonly halted: HaltedLanes
  /** Name of this process, and when it started: by them its lanes come back to it. */
  readonly name: string
  readonly bornMs: number
  readonly onHalt: (outage: Outage) => void
}

/** A lane that is owned; its buffer is there while its sources are open. */
interface OwnedLane {
  readonly partition: number
  readonly controller: AbortController
  done: Promise<void>
  buffer: LaneBuffer | undefined
}

/** One membership of a group: its lanes and the two readers that feed them. */
interface GroupMember {
  readonly host: LaneDeps
  readonly subscription: Subscription
  readonly seats: Map<number, OwnedLane>
  readonly ending: Map<number, Promise<void>>
  readonly group: Promise<PartitionReader>
  readonly broadcast: Promise<PartitionReader> | undefined
}

/**
 * Joins a consumer group that hands out whole lanes. A new lane fences its writer, then reads the committed offsets,
 * then starts to read: the order that makes a takeover exact.
 */
export const joinGroup = async (
  host: LaneDeps,
  subscription: Subscription,
): Promise<RunningTask> => {
  const lanes = await laneCount(host, subscription)
  const { kafka, log, ends } = host
  const self = (): LaneMemberMetadata => ({
    name: host.name,
    bornMs: host.bornMs,
    owned: [...member.seats.keys()],
    kept: host.folder ? lanesWithLocalState(host.folder.path, subscription.group) : [],
  })
  const member: GroupMember = {
    host,
    subscription,
    seats: new Map(),
    ending: new Map(),
    group: openPartitionReader({
      kafka,
      log,
      ends,
      groupId: subscription.group,
      topics: subscription.topics,
      assigner: makeLaneAssigner(subscription.topics, lanes, self),
      sources: [],
      onAssigned: (owned) => applyAssignment(member, owned[subscription.topics[0] ?? ''] ?? []),
      onRecords: (records, at) => {
        const buffer = member.seats.get(at.partition)?.buffer
        buffer?.accept(records, at)
        if (buffer?.isFull(at)) whenOpen(member.group, (reader) => reader.pause(at))
      },
      onEmpty: (at) => member.seats.get(at.partition)?.buffer?.accept([], at),
      onHalt: (outage, at) => member.seats.get(at.partition)?.buffer?.fail(outage),
    }),
    broadcast: openBroadcastReader(host, subscription, () => [...member.seats.values()]),
  }
  try {
    await Promise.all([member.group, member.broadcast])
  } catch (error) {
    await leaveGroup(member)
    throw error
  }
  return { stop: () => leaveGroup(member) }
}

const laneCount = async (host: LaneDeps, { group, topics }: Subscription): Promise<number> => {
  const counts = new Set(await Promise.all(topics.map((topic) => host.partitions(topic))))
  const [count] = counts
  if (count === undefined || counts.size > 1) {
    throw new Outage('bus', `topics of ${group} are not co-partitioned`, { final: true })
  }
  return count
}

const whenOpen = (
  reader: Promise<PartitionReader> | undefined,
  act: (reader: PartitionReader) => void,
): void => {
  reader?.then(act, () => undefined)
}

/** One reader of the broadcast topics for all lanes of a member; each lane drops what it has seen. */
const openBroadcastReader = (
  { kafka, log, ends, clientId }: LaneDeps,
  { group, broadcast = [] }: Subscription,
  seats: () => readonly OwnedLane[],
): Promise<PartitionReader> | undefined => {
  if (broadcast.length === 0) return undefined
  const reader = openStandaloneReader({
    kafka,
    log,
    ends,
    name: `${clientId}.broadcast.${group}`,
    partitions: broadcast.map((topic) => ({ topic, partition: 0 })),
    sources: [],
    onRecords: (records, at) => {
      for (const { buffer } of seats()) buffer?.accept(records, at)
      if (seats().some(({ buffer }) => buffer?.isFull(at))) {
        whenOpen(reader, (open) => open.pause(at))
      }
    },
    onHalt: (outage) => {
      for (const { buffer } of seats()) buffer?.fail(outage)
    },
  })
  return reader
}

const leaveGroup = async (member: GroupMember): Promise<void> => {
  applyAssignment(member, [])
  await Promise.all(member.ending.values())
  const readers = await Promise.allSettled([member.group, member.broadcast])
  for (const reader of readers) {
    if (reader.status === 'fulfilled') await reader.value?.stop()
  }
}

const applyAssignment = (member: GroupMember, owned: readonly number[]): void => {
  const { seats, ending } = member
  for (const [partition, seat] of seats) {
    if (owned.includes(partition)) continue
    seats.delete(partition)
    seat.controller.abort(new Error('the lane was taken away'))
    ending.set(partition, seat.done)
  }
  for (const partition of owned) {
    if (!seats.has(partition)) seats.set(partition, startLane(member, partition))
  }
}

const startLane = (member: GroupMember, partition: number): OwnedLane => {
  const { host, subscription } = member
  const controller = new AbortController()
  const { signal } = controller
  const seat: OwnedLane = { partition, controller, done: Promise.resolve(), buffer: undefined }
  const before = member.ending.get(partition)
  const context = { group: subscription.group, partition }
  const run = async (): Promise<void> => {
    await before
    await keepRunning({ what: 'lane', context, log: host.log, signal, onHalt: host.onHalt }, () =>
      host.halted.runUntilHalted({ ...context, log: host.log, signal }, async (opened) => {
        try {
          await runLane(member, seat, opened)
        } catch (error) {
          if (error instanceof Outage && error.final && !(error instanceof PermanentHalt))
            await pause(FENCED_RETRY_MS, signal)
          throw error
        }
      }),
    )
  }
  seat.done = run()
  return seat
}

const runLane = async (member: GroupMember, seat: OwnedLane, onOpen: () => void): Promise<void> => {
  const { host, subscription } = member
  const { group, topics } = subscription
  const { partition, controller } = seat
  const { signal } = controller
  const reader = await member.group
  const stores = makeLaneStores(host, { group, partition, signal })
  const writer = stores.following(await host.writer(laneWriterId(group, partition)))
  const buffer = makeLaneBuffer(signal, (at) => resumeIfRoom(member, at))
  const opened: TopicPartition[] = []
  try {
    const all = await host.offsets(group, topics)
    const known = all.filter((offset) => offset.partition === partition)
    const committed = await commitFirstOffsets(subscription, {
      partition,
      writer,
      committed: known,
    })
    const sources = await Promise.all(
      topics.map((topic) => resolveSource(host, { topic, partition }, committed)),
    )
    const wide = await resolveBroadcastSources(host, subscription, {
      partition,
      state: stores.state,
    })
    signal.throwIfAborted()
    onOpen()
    seat.buffer = buffer
    for (const source of sources) {
      buffer.open(source)
      reader.open(source)
      opened.push(source)
    }
    for (const source of wide) {
      buffer.open(source)
      whenOpen(member.broadcast, (open) =>
        open.open({ ...source, from: lowestPosition(member, source) }),
      )
    }
    const { take } = buffer
    await subscription.run({
      partition,
      committed,
      signal,
      state: stores.state,
      ...skipOffsetGaps({ group, partition, committed, writer, buffer, take }),
    })
  } finally {
    seat.buffer = undefined
    for (const source of opened) reader.close(source)
    for (const topic of subscription.broadcast ?? []) resumeIfRoom(member, { topic, partition: 0 })
    await writer.close()
    await stores.close()
  }
}

const lowestPosition = ({ seats }: GroupMember, source: StartPosition): number =>
  [...seats.values()].reduce(
    (low, { buffer }) => Math.min(low, buffer?.positionOf(source) ?? low),
    source.from,
  )

const resumeIfRoom = (
  { seats, group, broadcast, subscription }: GroupMember,
  at: TopicPartition,
): void => {
  if (subscription.topics.includes(at.topic)) {
    whenOpen(group, (reader) => reader.resume(at))
    return
  }
  if ([...seats.values()].some(({ buffer }) => buffer?.isFull(at))) return
  whenOpen(broadcast, (reader) => reader.resume(at))
}

const resolveSource = async (
  host: LaneDeps,
  at: TopicPartition,
  committed: readonly GroupOffset[],
): Promise<StartPosition> => {
  const bounds = await boundsOfPartition(host.ends, at)
  const offset = committed.find(({ topic }) => topic === at.topic)?.offset
  const source = { ...at, from: offset ?? bounds.low }
  const outage = outOfRangeError(source, bounds)
  if (outage) throw outage
  return source
}

const resolveBroadcastSources = async (
  host: LaneDeps,
  { broadcast = [], broadcastFrom }: Subscription,
  lane: Pick<Lane, 'partition' | 'state'>,
): Promise<readonly StartPosition[]> => {
  const sources: StartPosition[] = []
  for (const topic of broadcast) {
    const offset = await broadcastFrom?.(lane, topic)
    const committed = offset === undefined ? [] : [{ topic, partition: 0, offset }]
    sources.push(await resolveSource(host, { topic, partition: 0 }, committed))
  }
  return sources
}
