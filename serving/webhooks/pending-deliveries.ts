import type { LaneState, StateChange } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { Delivery } from '../../schemas/wire.ts'
import type { PendingDelivery } from './attempt-records.ts'

/** State store of pending deliveries. */
export const DUE_TOPIC = globalTopic('webhookDue')

/** Deliveries of a lane that are cached decoded; all others are read from the store when they are due. */
const MAX_CACHED = 2_048
/** A cached delivery that did not start for this long is evicted: its endpoint is slow or failing. */
const CACHE_TTL_MS = 30_000

/** The pending deliveries of a lane's due store. Writes go through the lane's commits. */
export interface PendingDeliveries {
  has(key: string): boolean
  /** Caches a delivery whose row is durable. */
  add(pending: PendingDelivery, nowMs: number): void
  /** Evicts cached deliveries older than the TTL; the store has them. */
  evictExpired(nowMs: number): void
  /** The delivery of a row, removed from the cache; undefined = it has ended. */
  take(key: string): Delivery | undefined
  /** The deliveries of the rows that have not ended. */
  takeAll(keys: readonly string[]): readonly PendingDelivery[]
}

/** Reads through a cache over a lane's store. */
export const createPendingDeliveries = (
  codec: Codec,
  state: Pick<LaneState, 'get'>,
): PendingDeliveries => {
  const cache = new Map<string, { readonly delivery: Delivery; readonly untilMs: number }>()
  const take = (key: string): Delivery | undefined => {
    const cached = cache.get(key)
    if (cached) {
      cache.delete(key)
      return cached.delivery
    }
    const bytes = state.get(key)
    return bytes && codec.decode('webhook.Delivery', bytes)
  }
  return {
    has: (key) => cache.has(key) || state.get(key) !== undefined,
    add: ({ key, delivery }, nowMs) => {
      if (cache.size < MAX_CACHED) cache.set(key, { delivery, untilMs: nowMs + CACHE_TTL_MS })
    },
    evictExpired: (nowMs) => {
      for (const [key, { untilMs }] of cache) {
        if (nowMs < untilMs) return
        cache.delete(key)
      }
    },
    take,
    takeAll: (keys) =>
      keys.flatMap((key) => {
        const delivery = take(key)
        return delivery ? [{ key, delivery }] : []
      }),
  }
}

/** A change of the due store; null removes the row. */
export const dueStateChange = (
  partition: number,
  key: string,
  value: Uint8Array | null,
): StateChange => ({ store: DUE_TOPIC, partition, key, value })
