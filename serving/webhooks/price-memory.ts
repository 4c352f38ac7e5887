import type { LaneState, StateChange } from '../../core/bus/contract.ts'

/** Last price of each token with a price level. */
export interface PriceMemory {
  /** Stores a price and returns the previous one; undefined: none is known. */
  swap(token: string, price: string): string | undefined
  /** Removes the tokens without a price level: a level that is set later is compared with no price from before it. */
  prune(isAwaited: (token: string) => boolean): void
  /** The record whose prices were stored has been matched to its end: its changes go with the next commit. */
  endRecord(): void
  /**
   * State changes of the ended records since the last call. Those of a record in the middle are held back: after a crash it is
   * read again, and its later events need the price before it.
   */
  changes(): readonly StateChange[]
}

const PRICE_PREFIX = 'price/'

/** Loads the prices of a lane: one per token that endpoints name, which is bounded per endpoint. */
export const loadPriceMemory = (
  state: LaneState,
  { store, partition }: { readonly store: string; readonly partition: number },
): PriceMemory => {
  const prices = new Map(
    [...state.entries(PRICE_PREFIX)].map(([key, value]) => [
      key.slice(PRICE_PREFIX.length),
      Buffer.from(value).toString(),
    ]),
  )
  let ofRecord = new Map<string, string | null>()
  const changed = new Map<string, string | null>()
  return {
    swap: (token, price) => {
      const before = prices.get(token)
      if (before === price) return before
      prices.set(token, price)
      ofRecord.set(token, price)
      return before
    },
    prune: (isAwaited) => {
      for (const token of prices.keys()) {
        if (isAwaited(token)) continue
        prices.delete(token)
        ofRecord.set(token, null)
      }
    },
    endRecord: () => {
      for (const [token, price] of ofRecord) changed.set(token, price)
      ofRecord = new Map()
    },
    changes: () => {
      const changes = [...changed].map(([token, price]) => ({
        store,
        partition,
        key: PRICE_PREFIX + token,
        value: price === null ? null : Buffer.from(price),
      }))
      changed.clear()
      return changes
    },
  }
}
