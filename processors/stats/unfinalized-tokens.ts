import { LRUCache } from 'lru-cache'
import type { BlockStats } from './block-stats.ts'
import type { TokenStats } from './token-stats.ts'
import { createUnfinalizedStats, type UnfinalizedStats } from './unfinalized-stats.ts'
import type { Placed } from './windows.ts'

/** Tokens of unfinalized blocks with what each block did to them: one entry of some 50 bytes for each token of each block. */
export interface UnfinalizedTokens {
  has(token: string): boolean
  tokens(): Iterable<string>
  /** A block was applied behind the others. */
  add(token: string, part: BlockStats): void
  /** A block is final: the oldest, or the token's parts are added up anew. */
  finalize(token: string, part: BlockStats): void
  /** A block was taken back: the newest, or the token's parts are added up anew. */
  revert(token: string, part: BlockStats): void
  /** What the token's unfinalized blocks add to what is final of it. To be read only. */
  statsOf(final: TokenStats): UnfinalizedStats
  /** Where in time the token's blocks are, in chain order. */
  partsOf(token: string): readonly Placed[]
  /** By the first block that holds each, then as in that block. */
  inChainOrder(tokens: readonly string[]): readonly string[]
}

interface Part extends Placed {
  readonly stats: BlockStats
  /** Rises from part to part over all tokens. */
  readonly serial: number
}

/** Parts of a token added up. */
interface Sum {
  readonly stats: UnfinalizedStats
  /** Parts, from the oldest on, that are in it. */
  added: number
}

/** Tokens whose parts stay added up, those that were asked for last: some 10 KB each, and what `UnfinalizedStats` holds per block. */
const MAX_SUMS = 4_096

/** Whether the sum is right without the part of this index. */
const subtract = (sum: Sum, at: number, why: 'final' | 'reverted'): boolean => {
  if (at >= sum.added) return true
  sum.added -= 1
  const isOldest = why === 'final' && at === 0
  if (isOldest) sum.stats.shift()
  else sum.stats.pop()
  return isOldest || (why === 'reverted' && at === sum.added)
}

/** No block yet; `kept` tokens stay added up, the others are added up anew when they are asked for. */
export const createUnfinalizedTokens = (kept = MAX_SUMS): UnfinalizedTokens => {
  const partsOf = new Map<string, Part[]>()
  const sums = new LRUCache<string, Sum>({ max: kept })
  const nothing = createUnfinalizedStats()
  let serial = 0
  const firstSerial = (token: string): number => partsOf.get(token)?.[0]?.serial ?? serial
  const remove = (token: string, part: BlockStats, why: 'final' | 'reverted'): void => {
    const parts = partsOf.get(token) ?? []
    const isNewest = parts.at(-1)?.stats === part
    const at = isNewest ? parts.length - 1 : parts.findIndex(({ stats }) => stats === part)
    if (at === -1) return
    parts.splice(at, 1)
    const sum = sums.peek(token)
    if (parts.length === 0) partsOf.delete(token)
    if (sum === undefined) return
    if (parts.length === 0 || !subtract(sum, at, why)) sums.delete(token)
  }
  return {
    has: (token) => partsOf.has(token),
    tokens: () => partsOf.keys(),
    add: (token, stats) => {
      const parts = partsOf.get(token) ?? []
      partsOf.set(token, parts)
      serial += 1
      parts.push({ second: stats.bucket.second, stats, serial })
    },
    finalize: (token, part) => remove(token, part, 'final'),
    revert: (token, part) => remove(token, part, 'reverted'),
    statsOf: ({ token, names }) => {
      const parts = partsOf.get(token)
      if (parts === undefined) return nothing
      const sum = sums.get(token) ?? { stats: createUnfinalizedStats(), added: 0 }
      sums.set(token, sum)
      for (const { stats } of parts.slice(sum.added)) sum.stats.push(stats, names)
      sum.added = parts.length
      return sum.stats
    },
    partsOf: (token) => partsOf.get(token) ?? [],
    inChainOrder: (tokens) =>
      tokens.toSorted((one, other) => firstSerial(one) - firstSerial(other)),
  }
}
