import {
  type Lane,
  type LaneState,
  type LogRecord,
  laneWriterId,
  type RunningTask,
  type Subscription,
  type Writer,
} from '../../../core/bus/contract.ts'
import { commitFirstOffsets } from '../../../core/bus/first-offsets.ts'
import {
  type HaltedLanes,
  type KeepRunningOptions,
  keepRunning,
  OffsetOutOfRange,
} from '../../../core/bus/keep-running.ts'
import { assignLanes } from '../../../core/bus/lane-assignment.ts'
import { Outage } from '../../../core/errors.ts'
import type { SimulatedLog, StateEntries } from './log.ts'

/** What a process asks of the log; `group`: a commit of an ingestor that holds several block operations. */
export type LinkCall = 'writer' | 'commit' | 'group' | 'state' | 'take' | 'read' | 'tail' | 'facts'

/**
 * The way from a process to the log: `work` is the call as it happens there, at once. A simulation may let it wait, happen
 * without an answer, not happen, or never come back.
 */
export type Link = <T>(call: LinkCall, work: () => T) => Promise<T>

/** What lanes need of the bus of their process. */
export interface LaneHost extends Pick<KeepRunningOptions, 'log' | 'onHalt'> {
  readonly name: string
  readonly shared: SimulatedLog
  readonly link: Link
  readonly halted: HaltedLanes
  readonly writer: (id: string) => Promise<Writer>
}

interface RunningLane {
  readonly controller: AbortController
  readonly done: Promise<void>
}

interface Member {
  readonly id: string
  readonly host: LaneHost
  readonly subscription: Subscription
  readonly lanes: Map<number, RunningLane>
  readonly started: (lane: RunningLane) => void
}

interface Group {
  readonly lanes: number
  members: Member[]
}

/** The members of all groups of one log, and which of them runs which lane. */
export class SimulatedGroups {
  readonly #groups = new Map<string, Group>()
  readonly #lanes: RunningLane[] = []
  /** Members whose lanes went to others and who were not told. */
  readonly #expired = new Map<string, Member[]>()
  #joined = 0

