import { ceilDiv } from '../../core/bigint-math.ts'
import { PIPS } from './constant-product.ts'
import { type Ratio, spotPrice } from './pool.ts'
import type { PoolGraph } from './pool-graph.ts'
import {
  bestPath,
  createSearchMemory,
  type Hop,
  type Path,
  requotePath,
  type SearchMemory,
  type SearchScope,
  type SwapRequest,
} from './search.ts'

/** A swap over one path or several that share no pool. */
export interface Route {
  readonly paths: readonly Path[]
  readonly amountInRaw: bigint
  readonly amountOutRaw: bigint
}

/** How far a search goes. */
export interface RouteLimits {
  /** Work over all paths and shares, in units of about a microsecond. */
  readonly workUnits: number
  /** Paths that an amount may be split over; 1 = no splits. */
  readonly maxPaths: number
  /** Gain that each further path must bring, basis points: it costs a transaction more gas. */
  readonly minSplitGainBps: number
}

/** Well inside of 50 ms. */
export const DEFAULT_ROUTE_LIMITS: RouteLimits = {
  workUnits: 20_000,
  maxPaths: 4,
  minSplitGainBps: 5,
}

/** An amount is split in shares of 5 %. */
const SHARES = 20n
/** Part of the work that the first search may take; the rest is for further paths and shares. */
const SINGLE_PATH_PART = 0.5
const BASIS = 10_000n

/** What a route is searched in. */
export interface RoutingScope {
  readonly graph: PoolGraph
  readonly hubs: ReadonlySet<string>
  readonly limits?: RouteLimits
  /** Of earlier searches of the same request. */
  readonly memory?: SearchMemory
}

/**
 * The best route that the budget finds; undefined where there is none. A path alone is never given up for a split that is not
 * better by `minSplitGainBps` for each further path.
 */
export const findRoute = (
  { graph, hubs, limits = DEFAULT_ROUTE_LIMITS, memory = createSearchMemory() }: RoutingScope,
  request: SwapRequest,
): Route | undefined => {
  const first = { left: Math.floor(limits.workUnits * SINGLE_PATH_PART) }
  const scope = { graph, hubs, memory, budget: first, excluded: new Set<string>() }
  const single = bestPath(scope, request)
  const budget = { left: limits.workUnits - Math.floor(limits.workUnits * SINGLE_PATH_PART) }
  const split =
    limits.maxPaths > 1 ? splitRoute({ ...scope, budget }, request, single, limits) : undefined
  if (single === undefined) return split
  const alone = routeOf([single])
  return split !== undefined && isWorthSplitting(alone, split, request.mode, limits) ? split : alone
}

const routeOf = (paths: readonly Path[]): Route => ({
  paths,
  amountInRaw: paths.reduce((sum, { amountInRaw }) => sum + amountInRaw, 0n),
  amountOutRaw: paths.reduce((sum, { amountOutRaw }) => sum + amountOutRaw, 0n),
})

const isWorthSplitting = (
  alone: Route,
  split: Route,
  mode: SwapRequest['mode'],
  { minSplitGainBps }: RouteLimits,
): boolean => {
  const gain = BigInt(minSplitGainBps * (split.paths.length - 1))
  return mode === 'exact_in'
    ? split.amountOutRaw * BASIS > alone.amountOutRaw * (BASIS + gain)
    : split.amountInRaw * (BASIS + gain) < alone.amountInRaw * BASIS
}

/** Paths without a common pool, best first: that of the whole amount, then those of a share each. */
const disjointPaths = (
  scope: SearchScope,
  request: SwapRequest,
  single: Path | undefined,
  { maxPaths }: RouteLimits,
): readonly Path[] => {
  const paths = single === undefined ? [] : [single]
  const share = ceilDiv(request.amountRaw, BigInt(maxPaths))
  while (paths.length < maxPaths && scope.budget.left > 0) {
    const excluded = new Set(paths.flatMap(({ hops }) => hops.map(({ pool }) => pool.address)))
    const next = bestPath({ ...scope, excluded }, { ...request, amountRaw: share })
    if (next === undefined) break
    paths.push(next)
  }
  return paths
}

