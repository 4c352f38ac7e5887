import type { LaneState, StateChange } from '../../core/bus/contract.ts'
import { DAY_MS } from '../../core/time.ts'

/** How long an id is remembered; far beyond the age up to which events are delivered. */
const DEDUPE_WINDOW_MS = DAY_MS
/** Ids of one lane; without a maximum event age this alone bounds the memory. */
const MAX_IDS = 500_000

/** Ids of one commit: `ids/`, time, first id. Rows in the order of time fill the tree's pages one after the other. */
const BATCH_PREFIX = 'ids/'
/** One id, as older versions wrote it. */
const ID_PREFIX = 'id/'
const SEQ_PREFIX = 'seq/'
const ID_SEPARATOR = '\n'
const TIME_DIGITS = 15

/** Event ids that a matcher lane has sent, and the sequence number of each channel. */
export interface Deduplicator {
  has(id: string): boolean
  /** Adds the id and returns the event's sequence number in the channel. */
  add(id: string, channel: string): number
  /** State changes since the last call: ids that were added, and ids that have expired. */
  changes(nowMs: number): readonly StateChange[]
}

/** State store of the ids. `forEver`: ids do not expire by time. */
export interface DeduplicatorOptions {
  readonly store: string
  readonly partition: number
  readonly forEver: boolean
}

/** Ids that were sent in one commit. */
interface IdBatch {
  readonly atMs: number
  readonly ids: readonly string[]
}

/** Loads the ids of a lane. */
export const loadDeduplicator = (
  state: Pick<LaneState, 'entries'>,
  { store, partition, forEver }: DeduplicatorOptions,
): Deduplicator => {
  const batches = loadBatches(state)
  const ids = new Set([...batches.values()].flatMap((batch) => batch.ids))
  const counts = new Map(
    [...state.entries(SEQ_PREFIX)].map(([key, value]) => [
      key.slice(SEQ_PREFIX.length),
      Number(textOf(value)),
    ]),
  )
  let added: string[] = []
  const changedChannels = new Set<string>()
  const change = (key: string, value: string | null): StateChange => ({
    store,
    partition,
    key,
    value: value === null ? null : Buffer.from(value),
  })
  const takeExpired = (nowMs: number): readonly string[] => {
    const expired: string[] = []
    for (const [key, batch] of batches) {
      const isOld = !forEver && batch.atMs < nowMs - DEDUPE_WINDOW_MS
      if (!isOld && ids.size <= MAX_IDS) break
      batches.delete(key)
      for (const id of batch.ids) ids.delete(id)
      expired.push(key)
    }
    return expired
  }
  const takeAdded = (nowMs: number): readonly StateChange[] => {
    const [first] = added
    if (first === undefined) return []
    const key = `${BATCH_PREFIX}${String(nowMs).padStart(TIME_DIGITS, '0')}/${first}`
    batches.set(key, { atMs: nowMs, ids: added })
    const row = change(key, added.join(ID_SEPARATOR))
    added = []
    return [row]
  }
  return {
    has: (id) => ids.has(id),
    add: (id, channel) => {
      ids.add(id)
      added.push(id)
      const seq = (counts.get(channel) ?? 0) + 1
      counts.set(channel, seq)
      changedChannels.add(channel)
      return seq
    },
    changes: (nowMs) => {
      const changes = [
        ...takeAdded(nowMs),
        ...[...changedChannels].map((channel) =>
          change(SEQ_PREFIX + channel, String(counts.get(channel) ?? 0)),
        ),
        ...takeExpired(nowMs).map((key) => change(key, null)),
      ]
      changedChannels.clear()
      return changes
    },
  }
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

/** Batches by their row, the oldest first: expiry stops at the first one that is young enough. */
const loadBatches = (state: Pick<LaneState, 'entries'>): Map<string, IdBatch> => {
  const single = [...state.entries(ID_PREFIX)].map(([key, value]): [string, IdBatch] => [
    key,
    { atMs: Number(textOf(value)), ids: [key.slice(ID_PREFIX.length)] },
  ])
  const batches = [...state.entries(BATCH_PREFIX)].map(([key, value]): [string, IdBatch] => [
    key,
    {
      atMs: Number(key.slice(BATCH_PREFIX.length, BATCH_PREFIX.length + TIME_DIGITS)),
      ids: textOf(value).split(ID_SEPARATOR),
    },
  ])
  return new Map([...single, ...batches].sort(([, one], [, other]) => one.atMs - other.atMs))
}
