import type { BlockStats } from './block-stats.ts'
import type { PriceRange } from './bucket.ts'
import { DISTINCT_KINDS, type DistinctKind, SEEN_KINDS, type SeenKind } from './distinct-counter.ts'
import type { NameCounts } from './past-counts.ts'
import type { TokenStats } from './token-stats.ts'
import {
  addTotals,
  joinPriceRanges,
  type KnownValues,
  type PriceRanges,
  TradeSums,
  type TradeTotals,
} from './trade-sums.ts'
import {
  BUCKETS_PER_WINDOW,
  bucketAt,
  lastWindowChange,
  NOTICE_SECONDS,
  WINDOW_NAMES,
  type WindowName,
  windowStart,
} from './windows.ts'

/** Trades of a span of time. */
export interface SpanStats<Kind extends DistinctKind> extends TradeTotals {
  /** Without a trade that has one, the price with which the span begins; null = there is none. */
  readonly usd: PriceRange | null
  readonly native: PriceRange | null
  readonly distinct: Readonly<Record<Kind, number>>
  /** Liquidity at its end; null = unknown. */
  readonly liquidityUsd: number | null
}

/** A window's answer, and that of the window before it. */
export interface WindowStats extends SpanStats<DistinctKind> {
  readonly name: WindowName
  readonly previous: SpanStats<SeenKind>
}

/** All windows of a token. */
export interface TokenAnswer {
  /** When they changed last, by a trade or without. */
  readonly second: number
  readonly windows: readonly WindowStats[]
  /** 0 where no node knows. */
  readonly decimals: number
}

const NOTHING_KNOWN: KnownValues = { usd: null, native: null, liquidityUsd: null }

const flatRange = (price: number | null): PriceRange | null =>
  price === null ? null : { open: price, close: price, high: price, low: price }

/** Sums, prices and values over what is final and, behind it, what is not. */
const combined = (final: TradeSums, hot: TradeSums) => ({
  totals: (from: number, to: number): TradeTotals =>
    addTotals(final.totals(from, to), hot.totals(from, to)),
  prices: (from: number, to: number): PriceRanges =>
    joinPriceRanges(final.prices(from, to), hot.prices(from, to)),
  knownBefore: (second: number): KnownValues => hot.knownBefore(second, final.knownBefore(second)),
})

/** A name of unfinalized blocks. */
interface HotName {
  readonly name: string
  /** Last seen in them. */
  last: number
}

const hotNames = (hot: readonly BlockStats[], kinds: readonly SeenKind[]): readonly HotName[] => {
  const names = new Map<string, HotName>()
  for (const { bucket, seen } of hot) {
    for (const kind of kinds) {
      for (const name of seen[kind]) {
        const known = names.get(name)
        if (known === undefined) names.set(name, { name, last: bucket.second })
        else known.last = bucket.second
      }
    }
  }
  return [...names.values()]
}

const KINDS_OF: Readonly<Record<DistinctKind, readonly SeenKind[]>> = {
  buyers: ['buyers'],
  sellers: ['sellers'],
  traders: ['buyers', 'sellers'],
  pools: ['pools'],
  programs: ['programs'],
}

/** Distinct names of a kind since each of the seconds, which fall. */
const countsSince = (
  stats: TokenStats,
  hot: readonly BlockStats[],
  kind: DistinctKind,
  starts: readonly number[],
): readonly number[] => {
  const final = stats.names[kind]
  const counts = starts.map((start) => final.since(start))
  for (const { name, last } of hotNames(hot, KINDS_OF[kind])) {
    const before = final.last(name) ?? Number.NEGATIVE_INFINITY
    for (const [at, start] of starts.entries()) {
      if (before >= start) break
      if (last >= start) counts[at] = (counts[at] ?? 0) + 1
    }
  }
  return counts
}

/** Distinct names of the window before the one that holds `second` in its newest bucket. */
const previousCounts = (
  stats: TokenStats,
  hot: readonly BlockStats[],
  name: WindowName,
  second: number,
): NameCounts => {
  const { start, previousStart } = windowStart(name, second)
  const newest = stats.sums.cells.at(-1)?.second ?? Number.NEGATIVE_INFINITY
  if (newest >= start) return stats.past.at(name, bucketAt(name, second) - BUCKETS_PER_WINDOW)
  const inside = hot.filter(({ bucket }) => bucket.second >= previousStart && bucket.second < start)
  const count = (kind: SeenKind): number => {
    const final = stats.names[kind]
    const isNew = (seen: string) => (final.last(seen) ?? Number.NEGATIVE_INFINITY) < previousStart
    const names = new Set(inside.flatMap(({ seen }) => seen[kind].filter(isNew)))
    return final.since(previousStart) + names.size
  }
  return Object.fromEntries(SEEN_KINDS.map((kind) => [kind, count(kind)])) as Record<
    SeenKind,
    number
  >
}

/**
 * All windows of a token when the chain's newest block is at `now`, over what is final and the unfinalized blocks in chain order.
 * They follow from the trades and `now` alone: those of one minute, which may be told of with a delay, are as they were told last.
 */
export const windowStatsAt = (
  stats: TokenStats,
  hot: readonly BlockStats[],
  now: number,
): TokenAnswer => {
  const unfinalized = new TradeSums(NOTHING_KNOWN)
  for (const { bucket } of hot) unfinalized.append(bucket)
  const cells = [stats.sums.cells, unfinalized.cells]
  const traded = Math.max(...cells.map((list) => list.at(-1)?.second ?? Number.NEGATIVE_INFINITY))
  const told = Math.max(traded, Math.floor(now / NOTICE_SECONDS) * NOTICE_SECONDS)
  const all = combined(stats.sums, unfinalized)
  const spans = WINDOW_NAMES.map((name) => {
    const second = name === '1m' ? told : now
    return { name, second, end: Number.POSITIVE_INFINITY, ...windowStart(name, second) }
  })
  const starts = spans.map(({ start }) => start)
  const counts = DISTINCT_KINDS.map(
    (kind) => [kind, countsSince(stats, hot, kind, starts)] as const,
  )
  const spanOf = (from: number, to: number, prices: PriceRanges) => {
    const before = all.knownBefore(from)
    return {
      ...all.totals(from, to),
      usd: prices.usd ?? flatRange(before.usd),
      native: prices.native ?? flatRange(before.native),
      liquidityUsd: all.knownBefore(to).liquidityUsd,
    }
  }
  // A longer window holds the shorter one: what it adds is looked at only.
  let newer: PriceRanges = { usd: null, native: null }
  let newerStart = Number.POSITIVE_INFINITY
  const windows = spans.map(({ name, second, start, previousStart, end }, at): WindowStats => {
    const distinct = Object.fromEntries(
      counts.map(([kind, list]) => [kind, list[at] ?? 0]),
    ) as Record<DistinctKind, number>
    newer = joinPriceRanges(all.prices(start, newerStart), newer)
    newerStart = start
    const previous = {
      ...spanOf(previousStart, start, all.prices(previousStart, start)),
      distinct: previousCounts(stats, hot, name, second),
    }
    return { name, ...spanOf(start, end, newer), distinct, previous }
  })
  const changed = Math.max(...cells.map((list) => lastWindowChange(list, now)))
  const decimals = hot.findLast((part) => part.decimals !== null)?.decimals ?? stats.decimals ?? 0
  return { second: Number.isFinite(changed) ? changed : now, windows, decimals }
}
