import type { LaneState, StateChange } from '../../core/bus/contract.ts'
import { DAY_MS } from '../../core/time.ts'

/** How long an id is remembered; far beyond the age up to which events are delivered. */
const DEDUPE_WINDOW_MS = DAY_MS
/** Ids of one lane; without a maximum event age this alone bounds the memory. */
const MAX_IDS = 500_000

const ID_PREFIX = 'id/'
const SEQ_PREFIX = 'seq/'

/** Event ids that a matcher lane has sent, and the sequence number of each channel. */
export interface Deduplicator {
  has(id: string): boolean
  /** Adds the id and returns the event's sequence number in the channel. */
  add(id: string, channel: string, nowMs: number): number
  /** State changes since the last call: ids that were added, and ids that have expired. */
  changes(nowMs: number): readonly StateChange[]
}

/** State store of the ids. `forEver`: ids do not expire by time. */
export interface DeduplicatorOptions {
  readonly store: string
  readonly partition: number
  readonly forEver: boolean
}

/** Loads the ids of a lane. Oldest first in the map, so that expiry stops at the first id that is young enough. */
export const loadDeduplicator = (
  state: LaneState,
  { store, partition, forEver }: DeduplicatorOptions,
): Deduplicator => {
  const ids = new Map(
    [...state.entries(ID_PREFIX)]
      .map(([key, value]) => [key.slice(ID_PREFIX.length), parseNumber(value)] as const)
      .sort(([, one], [, other]) => one - other),
  )
  const counts = new Map(
    [...state.entries(SEQ_PREFIX)].map(([key, value]) => [
      key.slice(SEQ_PREFIX.length),
      parseNumber(value),
    ]),
  )
  const added = new Map<string, number>()
  const changedChannels = new Set<string>()
  const change = (key: string, value: number | null): StateChange => ({
    store,
    partition,
    key,
    value: value === null ? null : Buffer.from(String(value)),
  })
  const takeExpired = (nowMs: number): readonly string[] => {
    const expired: string[] = []
    for (const [id, atMs] of ids) {
      const isOld = !forEver && atMs < nowMs - DEDUPE_WINDOW_MS
      if (!isOld && ids.size <= MAX_IDS) break
      ids.delete(id)
      expired.push(id)
    }
    return expired
  }
  return {
    has: (id) => ids.has(id),
    add: (id, channel, nowMs) => {
      ids.set(id, nowMs)
      added.set(id, nowMs)
      const seq = (counts.get(channel) ?? 0) + 1
      counts.set(channel, seq)
      changedChannels.add(channel)
      return seq
    },
    changes: (nowMs) => {
      const changes = [
        ...[...added].map(([id, atMs]) => change(ID_PREFIX + id, atMs)),
        ...[...changedChannels].map((channel) =>
          change(SEQ_PREFIX + channel, counts.get(channel) ?? 0),
        ),
        ...takeExpired(nowMs).map((id) => change(ID_PREFIX + id, null)),
      ]
      added.clear()
      changedChannels.clear()
      return changes
    },
  }
}

const parseNumber = (bytes: Uint8Array): number => Number(Buffer.from(bytes).toString())
