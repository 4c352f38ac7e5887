import type { Pool } from './pool.ts'
import type { PoolGraph } from './pool-graph.ts'
import type { Route, RoutingScope } from './route.ts'
import type { SwapRequest } from './search.ts'
import { filterGraph } from './venue-words.ts'

const keepPools = (graph: PoolGraph, isKept: (pool: Pool) => boolean): PoolGraph => ({
  ...filterGraph(graph, isKept),
  ...(graph.parts && { parts: graph.parts.map((part) => keepPools(part, isKept)) }),
})

const depthOf = ({ tvlUsd }: Pool): number => tvlUsd ?? 0

/**
 * The pool that is most likely not what it seems: the least deep one on each path over a token that is not trusted; where no path leads
 * over such a token, that of all paths.
 */
const suspectsOf = (
  { paths }: Route,
  isTrusted: (token: string) => boolean,
): ReadonlySet<string> => {
  const pools = paths.map(({ hops }) => hops.map(({ pool }) => pool))
  const strange = pools.filter((path) => !path.every(({ tokens }) => tokens.every(isTrusted)))
  const groups = strange.length > 0 ? strange : [pools.flat()]
  return new Set(
    groups.flatMap((group) => {
      const [least] = group.toSorted((one, other) => depthOf(one) - depthOf(other))
      return least ? [least.address] : []
    }),
  )
}

/**
 * Graphs for another search where a route has failed, the better first. Anybody can make a token and two pools of it between two others,
 * at a price that no swap gets: so the first graph leads over hubs only, the second over everything, both without the pools that
 * may be to blame.
 */
export const graphsWithout = (
  { graph, hubs }: Pick<RoutingScope, 'graph' | 'hubs'>,
  failed: Route,
  { tokenIn, tokenOut }: Pick<SwapRequest, 'tokenIn' | 'tokenOut'>,
): readonly PoolGraph[] => {
  const isTrusted = (token: string): boolean =>
    token === tokenIn || token === tokenOut || hubs.has(token)
  const dropped = suspectsOf(failed, isTrusted)
  return [
    keepPools(graph, ({ address, tokens }) => tokens.every(isTrusted) && !dropped.has(address)),
    keepPools(graph, ({ address }) => !dropped.has(address)),
  ]
}
