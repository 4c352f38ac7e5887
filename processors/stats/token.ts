import type { StatBucket } from './bucket.ts'
import { distinctSince, KINDS, type Kind, makeRecency, type Recency, type Seen } from './recency.ts'
import { firstAfter, MinuteSums } from './sums.ts'
import {
  type Earlier,
  WINDOW_MINUTES,
  WINDOW_NAMES,
  WINDOWS,
  type WindowName,
  type WindowSum,
  windowSums,
} from './windows.ts'

/** What one block did to one token. */
export interface Part {
  readonly bucket: StatBucket
  /** Of the token as the block's last trade knew them; null = it did not. */
  readonly decimals: number | null
  readonly seen: Readonly<Record<Kind, readonly string[]>>
}

/** A window's answer. */
export interface WindowStat extends WindowSum {
  readonly name: WindowName
  readonly distinct: Readonly<Record<Kind, number>>
  /** Liquidity now; null = unknown. */
  readonly liquidityUsd: number | null
}

/** Final trades of a token, minute by minute, as far back as a window looks. */
export interface TokenStats {
  readonly token: string
  readonly sums: MinuteSums
  readonly recency: Readonly<Record<Kind, Recency>>
  earlier: Earlier
  /** As the newest final trade that knew them said. */
  decimals: number | null
  /** The minute under which the state lists the token; undefined = it does not. */
  due: number | undefined
}

/** A token of which nothing final is known. */
export const newTokenStats = (token: string, earlier: Earlier): TokenStats => ({
  token,
  sums: new MinuteSums(),
  recency: {
    buyers: makeRecency(),
    sellers: makeRecency(),
    traders: makeRecency(),
    pools: makeRecency(),
    programs: makeRecency(),
  },
  earlier,
  decimals: null,
  due: undefined,
})

/** Takes in what a final block did; returns who was seen in a later minute than before. */
export const makePartFinal = (
  stats: TokenStats,
  { bucket, decimals, seen }: Part,
): readonly SeenName[] => {
  stats.sums.append(bucket)
  stats.decimals = decimals ?? stats.decimals
  return KINDS.flatMap((kind) =>
    seen[kind].flatMap((name): readonly SeenName[] =>
      stats.recency[kind].note(name, bucket.minute) ? [[kind, name]] : [],
    ),
  )
}

/** Who was seen as what. */
export type SeenName = readonly [kind: Kind, name: string]

/** What fell out of every window. */
export interface Pruned {
  readonly minutes: readonly number[]
  readonly names: readonly SeenName[]
}

/** Forgets what no window that ends at `minute` or later looks at; the newest price and liquidity of it stay as `earlier`. */
export const pruneStats = (stats: TokenStats, minute: number): Pruned => {
  const oldest = minute - WINDOW_MINUTES
  const earlier = stats.sums.newestUpTo(oldest, stats.earlier)
  const minutes = stats.sums.drop(oldest)
  if (minutes.length === 0) return { minutes: [], names: [] }
  stats.earlier = earlier
  const names = KINDS.flatMap((kind) =>
    stats.recency[kind].prune(minute - WINDOWS['24h'] + 1).map((name) => [kind, name] as const),
  )
  return { minutes, names }
}

const hotSeen = (hot: readonly Part[], kind: Kind): Seen => {
  const seen = new Map<string, number>()
  for (const part of hot) for (const name of part.seen[kind]) seen.set(name, part.bucket.minute)
  return seen
}

/** All windows that end with minute `now`, over what is final and the unfinalized blocks in chain order. */
export const statsAt = (
  stats: TokenStats,
  hot: readonly Part[],
  now: number,
): readonly WindowStat[] => {
  const unfinalized = new MinuteSums()
  for (const { bucket } of hot) unfinalized.append(bucket)
  const { sums: final, earlier } = stats
  const sums = windowSums(final, unfinalized, { now, earlier })
  const { liquidityUsd } = unfinalized.newestUpTo(now, final.newestUpTo(now, earlier))
  const seen = Object.fromEntries(KINDS.map((kind) => [kind, hotSeen(hot, kind)])) as Record<
    Kind,
    Seen
  >
  return WINDOW_NAMES.map((name) => {
    const from = now - WINDOWS[name] + 1
    const distinct = Object.fromEntries(
      KINDS.map((kind) => [kind, distinctSince(stats.recency[kind], seen[kind], from)]),
    ) as Record<Kind, number>
    return { name, ...sums[name], distinct, liquidityUsd }
  })
}

/** Decimals of a token over what is final and the unfinalized blocks; 0 where nobody knows. */
export const decimalsAt = (stats: TokenStats, hot: readonly Part[]): number =>
  hot.findLast(({ decimals }) => decimals !== null)?.decimals ?? stats.decimals ?? 0

/** Minutes after a bucket in which it leaves a window, or the one before it. */
const LEAVING = [
  ...new Set(WINDOW_NAMES.flatMap((name) => [WINDOWS[name], 2 * WINDOWS[name]])),
] as const

/** The first minute after this one in which a bucket leaves a window, or the one before it. Buckets are in order. */
export const nextChange = (
  buckets: readonly Pick<StatBucket, 'minute'>[],
  after: number,
): number | undefined => {
  let next: number | undefined
  for (const minutes of LEAVING) {
    const bucket = buckets[firstAfter(buckets, after - minutes)]
    if (bucket !== undefined)
      next = Math.min(next ?? Number.POSITIVE_INFINITY, bucket.minute + minutes)
  }
  return next
}
