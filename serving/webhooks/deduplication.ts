import type { LaneState, StateChange } from '../../core/bus/contract.ts'
import { DAY_MS } from '../../core/time.ts'

/** How long an id is remembered; far beyond the age up to which events are delivered. */
const DEDUPE_WINDOW_MS = DAY_MS
/** Ids of one lane; where events of every age are delivered, only this bounds the memory. */
const MAX_IDS = 500_000

const ID_PREFIX = 'id/'
const SEQ_PREFIX = 'seq/'

/** What a matcher lane remembers: ids that were sent, and how many events each channel has had. */
export interface Deduplicator {
  has(id: string): boolean
  /** Remembers the id and gives the event its number in the channel. */
  add(id: string, channel: string, nowMs: number): number
  /** State changes since the last call: what was added, and what is forgotten now. */
  changes(nowMs: number): readonly StateChange[]
}

/** Where the memory is kept. `forEver`: ids do not expire by time. */
export interface DeduplicatorOptions {
  readonly store: string
  readonly partition: number
  readonly forEver: boolean
}

/** Reads the memory of a lane. Oldest first in the map, so that forgetting stops at the first that is young enough. */
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
  const moved = new Set<string>()
  const change = (key: string, value: number | null): StateChange => ({
    store,
    partition,
    key,
    value: value === null ? null : Buffer.from(String(value)),
  })
  const forgotten = (nowMs: number): readonly string[] => {
    const gone: string[] = []
    for (const [id, atMs] of ids) {
      const isOld = !forEver && atMs < nowMs - DEDUPE_WINDOW_MS
      if (!isOld && ids.size <= MAX_IDS) break
      ids.delete(id)
      gone.push(id)
    }
    return gone
  }
  return {
    has: (id) => ids.has(id),
    add: (id, channel, nowMs) => {
      ids.set(id, nowMs)
      added.set(id, nowMs)
      const seq = (counts.get(channel) ?? 0) + 1
      counts.set(channel, seq)
      moved.add(channel)
      return seq
    },
    changes: (nowMs) => {
      const made = [
        ...[...added].map(([id, atMs]) => change(ID_PREFIX + id, atMs)),
        ...[...moved].map((channel) => change(SEQ_PREFIX + channel, counts.get(channel) ?? 0)),
        ...forgotten(nowMs).map((id) => change(ID_PREFIX + id, null)),
      ]
      added.clear()
      moved.clear()
      return made
    },
  }
}

const parseNumber = (bytes: Uint8Array): number => Number(Buffer.from(bytes).toString())
