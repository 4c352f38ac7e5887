/** Price levels of endpoints by token: those between two prices are found without a look at the others. */
export interface PriceLevelIndex {
  /** One endpoint more, or one less, waits for a level. */
  count(token: string, usd: number, by: 1 | -1): void
  has(token: string): boolean
  /** Levels that a price crossed on its way, ascending: one that it reaches is crossed, one that it comes from is not. */
  crossed(token: string, before: number, now: number): readonly number[]
  /** Changes whenever a token loses its last level. */
  version(): number
}

interface TokenLevels {
  /** Endpoints by level. */
  readonly counts: Map<number, number>
  /** Ascending; undefined since a level came or went. */
  sorted: Float64Array | undefined
}

/** An empty index. */
export const createPriceLevelIndex = (): PriceLevelIndex => {
  const byToken = new Map<string, TokenLevels>()
  let version = 0
  return {
    count: (token, usd, by) => {
      const levels = byToken.get(token) ?? { counts: new Map(), sorted: undefined }
      const { counts } = levels
      const before = counts.size
      const endpoints = (counts.get(usd) ?? 0) + by
      if (endpoints > 0) counts.set(usd, endpoints)
      else counts.delete(usd)
      if (counts.size !== before) levels.sorted = undefined
      if (counts.size > 0) byToken.set(token, levels)
      else if (byToken.delete(token)) version += 1
    },
    has: (token) => byToken.has(token),
    crossed: (token, before, now) => {
      const levels = byToken.get(token)
      if (!levels || !(before < now || before > now)) return []
      levels.sorted ??= Float64Array.from(levels.counts.keys()).sort()
      const { sorted } = levels
      // Upwards (before, now], downwards [now, before).
      return before < now
        ? [...sorted.subarray(firstAbove(sorted, before), firstAbove(sorted, now))]
        : [...sorted.subarray(firstFrom(sorted, now), firstFrom(sorted, before))]
    },
    version: () => version,
  }
}

/** Index of the first value for which `isPast` holds; it holds for all behind it too. */
const search = (sorted: Float64Array, isPast: (value: number) => boolean): number => {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const value = sorted[middle]
    if (value !== undefined && isPast(value)) high = middle
    else low = middle + 1
  }
  return low
}

const firstAbove = (sorted: Float64Array, limit: number): number =>
  search(sorted, (value) => value > limit)

const firstFrom = (sorted: Float64Array, limit: number): number =>
  search(sorted, (value) => value >= limit)
