import type { LaneState, StateChange } from '../../core/bus/contract.ts'

/** The last price of each token that an endpoint waits for, as of a lane's last commit and beyond. */
export interface PriceMemory {
  /** Notes a price and gives the one before it; undefined: none is known. */
  swap(token: string, price: string): string | undefined
  /** State changes since the last call. Tokens without an endpoint that waits for them are forgotten now and then. */
  changes(nowMs: number, isAwaited: (token: string) => boolean): readonly StateChange[]
}

const PRICE_PREFIX = 'price/'
/** How often tokens that no endpoint waits for are looked for. */
const PRUNE_INTERVAL_MS = 60_000

/** Reads the prices of a lane. They are as many as endpoints name tokens, which is bounded per endpoint. */
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
  const changed = new Map<string, string | null>()
  let prunedAtMs = 0
  const prune = (isAwaited: (token: string) => boolean): void => {
    for (const token of prices.keys()) {
      if (isAwaited(token)) continue
      prices.delete(token)
      changed.set(token, null)
    }
  }
  return {
    swap: (token, price) => {
      const before = prices.get(token)
      if (before === price) return before
      prices.set(token, price)
      changed.set(token, price)
      return before
    },
    changes: (nowMs, isAwaited) => {
      if (nowMs - prunedAtMs > PRUNE_INTERVAL_MS) {
        prunedAtMs = nowMs
        prune(isAwaited)
      }
      const made = [...changed].map(([token, price]) => ({
        store,
        partition,
        key: PRICE_PREFIX + token,
        value: price === null ? null : Buffer.from(price),
      }))
      changed.clear()
      return made
    },
  }
}
