import type {
  Bus,
  Commit,
  LogRecord,
  OffsetRange,
  RunningTask,
  TailSubscription,
  Writer,
} from '../../../core/bus/contract.ts'
import { keepRunning, makeHaltedLanes } from '../../../core/bus/keep-running.ts'
import { Outage } from '../../../core/errors.ts'
import { type Logger, makeSilentLogger } from '../../../core/ops/logger.ts'
import type { LaneHost, Link, SimulatedGroups } from './lanes.ts'
import type { SimulatedLog } from './log.ts'

/** The simulated bus of one process. */
export interface SimulatedBusOptions {
  /** Names the process; no two that live at the same time have the same. */
  readonly name: string
  readonly shared: SimulatedLog
  readonly groups: SimulatedGroups
  /** Default: every call happens and is answered. */
  readonly link?: Link
  readonly log?: Logger
  readonly onHalt?: (outage: Outage) => void
}

const directLink: Link = async (_call, work) => work()

/** Opens the bus of one process on a simulated log, which other processes may share. It keeps what `core/bus/contract.ts` says. */
export const openSimulatedBus = (options: SimulatedBusOptions): Bus => {
  const { name, shared, groups, link = directLink, log = makeSilentLogger() } = options
  const onHalt = options.onHalt ?? (() => undefined)
  const running = new Set<RunningTask>()
  const halted = makeHaltedLanes()
  const writer = (id: string) => openWriter(shared, link, id)
  const host: LaneHost = { name, shared, link, log, halted, writer, onHalt }
  const held = (part: RunningTask): RunningTask => {
    const entry: RunningTask = {
      stop: async () => {
        running.delete(entry)
        await part.stop()
      },
    }
    running.add(entry)
    return entry
  }
  return {
    writer,
    createTopics: (specs) => link('facts', () => shared.createTopics(specs)),
    topics: (prefix) => link('facts', () => shared.topics(prefix)),
    partitions: (topic) => link('facts', () => shared.ends(topic).length),
    ends: (topic) => link('facts', () => shared.ends(topic)),
    offsets: (group, topics) => link('facts', () => shared.offsets(group, topics)),
    life: (topic) => link('facts', () => shared.life(topic)),
    read: (topic, partition, from, to) => readRange(host, { topic, partition, from, to }),
    subscribe: async (subscription) =>
      held(await link('facts', () => groups.join(host, subscription))),
    tail: async (tail) => held(await link('facts', () => startTail(host, tail))),
    sweep: async () => shared.compact(),
    capacity: () => undefined,
    halted: halted.list,
    close: async () => {
      await Promise.all([...running].map((part) => part.stop()))
    },
  }
}

/** Whether an ingestor commits more than one block operation that has records. */
const isGroup = (id: string, { records = [] }: Commit): boolean =>
  id.startsWith('ingest.') && new Set(records.map(({ headers }) => headers?.seq)).size > 1

const openWriter = async (shared: SimulatedLog, link: Link, id: string): Promise<Writer> => {
  const holder = await link('writer', () => shared.hold(id))
  let dead: Outage | undefined
  let isClosed = false
  const write = (commit: Commit): readonly OffsetRange[] => {
    if (shared.isHeldBy(id, holder)) return shared.commit(commit)
    const why = isClosed ? 'is closed' : 'was fenced'
    throw new Outage('bus', `writer ${id} ${why}`, { final: true })
  }
  /** Commits of one writer happen in the order in which they were asked for. */
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = async (
    before: Promise<unknown>,
    commit: Commit,
  ): Promise<readonly OffsetRange[]> => {
    await before.catch(() => undefined)
    if (dead) throw dead
    try {
      return await link(isGroup(id, commit) ? 'group' : 'commit', () => write(commit))
    } catch (error) {
      if (error instanceof Outage) dead ??= error
      throw error
    }
  }
  return {
    id,
    commit: (commit) => {
      const turn = inTurn(last, commit)
      last = turn
      return turn
    },
    close: async () => {
      isClosed = true
      shared.release(id, holder)
    },
  }
}

interface ReadRange {
  readonly topic: string
  readonly partition: number
  readonly from: number
  readonly to: number | undefined
}

async function* readRange(
  { shared, link }: LaneHost,
  { topic, partition, from, to }: ReadRange,
): AsyncIterable<LogRecord> {
  yield* await link('read', () => {
    const ends = shared.ends(topic)[partition]
    const end = Math.min(to ?? Number.POSITIVE_INFINITY, ends?.end ?? 0)
    if (ends === undefined || (from < ends.low && from < end)) {
      const message = `${topic}/${partition}: offset ${from} is below the log`
      throw new Outage('bus', message, { final: true })
    }
    return shared.records({ topic, partition, from, to: end })
  })
}

/** A record that came between a look and the wait for more is seen after this time. */
const TAIL_WAIT_MS = 250

interface TailPosition {
  readonly topic: string
  readonly partition: number
  readonly until: number
  next: number
}

const startTail = (host: LaneHost, tail: TailSubscription): RunningTask => {
  const { shared, log, onHalt } = host
  const controller = new AbortController()
  const { signal } = controller
  const places: readonly TailPosition[] = tail.topics.flatMap((topic) =>
    shared.ends(topic).map(({ partition, low, end }) => ({
      topic,
      partition,
      until: end,
      next: tail.from === 'latest' ? end : low,
    })),
  )
  let caughtUp = false
  const done = keepRunning(
    { what: 'tail', context: { topics: tail.topics }, log, signal, onHalt },
    async () => {
      while (!signal.aborted) {
        let moved = false
        for (const place of places) moved = (await deliverNext(host, tail, place)) || moved
        if (!caughtUp && places.every(({ next, until }) => next >= until)) {
          caughtUp = true
          tail.onCaughtUp?.()
        }
        if (!moved) await shared.wakeups.wait(tail.topics, TAIL_WAIT_MS, signal)
      }
    },
  )
  return {
    stop: async () => {
      controller.abort(new Error('the tail stopped'))
      await done
    },
  }
}

/** Hands over what one partition has; whether there was anything. A place moves only after its records were handled. */
const deliverNext = async (
  { shared, link }: LaneHost,
  tail: TailSubscription,
  place: TailPosition,
): Promise<boolean> => {
  const { topic, partition } = place
  const { low = 0, end = 0 } = shared.ends(topic)[partition] ?? {}
  if (place.next >= end) return false
  const from = Math.max(place.next, low)
  const records = await link('tail', () => shared.records({ topic, partition, from, to: end }))
  if (records.length > 0) await tail.onRecords(records)
  place.next = end
  return true
}
