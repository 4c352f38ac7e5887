import { Outage } from '../../errors.ts'
import {
  type GroupOffset,
  type Lane,
  type LogRecord,
  laneWriterId,
  type RunningTask,
  type Subscription,
  type Writer,
} from '../contract.ts'
import { commitFirstOffsets } from '../first-offsets.ts'
import {
  type HaltedLanes,
  type KeepRunningOptions,
  keepRunning,
  OffsetOutOfRange,
} from '../keep-running.ts'
import { assignLanes } from '../lane-assignment.ts'
import type { ChangeNotifier } from './change-notifier.ts'
import { laneStateOf } from './lane-state.ts'
import { runTransaction } from './lmdb.ts'
import { type EmbeddedLog, getTopic, readGroupOffsets, scanRecords } from './log.ts'

/** Largest answer of one `take`; a single larger record still passes. */
const MAX_POLL_BYTES = 16_777_216

/** What lanes need of the bus. */
export interface LaneDeps extends Pick<KeepRunningOptions, 'log' | 'onHalt'> {
  readonly store: EmbeddedLog
  readonly wakeups: ChangeNotifier
  readonly writer: (id: string) => Promise<Writer>
  readonly halted: HaltedLanes
}

interface GroupMember {
  readonly subscription: Subscription
  readonly lanes: Map<
    number,
    { readonly controller: AbortController; readonly done: Promise<void> }
  >
}

/** The groups of one process: hands whole lanes to the members of a group, again whenever one comes or goes. */
export const makeConsumerGroups = (
  host: LaneDeps,
): {
  readonly join: (subscription: Subscription) => RunningTask
  /** Notes how far the lanes are in the topics that each of them reads whole: no sweep may go beyond. */
  readonly note: () => Promise<void>
} => {
  const groups = new Map<string, GroupMember[]>()
  return {
    note: async () => {
      for (const members of groups.values()) {
        for (const { subscription, lanes } of members) {
          for (const partition of lanes.keys())
            await saveBroadcastOffsetsOf(host.store, subscription, partition)
        }
      }
    },
    join: (subscription) => {
      const lanes = laneCount(host.store, subscription)
      const members = groups.get(subscription.group) ?? []
      const member: GroupMember = { subscription, lanes: new Map() }
      members.push(member)
      groups.set(subscription.group, members)
      assignLanesToMembers(host, members, lanes)
      return {
        stop: async () => {
          const at = members.indexOf(member)
          if (at < 0) return
          members.splice(at, 1)
          const running = [...member.lanes.values()]
          for (const { controller } of running) controller.abort(new Error('the member left'))
          await Promise.all(running.map(({ done }) => done))
          assignLanesToMembers(host, members, lanes)
        },
      }
    },
  }
}

const laneCount = (store: EmbeddedLog, { group, topics }: Subscription): number => {
  const counts = new Set(topics.map((topic) => getTopic(store, topic).spec.partitions))
  const [count] = counts
  if (count === undefined || counts.size > 1) {
    throw new Outage('bus', `topics of ${group} are not co-partitioned`, { final: true })
  }
  return count
}

const assignLanesToMembers = (
  host: LaneDeps,
  members: readonly GroupMember[],
  lanes: number,
): void => {
  const asking = members.map(({ lanes: owned }, index) => ({
    id: String(index),
    name: String(index),
    bornMs: 0,
    kept: [],
    owned: [...owned.keys()],
  }))
  const given = assignLanes(asking, lanes)
  members.forEach((member, index) => {
    const own = given.get(String(index)) ?? []
    for (const [partition, { controller }] of member.lanes) {
      if (own.includes(partition)) continue
      controller.abort(new Error('the lane went to another member'))
      member.lanes.delete(partition)
    }
  })
  members.forEach((member, index) => {
    for (const partition of given.get(String(index)) ?? []) {
      if (!member.lanes.has(partition))
        member.lanes.set(partition, startLane(host, member, partition))
    }
  })
}

const startLane = (host: LaneDeps, { subscription }: GroupMember, partition: number) => {
  const controller = new AbortController()
  const { signal } = controller
  const context = { group: subscription.group, partition }
  const done = keepRunning(
    { what: 'lane', context, log: host.log, signal, onHalt: host.onHalt },
    () =>
      host.halted.runUntilHalted({ ...context, log: host.log, signal }, async (opened) => {
        const lane = await openLane(host, subscription, { partition, signal })
        opened()
        await subscription.run(lane)
      }),
  )
  return { controller, done }
}

