import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import pLimit from 'p-limit'
import { Outage } from '../../errors.ts'
import type { Bus, Running, Tail } from '../contract.ts'
import { claimFolder, liveOwner } from '../embedded/process-lock.ts'
import { haltedLanes } from '../task-runner.ts'
import { openAdmin } from './admin.ts'
import { type KafkaAccess, kafkaClient } from './client.ts'
import { joinGroup, type LaneHost } from './lanes.ts'
import { removeOldCopies } from './local-stores.ts'
import { folderOf, NAMES, takeName } from './process-name.ts'
import { type RangeReader, rangeReader } from './range-reader.ts'
import { boundsOf, openOwnReader } from './reader.ts'
import { openWriter } from './writer.ts'

/** The Kafka bus of one process. */
export interface KafkaBusOptions extends KafkaAccess {
  /** Told when a tail cannot go on, because its place left the log, or a lane, because its disk is full. */
  readonly onHalt?: (outage: Outage) => void
  /** Where lanes keep their state between two looks at its changelog; needed by `Lane.state` only. */
  readonly state?: {
    /** Folder, made when absent; processes of one machine may share it. */
    readonly path: string
    /** Most bytes of one lane's store. */
    readonly mapSizeBytes: number
  }
  /** Name by which this process gets the same lanes after a restart. Default: kept in the state's folder. */
  readonly processName?: string
}

/** Stores that load at once: each holds a connection and up to 12 MiB of records. */
const LOADS_AT_ONCE = 8

/** Opens the bus on a Kafka cluster. Throws `Outage` when no broker answers. */
export const openKafkaBus = async (options: KafkaBusOptions): Promise<Bus> => {
  const { clientId, log, state, processName = '', onHalt = () => undefined } = options
  const kafka = kafkaClient(options)
  const admin = await openAdmin(kafka)
  const { leaders, ends, clusterId } = admin
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
  const reader = rangeReader(kafka)
  const halted = haltedLanes()
  const copies = new Set<string>()
  const own = processName === '' && state ? takeName(state.path) : undefined
  const name = own?.name ?? (processName || randomUUID())
  // Local copies are one process's own: lmdb breaks a writer beside which another process opens its environment.
  const local = state && { ...state, path: folderOf(state.path, name) }
  const release = local && claimFolder(local.path)
  const host: LaneHost = {
    kafka,
    clientId,
    log,
    onHalt,
    halted,
    ends,
    folder: local && { ...local, clusterId, open: copies },
    name,
    bornMs: Date.now(),
    loading: pLimit(LOADS_AT_ONCE),
    partitions: async (topic) => (await leaders.of(topic)).length,
    offsets: admin.offsets,
    writer: (id) => openWriter(kafka, leaders, id),
    read: (topic, partition, from, to) =>
      readOrEnd({ ends, reader, signal: closing.signal }, [topic, partition, from, to]),
  }
  return {
    createTopics: admin.createTopics,
    topics: admin.topics,
    partitions: host.partitions,
    ends,
    writer: host.writer,
    read: host.read,
    offsets: host.offsets,
    subscribe: async (subscription) => held(await joinGroup(host, subscription)),
    tail: async (tail) => held(await startTail(host, tail)),
    sweep: async (nowMs) => {
      const folders = state && local ? [local.path, ...orphans(state.path)] : []
      const removed = folders.flatMap((folder) => removeOldCopies(folder, copies, nowMs))
      if (removed.length > 0)
        log.info({ removed }, 'removed the local state of partitions assigned elsewhere')
    },
    capacity: () => undefined,
    halted: halted.list,
    life: async (topic) => [clusterId, topic, (await reader.topicId(topic)) ?? ''].join('/'),
    close: async () => {
      closing.abort(new Error('the bus closed'))
      await Promise.all([...running].map((part) => part.stop()))
      release?.()
      own?.release()
      await reader.close()
      await admin.close()
    },
  }
}

/** Folders of processes that are gone. */
const orphans = (path: string): readonly string[] =>
  readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== NAMES)
    .map((entry) => join(path, entry.name))
    .filter((folder) => liveOwner(folder) === undefined)

interface ReadPlan {
  readonly ends: Bus['ends']
  readonly reader: RangeReader
  readonly signal: AbortSignal
}

async function* readOrEnd(
  { ends, reader, signal }: ReadPlan,
  [topic, partition, from, to]: Parameters<Bus['read']>,
): ReturnType<Bus['read']> {
  const bounds = await boundsOf(ends, { topic, partition })
  const end = Math.min(to ?? bounds.end, bounds.end)
  if (from < bounds.low && from < end) {
    throw new Outage('bus', `${topic}/${partition}: offset ${from} is below the log`, {
      final: true,
    })
  }
  yield* reader.read({ topic, partition, from, to: end }, signal)
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
      log.error({ err: outage, topics: tail.topics }, 'tail consumer halted')
      onHalt(outage)
    },
  })
  checkCaughtUp()
  return { stop: () => reader.stop() }
}
