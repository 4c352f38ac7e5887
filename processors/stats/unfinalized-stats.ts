import type { BlockStats } from './block-stats.ts'
import type { DistinctCounter, DistinctKind } from './distinct-counter.ts'
import { TradeSums } from './trade-sums.ts'
import { createUnfinalizedNames, type UnfinalizedNames } from './unfinalized-names.ts'

/**
 * What the unfinalized blocks of a token add to its final trades. A block that is applied, taken back or final changes its own part
 * only, so what an answer costs does not depend on how many blocks are unfinalized. Memory: one cell of some 500 bytes for each
 * block that holds the token, and some 50 bytes for each name of it; it goes as blocks become final.
 */
export interface UnfinalizedStats {
  /** One cell per block: several may be at the same second. */
  readonly sums: TradeSums
  readonly names: Readonly<Record<DistinctKind, UnfinalizedNames>>
  /** Of the token as the newest block that knew them said; null = none did. */
  readonly decimals: number | null
  /** A block was applied behind the others; `final` counts names of all blocks before the unfinalized ones. */
  push(part: BlockStats, final: Readonly<Record<DistinctKind, DistinctCounter>>): void
  /** The newest block was taken back. */
  pop(): void
  /** The oldest block is final. */
  shift(): void
}

/** No block yet. */
export const createUnfinalizedStats = (): UnfinalizedStats => {
  // What earlier blocks knew is known to the final sums.
  const sums = new TradeSums({ usd: null, native: null, liquidityUsd: null, second: null })
  const names = {
    buyers: createUnfinalizedNames(),
    sellers: createUnfinalizedNames(),
    traders: createUnfinalizedNames(),
    pools: createUnfinalizedNames(),
    programs: createUnfinalizedNames(),
  }
  const allNames = Object.values(names)
  /** Decimals by the number of the block, where it knew them. */
  const decimals: { readonly block: number; readonly value: number }[] = []
  let [first, next] = [0, 0]
  return {
    sums,
    names,
    get decimals() {
      return decimals.at(-1)?.value ?? null
    },
    push: ({ bucket, decimals: value, seen }, final) => {
      const { second } = bucket
      sums.push(bucket)
      names.buyers.push(seen.buyers, second, final.buyers)
      names.sellers.push(seen.sellers, second, final.sellers)
      const traders = [...new Set([...seen.buyers, ...seen.sellers])]
      names.traders.push(traders, second, final.traders)
      names.pools.push(seen.pools, second, final.pools)
      names.programs.push(seen.programs, second, final.programs)
      if (value !== null) decimals.push({ block: next, value })
      next += 1
    },
    pop: () => {
      sums.pop()
      for (const kind of allNames) kind.pop()
      next -= 1
      if (decimals.at(-1)?.block === next) decimals.pop()
    },
    shift: () => {
      sums.shift(1)
      for (const kind of allNames) kind.shift()
      if (decimals[0]?.block === first) decimals.shift()
      first += 1
    },
  }
}
