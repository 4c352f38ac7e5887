import { type BlockStats, mergeBlockStats } from './block-stats.ts'
import {
  createDistinctCounter,
  DISTINCT_KINDS,
  type DistinctCounter,
  type DistinctKind,
  SEEN_KINDS,
} from './distinct-counter.ts'
import { createPastCounts, type NameCounts, type PastCounts } from './past-counts.ts'
import { type EarlierValues, TradeSums } from './trade-sums.ts'
import { mergeRule, oldestSecond, windowStart } from './windows.ts'

/** Final trades of a token as far back as a window, or the one before it, looks. */
export interface TokenStats {
  readonly token: string
  readonly sums: TradeSums
  readonly names: Readonly<Record<DistinctKind, DistinctCounter>>
  readonly past: PastCounts
  /** As the newest final trade that knew them said. */
  decimals: number | null
  /** Cells from which on it is tried to merge some. */
  mergeAt: number
  /** The minute under which the state lists the token; undefined = it does not. */
  dueMinute: number | undefined
}

/** Cells that come to a token before neighbours are merged again: what a merge costs is spread over them. */
const CELLS_BETWEEN_MERGES = 32

/** A token of which nothing final is known. */
export const newTokenStats = (token: string, earlier: EarlierValues): TokenStats => ({
  token,
  sums: new TradeSums(earlier),
  names: {
    buyers: createDistinctCounter(),
    sellers: createDistinctCounter(),
    traders: createDistinctCounter(),
    pools: createDistinctCounter(),
    programs: createDistinctCounter(),
  },
  past: createPastCounts(),
  decimals: null,
  mergeAt: CELLS_BETWEEN_MERGES,
  dueMinute: undefined,
})

/** Takes in what a final block did, or some in a row; `final` is the newest final second that is known already. */
export const addFinal = (
  stats: TokenStats,
  { bucket, decimals, seen }: BlockStats,
  final: number,
): void => {
  const { names, sums } = stats
  const { second } = bucket
  const since = (from: number): NameCounts => ({
    buyers: names.buyers.since(from),
    sellers: names.sellers.since(from),
    pools: names.pools.since(from),
    programs: names.programs.since(from),
  })
  stats.past.close(sums.cells, second, final, since)
  sums.append(bucket)
  stats.decimals = decimals ?? stats.decimals
  for (const kind of SEEN_KINDS) {
    for (const name of seen[kind]) {
      names[kind].note(name, second)
      if (kind === 'buyers' || kind === 'sellers') names.traders.note(name, second)
    }
  }
}

/** Forgets what no window looks at once `final` is the newest final second; returns the seconds that went. */
export const pruneStats = (stats: TokenStats, final: number): readonly number[] => {
  const { sums, names } = stats
  const gone = sums.drop(oldestSecond(final))
  const newest = sums.cells.at(-1)
  if (newest === undefined) {
    stats.decimals = null
    return gone
  }
  // Of an idle token, the day before its last trade is still looked at.
  const { start } = windowStart('24h', newest.second)
  for (const kind of DISTINCT_KINDS) names[kind].prune(start)
  return gone
}

/** Merges what only wider buckets look at once `final` is the newest final second; returns the seconds of each merge. */
export const mergeCells = (stats: TokenStats, final: number): readonly (readonly number[])[] => {
  const { sums } = stats
  if (sums.cells.length < stats.mergeAt) return []
  const merged = sums.merge(mergeRule(final))
  stats.mergeAt = sums.cells.length + CELLS_BETWEEN_MERGES
  return merged
}

/** What some blocks did as one, oldest first; undefined = none. */
export const joinBlockStats = (parts: readonly BlockStats[]): BlockStats | undefined =>
  parts.reduce<BlockStats | undefined>(
    (older, newer) => (older === undefined ? newer : mergeBlockStats(older, newer)),
    undefined,
  )
