import type { LaneState, StateChange } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { Delivery } from '../../schemas/wire.ts'
import type { PendingDelivery } from './attempt-records.ts'
import type { CommitPart, CommitSource } from './group-commit.ts'
import { type OutboxDelivery, OutboxWindow, type StoredDelivery } from './outbox-window.ts'

/** State store of pending deliveries. */
export const DUE_TOPIC = globalTopic('webhookDue')

const OUTBOX_TOPIC = globalTopic('webhookOutbox')
/** Deliveries of a lane that are cached decoded; all others are read from the store when they are due. */
const MAX_CACHED = 2_048
/** A cached delivery that did not start for this long is evicted: its endpoint is slow or failing. */
const CACHE_TTL_MS = 30_000
/** Deliveries that are stored nowhere but in the outbox; then the lane reads no more of it until some have ended or are stored. */
const MAX_WINDOW = 1_024
/** A delivery that has not ended for this long is stored. */
const STORE_AFTER_MS = 250

/** The pending deliveries of a lane: in the window of the outbox, or in the due store. */
export interface PendingDeliveries extends CommitSource {
  has(key: string): boolean
  /** Takes a delivery from the outbox whose key is not pending. */
  add(read: OutboxDelivery, nowMs: number): void
  /** A record of the outbox that needs no delivery. */
  pass(offset: number): void
  /** True when no more should be read from the outbox until the next commit. */
  isFull(): boolean
  /** True when deliveries are to be stored, because they have not ended for some time; the next commit stores them. */
  storeOld(nowMs: number): boolean
  /** Evicts cached deliveries older than the TTL; the store has them. */
  evictExpired(nowMs: number): void
  /** The delivery of a key, for an attempt; undefined = it has ended. */
  take(key: string): Delivery | undefined
  /** The deliveries of the keys that have not ended. */
  takeAll(keys: readonly string[]): readonly PendingDelivery[]
  /**
   * A delivery has ended, or its next attempt is stored under the same key: the changes of the due store. They must be given
   * to the group commit before anything else happens.
   */
  end(key: string, nextAttempt: Uint8Array | null): readonly StateChange[]
}

/** What pending deliveries are read from. */
export interface PendingDeliveriesDeps {
  readonly codec: Codec
  readonly state: Pick<LaneState, 'get'>
  readonly partition: number
  readonly nowMs: () => number
}

/** Reads through a cache over a lane's store. */
export const createPendingDeliveries = ({
  codec,
  state,
  partition,
  nowMs,
}: PendingDeliveriesDeps): PendingDeliveries => {
  const window = new OutboxWindow()
  const cache = new Map<string, { readonly delivery: Delivery; readonly untilMs: number }>()
  /** Rows of the commit that is being written. */
  let storing = new Map<string, StoredDelivery>()
  /** Of these, the ones that must not be cached. */
  const taken = new Set<string>()
  /** Next attempts that are not durable yet: of the next commit, and of the one that is being written. */
  let repeated = new Set<string>()
  let repeating = new Set<string>()
  const fromStore = (key: string): Delivery | undefined => {
    const bytes = state.get(key)
    return bytes && codec.decode('webhook.Delivery', bytes)
  }
  const take = (key: string): Delivery | undefined => {
    const read = window.take(key)
    if (read) return read
    const row = storing.get(key)
    if (row) {
      taken.add(key)
      return row.delivery
    }
    const cached = cache.get(key)
    if (!cached) return fromStore(key)
    cache.delete(key)
    return cached.delivery
  }
  const part = (): CommitPart => {
    const { next: offset, stored } = window.advance()
    storing = new Map(stored.map((each) => [each.key, each]))
    repeating = repeated
    repeated = new Set()
    return {
      state: stored.map(({ key, bytes }) => dueStateChange(partition, key, bytes)),
      ...(offset !== undefined && { next: [{ topic: OUTBOX_TOPIC, partition, offset }] }),
    }
  }
  const durable = (): void => {
    const untilMs = nowMs() + CACHE_TTL_MS
    for (const [key, { delivery, isTaken }] of storing) {
      if (isTaken || taken.has(key) || cache.size >= MAX_CACHED) continue
      cache.set(key, { delivery, untilMs })
    }
    storing.clear()
    taken.clear()
    repeating.clear()
  }
  return {
    part,
    durable,
    has: (key) =>
      window.has(key) ||
      storing.has(key) ||
      repeated.has(key) ||
      repeating.has(key) ||
      cache.has(key) ||
      state.get(key) !== undefined,
    add: (read, atMs) => window.add(read, atMs),
    pass: (offset) => window.pass(offset),
    isFull: () => window.size >= MAX_WINDOW,
    storeOld: (atMs) => {
      if (!window.isOlderThan(atMs - STORE_AFTER_MS)) return false
      window.passAll()
      return true
    },
    evictExpired: (atMs) => {
      for (const [key, { untilMs }] of cache) {
        if (atMs < untilMs) return
        cache.delete(key)
      }
    },
    take,
    takeAll: (keys) =>
      keys.flatMap((key) => {
        const delivery = take(key)
        return delivery ? [{ key, delivery }] : []
      }),
    end: (key, nextAttempt) => {
      const hadNoRow = window.end(key)
      if (nextAttempt !== null) repeated.add(key)
      return hadNoRow && nextAttempt === null ? [] : [dueStateChange(partition, key, nextAttempt)]
    },
  }
}

/** A change of the due store; null removes the row. */
export const dueStateChange = (
  partition: number,
  key: string,
  value: Uint8Array | null,
): StateChange => ({ store: DUE_TOPIC, partition, key, value })