/** Gives share after share to the path that makes most of it; undefined where there is nothing to split or no path takes a share. */
const splitRoute = (
  scope: SearchScope,
  request: SwapRequest,
  single: Path | undefined,
  limits: RouteLimits,
): Route | undefined => {
  const { mode, amountRaw } = request
  const candidates = disjointPaths(scope, request, single, limits)
  if (candidates.length < 2) return undefined
  const given = candidates.map((): Path | undefined => undefined)
  const exactOf = (path: Path | undefined): bigint =>
    (mode === 'exact_in' ? path?.amountInRaw : path?.amountOutRaw) ?? 0n
  const otherOf = (path: Path | undefined): bigint =>
    (mode === 'exact_in' ? path?.amountOutRaw : path?.amountInRaw) ?? 0n
  for (let number = 1n; number <= SHARES; number += 1n) {
    const share = (amountRaw * number) / SHARES - (amountRaw * (number - 1n)) / SHARES
    if (share === 0n) continue
    let best: { readonly index: number; readonly path: Path; readonly change: bigint } | undefined
    for (const [index, candidate] of candidates.entries()) {
      if (scope.budget.left <= 0) return undefined
      const path = requotePath(scope, candidate, mode, exactOf(given[index]) + share)
      if (path === undefined) continue
      const change = otherOf(path) - otherOf(given[index])
      const isBest =
        best === undefined || (mode === 'exact_in' ? change > best.change : change < best.change)
      if (isBest) best = { index, path, change }
    }
    if (best === undefined) return undefined
    given[best.index] = best.path
  }
  return routeOf(given.filter((path) => path !== undefined))
}

/** Digits behind the point of a price impact in percent. */
const IMPACT_DIGITS = 4

const roundedQuotient = (of: bigint, by: bigint): bigint => (of * 2n + by) / (by * 2n)

/** What of its input a swap leaves after the fee. */
export const partAfterFee = ({ pool, amountInRaw, feeRaw }: Hop): Ratio =>
  feeRaw === undefined
    ? { of: PIPS - BigInt(pool.feePips), by: PIPS }
    : { of: amountInRaw - feeRaw, by: amountInRaw }

/** What a path would give at the prices before the swap, after fees. */
const outputAtSpotPrices = ({ hops, amountInRaw }: Path): Ratio =>
  hops.reduce<Ratio>(
    ({ of, by }, hop) => {
      const [price, net] = [spotPrice(hop.pool, hop.tokenIn), partAfterFee(hop)]
      return { of: of * price.of * net.of, by: by * price.by * net.by }
    },
    { of: amountInRaw, by: 1n },
  )

/**
 * How much less than at the prices before it a swap gives, fees apart, in percent with four digits: "0.9872". Never below zero, which
 * only rounding could make it.
 */
export const priceImpactPercent = ({ paths, amountOutRaw }: Route): string => {
  const expected = paths.map(outputAtSpotPrices)
  const by = expected.reduce((product, ratio) => product * ratio.by, 1n)
  const whole = expected.reduce((sum, ratio) => sum + (ratio.of * by) / ratio.by, 0n)
  if (whole === 0n) return '0'
  const lost = whole - amountOutRaw * by
  const units = lost > 0n ? roundedQuotient(lost * 10n ** BigInt(IMPACT_DIGITS + 2), whole) : 0n
  const digits = units.toString().padStart(IMPACT_DIGITS + 1, '0')
  const text = `${digits.slice(0, -IMPACT_DIGITS)}.${digits.slice(-IMPACT_DIGITS)}`
  return text.replace(/\.?0+$/, '')
}

/** Least output that a slippage in basis points leaves, rounded down. */
export const minAmountOut = (amountOutRaw: bigint, slippageBps: number): bigint =>
  (amountOutRaw * (BASIS - BigInt(slippageBps))) / BASIS

/** Largest input that a slippage in basis points allows, rounded up. */
export const maxAmountIn = (amountInRaw: bigint, slippageBps: number): bigint =>
  ceilDiv(amountInRaw * (BASIS + BigInt(slippageBps)), BASIS)
