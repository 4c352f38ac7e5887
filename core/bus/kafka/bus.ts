import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import pLimit from 'p-limit'
import { Outage } from '../../errors.ts'
import type { Bus, RunningTask, TailSubscription } from '../contract.ts'
import { acquireFolderLock, liveOwner } from '../embedded/process-lock.ts'
import { makeHaltedLanes } from '../keep-running.ts'
import { openAdmin } from './admin.ts'
import { type KafkaConnectionOptions, makeKafkaClient } from './client.ts'
import { removeOldStores } from './lane-store-files.ts'
import { joinGroup, type LaneDeps } from './lanes.ts'
import { boundsOfPartition, openStandaloneReader } from './partition-reader.ts'
import { acquireProcessName, NAMES_FOLDER, processFolder } from './process-name.ts'
import { makeRangeReader, type RangeReader } from './range-reader.ts'
import { openWriter } from './writer.ts'

/** The Kafka bus of one process. */
export interface KafkaBusOptions extends KafkaConnectionOptions {
  /** Called when a tail cannot continue, because its position left the log, or a lane, because its disk is full. */
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
const MAX_CONCURRENT_LOADS = 8

/** Opens the bus on a Kafka cluster. Throws `Outage` when no broker answers. */
export const openKafkaBus = async (options: KafkaBusOptions): Promise<Bus> => {
  const { clientId, log, state, processName = '', onHalt = () => undefined } = options
  const kafka = makeKafkaClient(options)
  const admin = await openAdmin(kafka)
  const { leaders, ends, clusterId } = admin
  const closing = new AbortController()
  const running = new Set<RunningTask>()
  const held = (part: RunningTask): RunningTask => {
    const entry: RunningTask = {
      stop: async () => {
        if (running.delete(entry)) await part.stop()
      },
    }
    running.add(entry)
    return entry
  }
  const reader = makeRangeReader(kafka)
  const halted = makeHaltedLanes()
  const copies = new Set<string>()
  const own = processName === '' && state ? acquireProcessName(state.path) : undefined
  const name = own?.name ?? (processName || randomUUID())
  // Local copies are one process's own: lmdb breaks a writer beside which another process opens its environment.
  const local = state && { ...state, path: processFolder(state.path, name) }
  const release = local && acquireFolderLock(local.path)
  const host: LaneDeps = {
    kafka,
    clientId,
    log,
    onHalt,
    halted,
    ends,
    folder: local && { ...local, clusterId, open: copies },
    name,
    bornMs: Date.now(),
    loading: pLimit(MAX_CONCURRENT_LOADS),
    partitions: async (topic) => (await leaders.of(topic)).length,
    offsets: admin.offsets,
    writer: (id) => openWriter(kafka, leaders, id),
    read: (topic, partition, from, to) =>
      readCommittedRange({ ends, reader, signal: closing.signal }, [topic, partition, from, to]),
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
      const folders = state && local ? [local.path, ...orphanedFolders(state.path)] : []
      const removed = folders.flatMap((folder) => removeOldStores(folder, copies, nowMs))
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
const orphanedFolders = (path: string): readonly string[] =>
  readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== NAMES_FOLDER)
    .map((entry) => join(path, entry.name))
    .filter((folder) => liveOwner(folder) === undefined)

interface ReadDeps {
  readonly ends: Bus['ends']
  readonly reader: RangeReader
  readonly signal: AbortSignal
}

async function* readCommittedRange(
  { ends, reader, signal }: ReadDeps,
  [topic, partition, from, to]: Parameters<Bus['read']>,
): ReturnType<Bus['read']> {
  const bounds = await boundsOfPartition(ends, { topic, partition })
  const end = Math.min(to ?? bounds.end, bounds.end)
  if (from < bounds.low && from < end) {
    throw new Outage('bus', `${topic}/${partition}: offset ${from} is below the log`, {
      final: true,
    })
  }
  yield* reader.read({ topic, partition, from, to: end }, signal)
}

const startTail = async (
  { kafka, log, ends, clientId, onHalt }: LaneDeps,
  tail: TailSubscription,
): Promise<RunningTask> => {
  const positions = new Map<string, { readonly until: number; next: number }>()
  const sources = []
  for (const topic of tail.topics) {
    for (const { partition, low, end } of await ends(topic)) {
      const from = tail.from === 'latest' ? end : low
      sources.push({ topic, partition, from })
      positions.set(`${topic}/${partition}`, { until: end, next: from })
    }
  }
  let caughtUp = false
  const moveTo = (topic: string, partition: number, next: number): void => {
    const position = positions.get(`${topic}/${partition}`)
    if (position) position.next = next
    checkCaughtUp()
  }
  const checkCaughtUp = (): void => {
    if (caughtUp || [...positions.values()].some(({ next, until }) => next < until)) return
    caughtUp = true
    tail.onCaughtUp?.()
  }
  const reader = await openStandaloneReader({
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
