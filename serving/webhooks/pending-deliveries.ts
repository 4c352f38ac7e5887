import type { LaneState, StateChange } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { Delivery } from '../../schemas/wire.ts'
import type { PendingDelivery } from './attempt-records.ts'

/** Store of deliveries that wait. */
export const DUE_TOPIC = globalTopic('webhookDue')

/** Deliveries of a lane that are held as they arrived; all others are read from the store when their turn comes. */
const MAX_CACHED = 2_048
/** A delivery that had no turn for so long makes room: its endpoint is not well. */
const CACHE_TTL_MS = 30_000

/** What waits in a lane's due store. Writes go through the lane's commits. */
export interface PendingDeliveries {
  has(key: string): boolean
  /** A delivery whose row is durable, soon to be sent. */
  keep(held: PendingDelivery, nowMs: number): void
  /** Lets go of what was kept too long; the store has it. */
  sweep(nowMs: number): void
  /** The delivery of a row; undefined = it has ended. It is not held any more. */
  take(key: string): Delivery | undefined
  /** Those of the rows that have not ended. */
  takeAll(keys: readonly string[]): readonly PendingDelivery[]
}

/** Makes one over a lane's store. */
export const createPendingDeliveries = (
  codec: Codec,
  state: Pick<LaneState, 'get'>,
): PendingDeliveries => {
  const fresh = new Map<string, { readonly delivery: Delivery; readonly untilMs: number }>()
  const take = (key: string): Delivery | undefined => {
    const known = fresh.get(key)
    if (known) {
      fresh.delete(key)
      return known.delivery
    }
    const bytes = state.get(key)
    return bytes && codec.decode('webhook.Delivery', bytes)
  }
  return {
    has: (key) => fresh.has(key) || state.get(key) !== undefined,
    keep: ({ key, delivery }, nowMs) => {
      if (fresh.size < MAX_CACHED) fresh.set(key, { delivery, untilMs: nowMs + CACHE_TTL_MS })
    },
    sweep: (nowMs) => {
      for (const [key, { untilMs }] of fresh) {
        if (nowMs < untilMs) return
        fresh.delete(key)
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
