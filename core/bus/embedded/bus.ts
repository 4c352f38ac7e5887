import { setImmediate as turn } from 'node:timers/promises'
import { Outage } from '../../errors.ts'
import type { Logger } from '../../ops/logger.ts'
import type { Bus, LogRecord, Retention, Running, Tail, Writer } from '../contract.ts'
import { haltedLanes, keepRunning } from '../task-runner.ts'
import { wakeups } from './change-notifier.ts'
import { type CommitHooks, type CommitQueue, commitQueue } from './commit-queue.ts'
import { type LaneHost, laneGroups } from './lanes.ts'
import { endsOf, ensureTopics, groupOffsets, openLog, scan, topicOf } from './log.ts'
import type { LogSizes } from './log-size.ts'
import { logRoom } from './log-size-limit.ts'

/** What `read` and `tail` hold in memory at once. */
const CHUNK = { records: 1_000, bytes: 4_194_304 }

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
  readonly retention: Retention
  /** `bounded`: least age of what is deleted while there is room, milliseconds. Default 0. */
  readonly keepMs?: number
  /** Told once when the log or a lane cannot go on: the process should stop in order. */
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
  process.on('SIGXFSZ', ignore)
  const closing = new AbortController()
  const running = new Set<Running>()
  const { wake, wait } = wakeups()
  const onHalt = halting(options)
  const room = logRoom(store, { ...options, nowMs, signal: closing.signal })
  const queue = commitQueue({
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
  const writer = writers(queue)
  const halted = haltedLanes()
  const host: LaneHost = { store, wakeups: { wake, wait }, writer, log, halted, onHalt }
  const groups = laneGroups(host)
  const held = (part: Running): Running => {
    const stop = async (): Promise<void> => {
      running.delete(entry)
      await part.stop()
    }
    const entry = { stop }
    running.add(entry)
    return entry
  }
  return {
    createTopics: (specs) => onDisk(path, async () => ensureTopics(store, specs)),
    topics: async (prefix) =>
      [...store.topics.keys()].filter((name) => name.startsWith(prefix)).sort(),
    partitions: async (topic) => topicOf(store, topic).spec.partitions,
    ends: async (topic) => endsOf(topicOf(store, topic)),
    writer,
    read: (topic, partition, from, to) => readChunks(host, { topic, partition, from, to }),
    offsets: async (group, topics) => groupOffsets(store, group, topics),
    subscribe: async (subscription) => held(groups.join(subscription)),
    tail: async (tail) => held(startTail(host, tail)),
    sweep: async (at) => {
      await groups.note()
      await onDisk(path, () => room.sweep(at))
    },
    capacity: room.capacity,
    halted: halted.list,
    life: async (topic) => `${store.id}/${topicOf(store, topic).id}`,
    close: async () => {
      closing.abort(new Error('the bus closed'))
      await Promise.all([...running].map((part) => part.stop()))
      await room.rest()
      queue.flush()
      process.off('SIGXFSZ', ignore)
      await store.close()
    },
  }
}

/** What lmdb refuses outside a commit, as an outage; nothing of that step was written. */
const onDisk = async (path: string, work: () => Promise<void>): Promise<void> => {
  try {
    await work()
  } catch (cause) {
    if (cause instanceof Outage) throw cause
    throw new Outage('disk', `${path}: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    })
  }
}

const ignore = (): void => undefined

const halting = ({ log, onHalt }: EmbeddedBusOptions): ((outage: Outage) => void) => {
  let told = false
  return (outage) => {
    if (told) return
    told = true
    log.error({ err: outage }, 'embedded log failed, shutting down')
    onHalt?.(outage)
  }
}

/** Writers by id; the newest holder of an id is the only one whose commits are written. */
const writers = (queue: CommitQueue): ((id: string) => Promise<Writer>) => {
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

async function* readChunks(
  { store }: LaneHost,
  { topic, partition, from, to }: ReadRange,
): AsyncIterable<LogRecord> {
  const { low, next } = topicOf(store, topic)
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
    const found = scan(store, { topic, partition, from: at, to: end }, CHUNK)
    at = found.next
    yield* found.records
    await turn()
  }
}

const startTail = (host: LaneHost, tail: Tail): Running => {
  const controller = new AbortController()
  const { signal } = controller
  const places = tail.topics.flatMap((topic) => {
    const { low, next } = topicOf(host.store, topic)
    return next.map((end, partition) => ({
      topic,
      partition,
      next: tail.from === 'latest' ? end : (low[partition] ?? 0),
      caughtUpAt: end,
    }))
  })
  let caughtUp = false
  const done = keepRunning(
    { what: 'tail', facts: { topics: tail.topics }, log: host.log, signal, onHalt: host.onHalt },
    async () => {
      while (!signal.aborted) {
        const moved = await handOver(host, tail, places, signal)
        if (!caughtUp && places.every((place) => place.next >= place.caughtUpAt)) {
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

interface Place {
  readonly topic: string
  readonly partition: number
  readonly caughtUpAt: number
  next: number
}

/** One chunk of every partition; a place moves only after its records were handled. */
const handOver = async (
  { store, log }: LaneHost,
  tail: Tail,
  places: readonly Place[],
  signal: AbortSignal,
): Promise<boolean> => {
  let moved = false
  for (const place of places) {
    const { low, next } = topicOf(store, place.topic)
    const first = low[place.partition] ?? 0
    if (place.next < first) {
      log.warn(
        { ...place, low: first },
        'consumer fell behind retention, skipping to earliest offset',
      )
      place.next = first
    }
    const to = next[place.partition] ?? 0
    if (signal.aborted || place.next >= to) continue
    const found = scan(store, { ...place, from: place.next, to }, CHUNK)
    if (found.records.length > 0) await tail.onRecords(found.records)
    place.next = found.next
    moved = true
  }
  if (moved) await turn()
  return moved
}
