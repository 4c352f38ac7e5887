import type { StatsBucket } from './bucket.ts'
import {
  countDistinctSince,
  createDistinctCounter,
  DISTINCT_KINDS,
  type DistinctCounter,
  type DistinctKind,
  type LastSeenMinutes,
} from './distinct-counter.ts'
import { firstIndexAfter, MinuteSums } from './minute-sums.ts'
import {
  LOOKBACK_MINUTES,
  type PriorValues,
  WINDOW_NAMES,
  WINDOWS,
  type WindowName,
  type WindowTotals,
  windowTotals,
} from './windows.ts'

/** What one block did to one token. */
export interface BlockStats {
  readonly bucket: StatsBucket
  /** Of the token as the block's last trade knew them; null = it did not. */
  readonly decimals: number | null
  readonly seen: Readonly<Record<DistinctKind, readonly string[]>>
}

/** A window's answer. */
export interface WindowStats extends WindowTotals {
  readonly name: WindowName
  readonly distinct: Readonly<Record<DistinctKind, number>>
  /** Liquidity now; null = unknown. */
  readonly liquidityUsd: number | null
}

/** Final trades of a token, minute by minute, as far back as a window looks. */
export interface TokenStats {
  readonly token: string
  readonly sums: MinuteSums
  readonly recency: Readonly<Record<DistinctKind, DistinctCounter>>
  earlier: PriorValues
  /** As the newest final trade that knew them said. */
  decimals: number | null
  /** The minute under which the state lists the token; undefined = it does not. */
  due: number | undefined
}

/** A token of which nothing final is known. */
export const newTokenStats = (token: string, earlier: PriorValues): TokenStats => ({
  token,
  sums: new MinuteSums(),
  recency: {
    buyers: createDistinctCounter(),
    sellers: createDistinctCounter(),
    traders: createDistinctCounter(),
    pools: createDistinctCounter(),
    programs: createDistinctCounter(),
  },
  earlier,
  decimals: null,
  due: undefined,
})

/** Takes in what a final block did; returns who was seen in a later minute than before. */
export const addFinalBlock = (
  stats: TokenStats,
  { bucket, decimals, seen }: BlockStats,
): readonly SeenName[] => {
  stats.sums.append(bucket)
  stats.decimals = decimals ?? stats.decimals
  return DISTINCT_KINDS.flatMap((kind) =>
    seen[kind].flatMap((name): readonly SeenName[] =>
      stats.recency[kind].note(name, bucket.minute) ? [[kind, name]] : [],
    ),
  )
}

/** Who was seen as what. */
export type SeenName = readonly [kind: DistinctKind, name: string]

/** What fell out of every window. */
export interface PrunedStats {
  readonly minutes: readonly number[]
  readonly names: readonly SeenName[]
}

/** Forgets what no window that ends at `minute` or later looks at; the newest price and liquidity of it stay as `earlier`. */
export const pruneStats = (stats: TokenStats, minute: number): PrunedStats => {
  const oldest = minute - LOOKBACK_MINUTES
  const earlier = stats.sums.newestUpTo(oldest, stats.earlier)
  const minutes = stats.sums.drop(oldest)
  if (minutes.length === 0) return { minutes: [], names: [] }
  stats.earlier = earlier
  const names = DISTINCT_KINDS.flatMap((kind) =>
    stats.recency[kind].prune(minute - WINDOWS['24h'] + 1).map((name) => [kind, name] as const),
  )
  return { minutes, names }
}

const unfinalizedLastSeen = (hot: readonly BlockStats[], kind: DistinctKind): LastSeenMinutes => {
  const seen = new Map<string, number>()
  for (const part of hot) for (const name of part.seen[kind]) seen.set(name, part.bucket.minute)
  return seen
}

/** All windows that end with minute `now`, over what is final and the unfinalized blocks in chain order. */
export const windowStatsAt = (
  stats: TokenStats,
  hot: readonly BlockStats[],
  now: number,
): readonly WindowStats[] => {
  const unfinalized = new MinuteSums()
  for (const { bucket } of hot) unfinalized.append(bucket)
  const { sums: final, earlier } = stats
  const sums = windowTotals(final, unfinalized, { now, earlier })
  const { liquidityUsd } = unfinalized.newestUpTo(now, final.newestUpTo(now, earlier))
  const seen = Object.fromEntries(
    DISTINCT_KINDS.map((kind) => [kind, unfinalizedLastSeen(hot, kind)]),
  ) as Record<DistinctKind, LastSeenMinutes>
  return WINDOW_NAMES.map((name) => {
    const from = now - WINDOWS[name] + 1
    const distinct = Object.fromEntries(
      DISTINCT_KINDS.map((kind) => [
        kind,
        countDistinctSince(stats.recency[kind], seen[kind], from),
      ]),
    ) as Record<DistinctKind, number>
    return { name, ...sums[name], distinct, liquidityUsd }
  })
}

/** Decimals of a token over what is final and the unfinalized blocks; 0 where no node knows. */
export const decimalsAt = (stats: TokenStats, hot: readonly BlockStats[]): number =>
  hot.findLast(({ decimals }) => decimals !== null)?.decimals ?? stats.decimals ?? 0

/** Minutes after a bucket in which it leaves a window, or the one before it. */
const EXPIRY_MINUTES = [
  ...new Set(WINDOW_NAMES.flatMap((name) => [WINDOWS[name], 2 * WINDOWS[name]])),
] as const

/** The first minute after this one in which a bucket leaves a window, or the one before it. Buckets are in order. */
export const nextWindowChange = (
  buckets: readonly Pick<StatsBucket, 'minute'>[],
  after: number,
): number | undefined => {
  let next: number | undefined
  for (const minutes of EXPIRY_MINUTES) {
    const bucket = buckets[firstIndexAfter(buckets, after - minutes)]
    if (bucket !== undefined)
      next = Math.min(next ?? Number.POSITIVE_INFINITY, bucket.minute + minutes)
  }
  return next
}
