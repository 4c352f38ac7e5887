import { Fault } from '../../core/errors.ts'
import type { PoolGraph } from './pool-graph.ts'
import { quoteOverPools } from './pool-swap.ts'
import { quoteSwap, type SwapQuote } from './quote.ts'
import {
  DEFAULT_ROUTE_LIMITS,
  maxAmountIn,
  minAmountOut,
  type Route,
  type RoutingScope,
} from './route.ts'
import { type Path, requotePath, type SwapRequest } from './search.ts'
import { canPayOthers, isBuildable, requirePayable } from './solana-swap.ts'
import { filterGraph } from './venue-words.ts'

/**
 * Slippage that every swap but the last of a path may have, basis points, where the whole may have more: an instruction names the amount that
 * it sells, so the next swap sells what the one before gives at least. The rest stays in the wallet's account of the token between.
 */
const BETWEEN_BPS = 50

/** What is to be quoted. */
export interface SolanaQuoteOrder {
  readonly request: SwapRequest
  readonly slippageBps: number
  /** Protocols that may be used; undefined: all. */
  readonly wanted: ReadonlySet<string> | undefined
  readonly owner: string
  readonly recipient: string
}

/** A path of which each swap sells what the one before gives at least; undefined where a pool cannot make it. */
const certainPath = (
  graph: PoolGraph,
  { hops, amountInRaw, amountOutRaw }: Path,
  mode: SwapRequest['mode'],
  slippageBps: number,
): Path | undefined => {
  const isForward = mode === 'exact_in'
  const between = Math.min(slippageBps, BETWEEN_BPS)
  const made: Path['hops'][number][] = []
  let amountRaw = isForward ? amountInRaw : amountOutRaw
  for (const hop of isForward ? hops : hops.toReversed()) {
    const scope = { graph, budget: { left: 0 } }
    const [next] = requotePath(scope, { hops: [hop] }, mode, amountRaw)?.hops ?? []
    if (next === undefined) return undefined
    made.push(next)
    amountRaw = isForward
      ? minAmountOut(next.amountOutRaw, between)
      : maxAmountIn(next.amountInRaw, between)
  }
  const ordered = isForward ? made : made.toReversed()
  return {
    hops: ordered,
    amountInRaw: ordered[0]?.amountInRaw ?? 0n,
    amountOutRaw: ordered.at(-1)?.amountOutRaw ?? 0n,
  }
}

const sum = (amounts: readonly bigint[]): bigint =>
  amounts.reduce((total, each) => total + each, 0n)

/** A quote as its transaction carries it out: limits path by path, amounts between pools that are certain; undefined where a pool cannot make it. */
const certainQuote = (graph: PoolGraph, quote: SwapQuote): SwapQuote | undefined => {
  const { route, request, slippageBps } = quote
  const paths: Path[] = []
  for (const path of route.paths) {
    const certain = certainPath(graph, path, request.mode, slippageBps)
    if (certain === undefined) return undefined
    paths.push(certain)
  }
  const made: Route = {
    paths,
    amountInRaw: sum(paths.map(({ amountInRaw }) => amountInRaw)),
    amountOutRaw: sum(paths.map(({ amountOutRaw }) => amountOutRaw)),
  }
  const isExactIn = request.mode === 'exact_in'
  return {
    ...quote,
    route: made,
    minOutRaw: isExactIn
      ? sum(paths.map(({ amountOutRaw }) => minAmountOut(amountOutRaw, slippageBps)))
      : made.amountOutRaw,
    maxInRaw: isExactIn
      ? made.amountInRaw
      : sum(paths.map(({ amountInRaw }) => maxAmountIn(amountInRaw, slippageBps))),
  }
}

const hopsOf = ({ route }: SwapQuote): number => route.paths.flatMap(({ hops }) => hops).length

/** Whether one quote gives more than another, or takes less; of equals, which has fewer swaps. */
const byWorth = (one: SwapQuote, other: SwapQuote): number => {
  const isExactIn = one.request.mode === 'exact_in'
  const gain = isExactIn
    ? other.route.amountOutRaw - one.route.amountOutRaw
    : one.route.amountInRaw - other.route.amountInRaw
  return gain === 0n ? hopsOf(one) - hopsOf(other) : gain > 0n ? 1 : -1
}

const quoteOverOnePool = (
  graph: PoolGraph,
  { request, slippageBps, owner, recipient }: SolanaQuoteOrder,
): SwapQuote => {
  const pools = graph.poolsOf(request.tokenIn, request.tokenOut)
  if (recipient === owner) return quoteOverPools(pools, request, slippageBps, graph.failed)
  const paying = pools.filter(({ protocol }) => canPayOthers(protocol, request.tokenOut))
  // Where there are pools, but none of them can: the reason.
  if (paying.length === 0 && pools[0]) requirePayable(pools[0].protocol, request.tokenOut)
  return quoteOverPools(paying, request, slippageBps, graph.failed)
}

const orFault = (quote: () => SwapQuote): SwapQuote | Fault => {
  try {
    return quote()
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}

/**
 * Quotes that transactions can be built for, the best first: over several pools as the search finds it, over one path, and over one pool, for
 * transactions that would be too large otherwise. To another wallet than the signer's: over one pool. Throws as `quoteSwap`, and
 * NOT_IMPLEMENTED where no pool can pay the recipient.
 */
export const solanaQuotes = (
  { graph: all, hubs }: Pick<RoutingScope, 'graph' | 'hubs'>,
  order: SolanaQuoteOrder,
): readonly SwapQuote[] => {
  const { request, slippageBps, wanted, owner, recipient } = order
  const graph = filterGraph(
    all,
    ({ protocol, tokens }) => (wanted?.has(protocol) ?? true) && isBuildable(protocol, tokens),
  )
  const single = orFault(() => quoteOverOnePool(graph, order))
  if (recipient !== owner) {
    if (single instanceof Fault) throw single
    return [single]
  }
  const whole = orFault(() => quoteSwap({ graph, hubs }, request, slippageBps))
  const limits = { ...DEFAULT_ROUTE_LIMITS, maxPaths: 1 }
  const isSplit = !(whole instanceof Fault) && whole.route.paths.length > 1
  const onePath = isSplit
    ? orFault(() => quoteSwap({ graph, hubs, limits }, request, slippageBps))
    : []
  const found = [whole, onePath, single]
    .flat()
    .flatMap((each) => (each instanceof Fault ? [] : (certainQuote(graph, each) ?? [])))
    .toSorted(byWorth)
  if (found.length > 0) return found
  throw whole instanceof Fault ? whole : new Fault('DEX_ROUTE_BUILD_FAILED')
}
