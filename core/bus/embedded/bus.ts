import { setImmediate as turn } from 'node:timers/promises'
import { Outage } from '../../errors.ts'
import type { Logger } from '../../ops/logger.ts'
import type {
  Bus,
  LogRecord,
  RetentionPolicy,
  RunningTask,
  TailSubscription,
  Writer,
} from '../contract.ts'
import { keepRunning, makeHaltedLanes } from '../keep-running.ts'
import { makeChangeNotifier } from './change-notifier.ts'
import { type CommitHooks, type CommitQueue, makeCommitQueue } from './commit-queue.ts'
import { type LaneDeps, makeConsumerGroups } from './lanes.ts'
import {
  ensureTopics,
  getTopic,
  openLog,
  readGroupOffsets,
  scanRecords,
  topicBounds,
} from './log.ts'
import type { LogSizes } from './log-size.ts'
import { makeLogSizeLimiter } from './log-size-limiter.ts'

/** What `read` and `tail` hold in memory at once. */
const READ_LIMIT = { records: 1_000, bytes: 4_194_304 }

/** The embedded bus of one process over one folder. */
export interface EmbeddedBusOptions {
  /** Folder, made when absent. */
  readonly path: string
  /** Most bytes that the log may hold: a commit beyond it waits for a sweep, and is an `Outage` where that makes no room. */
  readonly mapSizeBytes: number
  /** The limit where it follows the disk; asked before each sweep. Default: `mapSizeBytes`. */
  readonly limitBytes?: (sizes: LogSizes) => number
  readonly log: Logger
  /** `off` keeps records whatever their topic says. */
  readonly retention: RetentionPolicy
  /** `bounded`: least age of what is deleted while there is room, milliseconds. Default 0. */
  readonly keepMs?: number
  /** Called once when the log or a lane cannot continue: the process should stop in order. */
  readonly onHalt?: (outage: Outage) => void
  readonly nowMs?: () => number
  readonly hooks?: CommitHooks
}

/**
 * Opens the bus on an lmdb folder. A commit is one lmdb transaction, on disk before it resolves; commits that come
 * close together share it. Throws `Outage` when another live process holds the folder.
 */
export const openEmbeddedBus = async (options: EmbeddedBusOptions): Promise<Bus> => {
  const { path, mapSizeBytes, log, nowMs = Date.now, hooks = {} } = options
  const store = openLog(path, mapSizeBytes)
  // A write over the file size limit must come back as an error, not end the process.
  process.on('SIGXFSZ', ignoreSignal)
  const closing = new AbortController()
  const running = new Set<RunningTask>()
  const { wake, wait } = makeChangeNotifier()
  const onHalt = reportHaltOnce(options)
  const room = makeLogSizeLimiter(store, { ...options, nowMs, signal: closing.signal })
  const queue = makeCommitQueue({
    log: store,
    nowMs,
    hooks,
    onCommitted: wake,
    onBroken: onHalt,
    onRetry: (error) => log.warn({ error }, 'lmdb transaction aborted, retrying'),
    limitBytes: room.limitBytes,
    makeRoom: room.make,
    onUsed: room.used,
  })
  const writer = makeWriters(queue)
  const halted = makeHaltedLanes()
  const host: LaneDeps = { store, wakeups: { wake, wait }, writer, log, halted, onHalt }
  const groups = makeConsumerGroups(host)
  const held = (part: RunningTask): RunningTask => {
    const stop = async (): Promise<void> => {
      running.delete(entry)
      await part.stop()
    }
    const entry = { stop }
    running.add(entry)
    return entry
  }
  return {
    createTopics: (specs) => withDiskErrors(path, async () => ensureTopics(store, specs)),
    topics: async (prefix) =>
      [...store.topics.keys()].filter((name) => name.startsWith(prefix)).sort(),
    partitions: async (topic) => getTopic(store, topic).spec.partitions,
    ends: async (topic) => topicBounds(getTopic(store, topic)),
    writer,
    read: (topic, partition, from, to) => readInChunks(host, { topic, partition, from, to }),
    offsets: async (group, topics) => readGroupOffsets(store, group, topics),
    subscribe: async (subscription) => held(groups.join(subscription)),
    tail: async (tail) => held(startTail(host, tail)),
    sweep: async (at) => {
      await groups.note()
      await withDiskErrors(path, () => room.sweep(at))
    },
    capacity: room.capacity,
    halted: halted.list,
    life: async (topic) => `${store.id}/${getTopic(store, topic).id}`,
    close: async () => {
      closing.abort(new Error('the bus closed'))
      await Promise.all([...running].map((part) => part.stop()))
      await room.whenIdle()
      queue.close()
      process.off('SIGXFSZ', ignoreSignal)
      await store.close()
    },
  }
}