  /** Joins a group; its lanes are handed out anew. */
  join(host: LaneHost, subscription: Subscription): RunningTask {
    const group = this.#groupOf(host.shared, subscription)
    this.#joined += 1
    const member: Member = {
      id: String(this.#joined),
      host,
      subscription,
      lanes: new Map(),
      started: (lane) => this.#lanes.push(lane),
    }
    group.members.push(member)
    assign(group)
    return {
      stop: async () => {
        group.members = group.members.filter((each) => each !== member)
        await stopLanes(member, 'the member left')
        assign(group)
      },
    }
  }

  /** Gives the lanes of a process to the other members without telling it, as after a session that timed out. */
  expire(process: string): void {
    const expired = this.#expired.get(process) ?? []
    for (const group of this.#groups.values()) {
      const gone = group.members.filter(({ host }) => host.name === process)
      if (gone.length === 0) continue
      expired.push(...gone)
      group.members = group.members.filter((member) => !gone.includes(member))
      assign(group)
    }
    this.#expired.set(process, expired)
  }

  /** Tells a process whose lanes were given away: it ends them and joins its groups again. */
  async notice(process: string): Promise<void> {
    const members = this.#expired.get(process) ?? []
    this.#expired.delete(process)
    await Promise.all(
      members.map(async (member) => {
        await stopLanes(member, 'the lanes went to another member')
        const group = this.#groups.get(member.subscription.group)
        group?.members.push(member)
        if (group) assign(group)
      }),
    )
  }

  /** Tells every lane that ever ran that it is over, also those of processes that are dead: what they wait for is let go. */
  end(): void {
    for (const { controller } of this.#lanes) controller.abort(new Error('the simulation is over'))
  }

  #groupOf(log: SimulatedLog, { group, topics }: Subscription): Group {
    const counts = new Set(topics.map((topic) => log.ends(topic).length))
    const [lanes] = counts
    if (lanes === undefined || counts.size > 1) {
      throw new Outage('bus', `topics of ${group} are not co-partitioned`, { final: true })
    }
    const held = this.#groups.get(group) ?? { lanes, members: [] }
    this.#groups.set(group, held)
    return held
  }
}

const stopLanes = async ({ lanes }: Member, why: string): Promise<void> => {
  const running = [...lanes.values()]
  lanes.clear()
  for (const { controller } of running) controller.abort(new Error(why))
  await Promise.all(running.map(({ done }) => done))
}

const assign = ({ lanes, members }: Group): void => {
  const asking = members.map(({ id, lanes: owned }) => ({
    id,
    name: id,
    bornMs: 0,
    kept: [],
    owned: [...owned.keys()],
  }))
  const given = assignLanes(asking, lanes)
  for (const member of members) {
    const own = given.get(member.id) ?? []
    for (const [partition, { controller }] of member.lanes) {
      if (own.includes(partition)) continue
      member.lanes.delete(partition)
      controller.abort(new Error('the lane went to another member'))
    }
  }
  for (const member of members) {
    for (const partition of given.get(member.id) ?? []) {
      if (!member.lanes.has(partition)) member.lanes.set(partition, startLane(member, partition))
    }
  }
}

const startLane = ({ host, subscription, started }: Member, partition: number): RunningLane => {
  const controller = new AbortController()
  const { signal } = controller
  const { log, halted, onHalt } = host
  const facts = { group: subscription.group, partition }
  const done = keepRunning({ what: 'lane', context: facts, log, signal, onHalt }, () =>
    halted.runUntilHalted({ ...facts, log, signal }, async (opened) => {
      const lane = await openLane(host, subscription, { partition, signal })
      opened()
      await subscription.run(lane)
    }),
  )
  const lane = { controller, done }
  started(lane)
  return lane
}

const openLane = async (
  host: LaneHost,
  subscription: Subscription,
  { partition, signal }: Pick<Lane, 'partition' | 'signal'>,
): Promise<Lane> => {
  const { shared, link } = host
  const { group, topics } = subscription
  const writer = await host.writer(laneWriterId(group, partition))
  const known = await link('facts', () =>
    shared.offsets(group, topics).filter((offset) => offset.partition === partition),
  )
  const committed = await commitFirstOffsets(subscription, { partition, writer, committed: known })
  const copies = new Map<string, StateEntries>()
  const state = async (store: string): Promise<LaneState> => {
    const copy = copies.get(store) ?? (await link('state', () => shared.stateOf(store, partition)))
    copies.set(store, copy)
    return copy
  }
  const sources = topics.map((topic) => {
    const from = committed.find((offset) => offset.topic === topic)?.offset
    return openInput(shared, { topic, partition, from })
  })
  for (const topic of subscription.broadcast ?? []) {
    const from = await subscription.broadcastFrom?.({ partition, state }, topic)
    sources.push(openInput(shared, { topic, partition: 0, from }))
  }
  return {
    partition,
    committed,
    signal,
    state,
    writer: { ...writer, commit: createLaneWriter(writer, copies, partition) },
    take: (options) => takeRecords(host, sources, signal, options),
  }
}

/** A lane's state is as of its own last commit: another owner's commits do not show in it. */
const createLaneWriter =
  (
    writer: Writer,
    copies: ReadonlyMap<string, StateEntries>,
    partition: number,
  ): Writer['commit'] =>
  async (commit) => {
    const spans = await writer.commit(commit)
    for (const change of commit.state ?? []) {
      if (change.partition === partition) copies.get(change.store)?.change(change)
    }
    return spans
  }

interface LaneInput {
  readonly topic: string
  readonly partition: number
  next: number
}

interface PartitionOffset {
  readonly topic: string
  readonly partition: number
  readonly from: number | undefined
}

const openInput = (log: SimulatedLog, { topic, partition, from }: PartitionOffset): LaneInput => {
  const { low = 0, end = 0 } = log.ends(topic)[partition] ?? {}
  const place = from ?? low
  if (place < low || place > end)
    throw new OffsetOutOfRange({ topic, partition, position: place, low, end })
  return { topic, partition, next: place }
}

const takeRecords = async (
  { shared, link }: LaneHost,
  sources: readonly LaneInput[],
  signal: AbortSignal,
  { maxRecords, maxWaitMs, without }: Parameters<Lane['take']>[0],
): Promise<readonly LogRecord[]> => {
  signal.throwIfAborted()
  const open = without ? sources.filter(({ topic }) => !without.has(topic)) : sources
  const now = await link('take', () => takeAvailable(shared, open, maxRecords))
  signal.throwIfAborted()
  if (now.length > 0) return now
  const topics = open.map(({ topic }) => topic)
  await shared.wakeups.wait(topics, maxWaitMs, signal)
  signal.throwIfAborted()
  return await link('take', () => takeAvailable(shared, open, maxRecords))
}

const takeAvailable = (
  log: SimulatedLog,
  sources: readonly LaneInput[],
  maxRecords: number,
): readonly LogRecord[] => {
  const taken: LogRecord[] = []
  for (const source of sources) {
    const { topic, partition, next: from } = source
    const { low = 0, end = 0 } = log.ends(topic)[partition] ?? {}
    if (from < low) throw new OffsetOutOfRange({ topic, partition, position: from, low, end })
    if (from >= end) continue
    const most = maxRecords - taken.length
    const found = log.records({ topic, partition, from, to: end }, most)
    source.next = found.length < most ? end : (found.at(-1)?.offset ?? from) + 1
    for (const record of found) taken.push(record)
    if (taken.length >= maxRecords) break
  }
  return taken
}
