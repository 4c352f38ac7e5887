import type { LimitFunction } from 'p-limit'
import { Outage } from '../../errors.ts'
import type { Logger } from '../../ops/logger.ts'
import type { Bus, Commit, Lane, StateChange, Writer } from '../contract.ts'
import {
  type LaneStore,
  openLaneStore,
  type StoreChange,
  type StoreCheckpoint,
} from './lane-store.ts'
import { storePath } from './lane-store-files.ts'
import { boundsOfPartition, type TopicPartition } from './partition-reader.ts'
import type { ChangelogPosition, LaneWriter } from './writer.ts'

/**
 * A copy that has not followed its changelog for longer starts over: compaction may have dropped tombstones that it
 * has not seen. Half of `delete.retention.ms`.
 */
const MAX_STORE_AGE_MS = 43_200_000
/** What one write to a copy takes while it loads. */
const LOAD_CHUNK_RECORDS = 2_000
const LOAD_CHUNK_BYTES = 4_194_304

/** The folder of all local copies of a process. */
export interface StateFolder {
  readonly path: string
  /** Most bytes of one lane's store. */
  readonly mapSizeBytes: number
  readonly clusterId: string
  /** Copies in use, by their folders. */
  readonly open: Set<string>
}

/** What stores need of the bus. */
export interface LaneStoresDeps extends Pick<Bus, 'ends' | 'read'> {
  readonly log: Logger
  /** undefined: this process keeps no state, and `Lane.state` is an outage. */
  readonly folder: StateFolder | undefined
  /** How many stores load at once. */
  readonly loading: LimitFunction
}

/** Stores of one lane: copies on the local disk that follow their changelogs. */
export interface LaneStores {
  readonly state: Lane['state']
  /** The lane's writer; what it has committed is in the copies before a commit resolves. */
  readonly following: (writer: LaneWriter) => Writer
  close(): Promise<void>
}

type LaneContext = Pick<Lane, 'partition' | 'signal'> & { readonly group: string }

/** Makes the stores of a lane; none is open yet. */
export const makeLaneStores = (host: LaneStoresDeps, seat: LaneContext): LaneStores => {
  const { partition } = seat
  const copies = new Map<string, Promise<LaneStore>>()
  const state = (store: string): Promise<LaneStore> => {
    const opening = copies.get(store) ?? host.loading(() => openCaughtUpStore(host, seat, store))
    copies.set(store, opening)
    return opening
  }
  const commit = async (writer: LaneWriter, commit: Commit) => {
    const changed = changesByStore(commit.state ?? [], partition)
    const held = new Map<LaneStore, string>()
    for (const store of changed.keys()) {
      const copy = await copies.get(store)
      if (copy) held.set(copy, store)
    }
    const { ranges, state: positions } = await writer.commitWithPositions(commit)
    try {
      for (const [copy, store] of held) {
        copy.apply(changed.get(store) ?? [], checkpointOf(positions, { topic: store, partition }))
      }
    } catch (error) {
      await writer.close()
      throw error
    }
    return ranges
  }
  return {
    state,
    following: (writer) => ({ ...writer, commit: (work) => commit(writer, work) }),
    close: async () => {
      for (const copy of await Promise.allSettled(copies.values())) {
        if (copy.status === 'fulfilled') await copy.value.close()
      }
    },
  }
}

const changesByStore = (
  changes: readonly StateChange[],
  partition: number,
): ReadonlyMap<string, readonly StoreChange[]> => {
  const out = new Map<string, StateChange[]>()
  for (const change of changes) {
    if (change.partition !== partition) continue
    const held = out.get(change.store)
    if (held) held.push(change)
    else out.set(change.store, [change])
  }
  return out
}

const checkpointOf = (
  positions: readonly ChangelogPosition[],
  { topic, partition }: TopicPartition,
): StoreCheckpoint | null => {
  const position = positions.find((row) => row.topic === topic && row.partition === partition)
  if (position?.timestampMs === undefined) return null
  return { offset: position.offset, timestampMs: position.timestampMs }
}

const openCaughtUpStore = async (
  { folder, ...host }: LaneStoresDeps,
  seat: LaneContext,
  store: string,
): Promise<LaneStore> => {
  seat.signal.throwIfAborted()
  if (!folder)
    throw new Outage('bus', 'no folder for lane state is configured; set DATA_DIR', { final: true })
  const { group, partition } = seat
  const path = storePath(folder.path, group, store, partition)
  const copy = openLaneStore({
    path,
    mapSizeBytes: folder.mapSizeBytes,
    log: `${folder.clusterId}/${store}/${partition}`,
  })
  folder.open.add(path)
  const close = async (): Promise<void> => {
    await copy.close()
    folder.open.delete(path)
  }
  try {
    await catchUpWithChangelog(host, seat, { topic: store, partition }, copy)
    return { ...copy, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Brings a copy to the end of its changelog: from its mark where that still is in the log, else from the start. */
const catchUpWithChangelog = async (
  { ends, read, log }: Omit<LaneStoresDeps, 'folder'>,
  { signal }: LaneContext,
  at: TopicPartition,
  copy: LaneStore,
): Promise<void> => {
  const { topic, partition } = at
  const { low, end } = await boundsOfPartition(ends, at)
  const load = async (from: number, mark: StoreCheckpoint | null): Promise<boolean> => {
    let found = mark === null
    let chunk: StoreChange[] = []
    let bytes = 0
    let last = mark
    const flush = (): void => {
      signal.throwIfAborted()
      if (chunk.length > 0) copy.apply(chunk, last)
      chunk = []
      bytes = 0
    }
    for await (const { offset, timestampMs, key, value } of read(topic, partition, from, end)) {
      found ||= offset === mark?.offset && timestampMs === mark.timestampMs
      if (!found) return false
      chunk.push({ key, value })
      bytes += key.length + (value?.byteLength ?? 0)
      last = { offset, timestampMs }
      if (chunk.length >= LOAD_CHUNK_RECORDS || bytes >= LOAD_CHUNK_BYTES) flush()
    }
    flush()
    return found
  }
  const mark = copy.mark()
  if (mark && canResumeFrom(mark, { low, end }) && (await load(mark.offset, mark))) return
  if (mark) log.info({ ...at, mark, low, end }, 'rebuilding local state store from changelog')
  copy.clear()
  await load(low, null)
}

/** True while the changelog can still be followed from here; nothing but its commit's own marker may follow an old one. */
const canResumeFrom = (
  { offset, timestampMs }: StoreCheckpoint,
  { low, end }: { readonly low: number; readonly end: number },
): boolean =>
  offset >= low &&
  offset < end &&
  (end <= offset + 2 || Date.now() - timestampMs < MAX_STORE_AGE_MS)