/** What lmdb refuses outside a commit, as an outage; nothing of that step was written. */
const withDiskErrors = async (path: string, work: () => Promise<void>): Promise<void> => {
  try {
    await work()
  } catch (cause) {
    if (cause instanceof Outage) throw cause
    throw new Outage('disk', `${path}: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    })
  }
}

const ignoreSignal = (): void => undefined

const reportHaltOnce = ({ log, onHalt }: EmbeddedBusOptions): ((outage: Outage) => void) => {
  let reported = false
  return (outage) => {
    if (reported) return
    reported = true
    log.error({ err: outage }, 'embedded log failed, shutting down')
    onHalt?.(outage)
  }
}

/** Writers by id; the newest holder of an id is the only one whose commits are written. */
const makeWriters = (queue: CommitQueue): ((id: string) => Promise<Writer>) => {
  const holders = new Map<string, symbol>()
  return async (id) => {
    const self = Symbol(id)
    holders.set(id, self)
    let dead: Outage | undefined
    let closed = false
    const alive = (): void => {
      if (holders.get(id) === self) return
      throw new Outage('bus', `writer ${id} ${closed ? 'is closed' : 'was fenced'}`, {
        final: true,
      })
    }
    return {
      id,
      commit: async (commit) => {
        if (dead) throw dead
        try {
          return await queue.add(commit, alive)
        } catch (error) {
          if (error instanceof Outage) dead ??= error
          throw error
        }
      },
      close: async () => {
        if (holders.get(id) !== self) return
        closed = true
        holders.delete(id)
      },
    }
  }
}

interface ReadRange {
  readonly topic: string
  readonly partition: number
  readonly from: number
  readonly to: number | undefined
}

async function* readInChunks(
  { store }: LaneDeps,
  { topic, partition, from, to }: ReadRange,
): AsyncIterable<LogRecord> {
  const { low, next } = getTopic(store, topic)
  const end = Math.min(to ?? Number.POSITIVE_INFINITY, next[partition] ?? 0)
  // Asked again for each chunk: a sweep may have come between them.
  const check = (offset: number): void => {
    const first = low[partition]
    if (first !== undefined && (offset >= first || offset >= end)) return
    const message = `${topic}/${partition}: offset ${offset} is below the log`
    throw new Outage('bus', message, { final: true })
  }
  check(from)
  let at = from
  while (at < end) {
    check(at)
    const found = scanRecords(store, { topic, partition, from: at, to: end }, READ_LIMIT)
    at = found.next
    yield* found.records
    await turn()
  }
}

const startTail = (host: LaneDeps, tail: TailSubscription): RunningTask => {
  const controller = new AbortController()
  const { signal } = controller
  const positions = tail.topics.flatMap((topic) => {
    const { low, next } = getTopic(host.store, topic)
    return next.map((end, partition) => ({
      topic,
      partition,
      next: tail.from === 'latest' ? end : (low[partition] ?? 0),
      caughtUpAt: end,
    }))
  })
  let caughtUp = false
  const done = keepRunning(
    { what: 'tail', context: { topics: tail.topics }, log: host.log, signal, onHalt: host.onHalt },
    async () => {
      while (!signal.aborted) {
        const moved = await deliverNextChunks(host, tail, positions, signal)
        if (!caughtUp && positions.every((position) => position.next >= position.caughtUpAt)) {
          caughtUp = true
          tail.onCaughtUp?.()
        }
        if (!moved) await host.wakeups.wait(tail.topics, Number.POSITIVE_INFINITY, signal)
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

interface TailPosition {
  readonly topic: string
  readonly partition: number
  readonly caughtUpAt: number
  next: number
}

/** One chunk of every partition; a position moves only after its records were handled. */
const deliverNextChunks = async (
  { store, log }: LaneDeps,
  tail: TailSubscription,
  positions: readonly TailPosition[],
  signal: AbortSignal,
): Promise<boolean> => {
  let moved = false
  for (const position of positions) {
    const { low, next } = getTopic(store, position.topic)
    const first = low[position.partition] ?? 0
    if (position.next < first) {
      log.warn(
        { ...position, low: first },
        'consumer fell behind retention, skipping to earliest offset',
      )
      position.next = first
    }
    const to = next[position.partition] ?? 0
    if (signal.aborted || position.next >= to) continue
    const found = scanRecords(store, { ...position, from: position.next, to }, READ_LIMIT)
    if (found.records.length > 0) await tail.onRecords(found.records)
    position.next = found.next
    moved = true
  }
  if (moved) await turn()
  return moved
}