interface LaneContext {
  readonly partition: number
  readonly signal: AbortSignal
}

const openLane = async (
  host: LaneDeps,
  subscription: Subscription,
  { partition, signal }: LaneContext,
): Promise<Lane> => {
  const { group, topics } = subscription
  const writer = await host.writer(laneWriterId(group, partition))
  const known = readGroupOffsets(host.store, group, topics).filter(
    (offset) => offset.partition === partition,
  )
  const committed = await commitFirstOffsets(subscription, { partition, writer, committed: known })
  const state = statesOf(host.store, partition)
  await saveBroadcastOffsetsOf(host.store, subscription, partition)
  const sources = [
    ...topics.map((topic) => openSource(host.store, topic, partition, committed)),
    ...(await openBroadcastSources(host.store, subscription, { partition, state })),
  ]
  return {
    partition,
    writer,
    committed,
    signal,
    state,
    take: (options) => pollSources(host, sources, signal, options),
  }
}

interface LaneSource {
  readonly topic: string
  readonly partition: number
  next: number
}

const openSource = (
  store: EmbeddedLog,
  topic: string,
  partition: number,
  committed: readonly GroupOffset[],
): LaneSource => {
  const { low, next } = getTopic(store, topic)
  const first = low[partition] ?? 0
  const from = committed.find((offset) => offset.topic === topic)?.offset ?? first
  const end = next[partition] ?? 0
  if (from < first || from > end) {
    throw new OffsetOutOfRange({ topic, partition, position: from, low: first, end })
  }
  return { topic, partition, next: from }
}

const openBroadcastSources = async (
  store: EmbeddedLog,
  { broadcast = [], broadcastFrom }: Subscription,
  lane: Pick<Lane, 'partition' | 'state'>,
): Promise<readonly LaneSource[]> => {
  const sources: LaneSource[] = []
  for (const topic of broadcast) {
    const from = await broadcastFrom?.(lane, topic)
    const committed = from === undefined ? [] : [{ topic, partition: 0, offset: from }]
    sources.push(openSource(store, topic, 0, committed))
  }
  return sources
}

const statesOf =
  ({ state, path }: EmbeddedLog, partition: number): Lane['state'] =>
  async (store) =>
    laneStateOf(state, { path, store, partition })

/** Writes down how far a lane is in its broadcast topics, as its own state knows. */
const saveBroadcastOffsetsOf = async (
  store: EmbeddedLog,
  { group, broadcast = [], broadcastFrom }: Subscription,
  partition: number,
): Promise<void> => {
  const state = statesOf(store, partition)
  for (const topic of broadcast) {
    const from = await broadcastFrom?.({ partition, state }, topic)
    // In one transaction of its own, as everything here: lmdb-js runs other writes in a thread, between ours.
    if (from !== undefined) {
      runTransaction(store.root, () => store.meta.putSync(['reads', group, topic, partition], from))
    }
  }
}

const pollSources = async (
  { store, wakeups }: LaneDeps,
  sources: readonly LaneSource[],
  signal: AbortSignal,
  { maxRecords, maxWaitMs, without }: Parameters<Lane['take']>[0],
): Promise<readonly LogRecord[]> => {
  signal.throwIfAborted()
  const open = without ? sources.filter(({ topic }) => !without.has(topic)) : sources
  const now = pollOnce(store, open, maxRecords)
  if (now.length > 0) return now
  await wakeups.wait(
    open.map(({ topic }) => topic),
    maxWaitMs,
    signal,
  )
  signal.throwIfAborted()
  return pollOnce(store, open, maxRecords)
}

const pollOnce = (
  store: EmbeddedLog,
  sources: readonly LaneSource[],
  maxRecords: number,
): readonly LogRecord[] => {
  const taken: LogRecord[] = []
  let bytes = MAX_POLL_BYTES
  for (const source of sources) {
    const { topic, partition, next: from } = source
    const { low, next } = getTopic(store, topic)
    const to = next[partition] ?? 0
    const first = low[partition] ?? 0
    if (from < first)
      throw new OffsetOutOfRange({ topic, partition, position: from, low: first, end: to })
    if (from >= to) continue
    const found = scanRecords(
      store,
      { topic, partition, from, to },
      { records: maxRecords - taken.length, bytes },
    )
    source.next = found.next
    bytes -= found.bytes
    taken.push(...found.records)
    if (taken.length >= maxRecords || bytes <= 0) break
  }
  return taken
}
