import { type PriceRange, priceRangeOf } from './bucket.ts'
import type { DistinctKind, SeenKind } from './distinct-counter.ts'
import type { NameCounts } from './past-counts.ts'
import type { TokenStats } from './token-stats.ts'
import {
  addTotals,
  joinPriceRanges,
  type KnownValues,
  type PriceRanges,
  type TradeSums,
  type TradeTotals,
} from './trade-sums.ts'
import type { UnfinalizedStats } from './unfinalized-stats.ts'
import {
  BUCKETS_PER_WINDOW,
  bucketAt,
  firstIndexFrom,
  lastDeparture,
  lastWindowChange,
  NOTICE_SECONDS,
  nextChangeOf,
  WINDOW_NAMES,
  type WindowName,
  type WindowStart,
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
export interface WindowStats {
  readonly name: WindowName
  readonly current: SpanStats<DistinctKind>
  readonly previous: SpanStats<SeenKind>
  /** The first second at which one of both changes without a trade or pool event. */
  readonly until: number
}

/** All windows of a token. */
export interface TokenAnswer {
  /** When they changed last, by a trade or without. */
  readonly second: number
  /** All eight, shortest first. */
  readonly windows: readonly WindowStats[]
  /** 0 where no node knows. */
  readonly decimals: number
}

/** Sums, prices and values over what is final and, behind it, what is not. */
const combined = (final: TradeSums, unfinalized: TradeSums) => ({
  totals: (from: number, to: number): TradeTotals =>
    addTotals(final.totals(from, to), unfinalized.totals(from, to)),
  prices: (from: number, to: number): PriceRanges =>
    joinPriceRanges(final.prices(from, to), unfinalized.prices(from, to)),
  knownBefore: (second: number): KnownValues =>
    unfinalized.knownBefore(second, final.knownBefore(second)),
})

/** Distinct names of the window before the one that holds `second` in its newest bucket. */
const previousCounts = (
  stats: TokenStats,
  unfinalized: UnfinalizedStats,
  name: WindowName,
  second: number,
): NameCounts => {
  const { start, previousStart } = windowStart(name, second)
  const newest = stats.sums.cells.at(-1)?.second ?? Number.NEGATIVE_INFINITY
  if (newest >= start) return stats.past.at(name, bucketAt(name, second) - BUCKETS_PER_WINDOW)
  const count = (kind: SeenKind): number =>
    stats.names[kind].since(previousStart) + unfinalized.names[kind].between(previousStart, start)
  return {
    buyers: count('buyers'),
    sellers: count('sellers'),
    pools: count('pools'),
    programs: count('programs'),
  }
}

/** What is left to look at of a window. */
interface Span extends WindowStart {
  readonly name: WindowName
  /** The time for which it is asked. */
  readonly second: number
  /** As it was published; undefined = it has changed since. */
  readonly previous: WindowStats['previous'] | undefined
}

/** Windows as they were published earlier on the same chain. */
export interface PublishedWindows {
  readonly windows: readonly WindowStats[]
  /** Second of the first trade or pool event of the token since; null = there was none. */
  readonly touched: number | null
}

type Combined = ReturnType<typeof combined>

const spanStats = (all: Combined, from: number, to: number, prices: PriceRanges) => {
  const before = all.knownBefore(from)
  return {
    ...all.totals(from, to),
    usd: prices.usd ?? priceRangeOf(before.usd),
    native: prices.native ?? priceRangeOf(before.native),
    liquidityUsd: all.knownBefore(to).liquidityUsd,
  }
}

const END = Number.POSITIVE_INFINITY

const distinctSince = (
  stats: TokenStats,
  unfinalized: UnfinalizedStats,
  start: number,
): SpanStats<DistinctKind>['distinct'] => {
  const count = (kind: DistinctKind): number =>
    stats.names[kind].since(start) + unfinalized.names[kind].since(start)
  return {
    buyers: count('buyers'),
    sellers: count('sellers'),
    traders: count('traders'),
    pools: count('pools'),
    programs: count('programs'),
  }
}

/** What happened since each of the seconds, which fall. */
const statsSince = (
  stats: TokenStats,
  unfinalized: UnfinalizedStats,
  all: Combined,
  starts: readonly number[],
): readonly SpanStats<DistinctKind>[] => {
  // A longer window holds the shorter one: what it adds is looked at only.
  let newer: PriceRanges = { usd: null, native: null }
  let newerStart = END
  return starts.map((start) => {
    newer = joinPriceRanges(all.prices(start, newerStart), newer)
    newerStart = start
    const distinct = distinctSince(stats, unfinalized, start)
    return { ...spanStats(all, start, END, newer), distinct }
  })
}

/** Windows of falling starts. Those that hold the same trades share what is computed of them. */
const computeWindows = (
  stats: TokenStats,
  unfinalized: UnfinalizedStats,
  spans: readonly Span[],
): readonly WindowStats[] => {
  const all = combined(stats.sums, unfinalized.sums)
  const cells = [stats.sums.cells, unfinalized.sums.cells] as const
  const cellsBefore = (second: number): number =>
    firstIndexFrom(cells[0], second) + firstIndexFrom(cells[1], second)
  const places = spans.map(({ start, previousStart }) => ({
    start: cellsBefore(start),
    previous: cellsBefore(previousStart),
  }))
  const isNew = (at: number): boolean => places[at]?.start !== places[at - 1]?.start
  const starts = spans.flatMap(({ start }, at) => (isNew(at) ? [start] : []))
  const currents = statsSince(stats, unfinalized, all, starts).values()
  const windows: WindowStats[] = []
  for (const [at, { name, second, start, previousStart, previous: published }] of spans.entries()) {
    const shorter = windows.at(-1)
    const current = isNew(at) || shorter === undefined ? currents.next().value : shorter.current
    const isSame = !isNew(at) && places[at]?.previous === places[at - 1]?.previous
    const previous = published ??
      (isSame ? shorter?.previous : undefined) ?? {
        ...spanStats(all, previousStart, start, all.prices(previousStart, start)),
        distinct: previousCounts(stats, unfinalized, name, second),
      }
    const next = cells.map((list) => nextChangeOf(name, list, second))
    if (current !== undefined) windows.push({ name, current, previous, until: Math.min(...next) })
  }
  return windows
}

/**
 * All windows of a token when the chain's newest block is at `now`, over what is final and the unfinalized blocks behind it.
 * They follow from the trades and `now` alone: those of one minute, which may be published with a delay, are as they were published last.
 * What cannot have changed since it was published is the same object again.
 */
export const windowStatsAt = (
  stats: TokenStats,
  unfinalized: UnfinalizedStats,
  now: number,
  published?: PublishedWindows,
): TokenAnswer => {
  const cells = [stats.sums.cells, unfinalized.sums.cells]
  const traded = Math.max(...cells.map((list) => list.at(-1)?.second ?? Number.NEGATIVE_INFINITY))
  const noticed = Math.max(traded, Math.floor(now / NOTICE_SECONDS) * NOTICE_SECONDS)
  const spans: Span[] = []
  for (const [at, name] of WINDOW_NAMES.entries()) {
    const before = published?.windows[at]
    const isSettled = before !== undefined && now < before.until
    if (isSettled && published?.touched === null) continue
    const second = name === '1m' ? noticed : now
    const starts = windowStart(name, second)
    // With a trade the windows of a minute are published at once, and with it what left them since the last notice.
    const isBefore = isSettled && name !== '1m' && starts.start <= (published?.touched ?? 0)
    spans.push({ name, second, ...starts, previous: isBefore ? before.previous : undefined })
  }
  const computed = new Map(
    computeWindows(stats, unfinalized, spans).map((window) => [window.name, window]),
  )
  const { second: dropped } = stats.sums.earlier
  const changed = Math.max(
    ...cells.map((list) => lastWindowChange(list, now)),
    dropped === null ? Number.NEGATIVE_INFINITY : lastDeparture(dropped),
  )
  return {
    second: Number.isFinite(changed) ? changed : now,
    windows: WINDOW_NAMES.flatMap((name, at) => computed.get(name) ?? published?.windows[at] ?? []),
    decimals: unfinalized.decimals ?? stats.decimals ?? 0,
  }
}
