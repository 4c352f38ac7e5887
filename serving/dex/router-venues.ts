import type { ChainExtra } from '../../core/config/settings.ts'
import { Fault } from '../../core/errors.ts'
import { DEX_ROUTERS } from '../../schemas/dex-routers.ts'
import type { PoolBook } from './pool-book.ts'
import { quoteSwap, type SwapQuote } from './quote.ts'
import { DEFAULT_ROUTE_LIMITS } from './route.ts'
import type { SwapRequest } from './search.ts'
import { filterGraph } from './venue-words.ts'

/** A contract that swaps over the pools of one protocol. */
export interface RouterVenue {
  readonly protocol: string
  readonly kind: 'v2' | 'v3'
  readonly router: string
}

/** Routers of a chain: those of the tables, and those that the configuration adds. */
export const routerVenues = (
  chain: string,
  extra: ChainExtra | undefined,
): readonly RouterVenue[] => {
  const kinds = new Map(DEX_ROUTERS.map(({ protocol, kind }) => [protocol, kind]))
  const listed = DEX_ROUTERS.flatMap(({ protocol, kind, routers }) => {
    const router = extra?.replace ? undefined : routers[chain]
    return router === undefined ? [] : [{ protocol, kind, router }]
  })
  const added = (extra?.routers ?? []).flatMap(({ protocol, router }) => {
    const kind = kinds.get(protocol)
    return kind === undefined ? [] : [{ protocol, kind, router }]
  })
  return [
    ...listed.filter(({ protocol }) => !added.some((one) => one.protocol === protocol)),
    ...added,
  ]
}

/** A quote and the router that can run it. */
interface RoutedQuote {
  readonly venue: RouterVenue
  readonly quote: SwapQuote
}

/**
 * The best quote that one call of one router can run: a single path over the pools of its protocol. Throws as `quoteSwap`, and `Fault`
 * DEX_NOT_SUPPORTED where no router is known.
 */
export const quoteOverRouters = (
  { book, hubs }: { readonly book: PoolBook; readonly hubs: ReadonlySet<string> },
  venues: readonly RouterVenue[],
  wanted: { readonly request: SwapRequest; readonly slippageBps: number; readonly nowMs: number },
): RoutedQuote => {
  const { request, slippageBps, nowMs } = wanted
  if (venues.length === 0) throw new Fault('DEX_NOT_SUPPORTED')
  const workUnits = Math.floor(DEFAULT_ROUTE_LIMITS.workUnits / venues.length)
  const limits = { ...DEFAULT_ROUTE_LIMITS, maxPaths: 1, workUnits }
  const all = book.graph(nowMs)
  let best: RoutedQuote | undefined
  let refused: unknown
  for (const venue of venues) {
    const graph = filterGraph(all, ({ protocol }) => protocol === venue.protocol)
    try {
      const quote = quoteSwap({ graph, hubs, limits }, request, slippageBps)
      if (best === undefined || isBetter(quote, best.quote)) best = { venue, quote }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      if (refused === undefined || error.faultName !== 'DEX_ROUTE_BUILD_FAILED') refused = error
    }
  }
  if (best === undefined) throw refused
  return best
}

const isBetter = ({ route, request }: SwapQuote, than: SwapQuote): boolean =>
  request.mode === 'exact_in'
    ? route.amountOutRaw > than.route.amountOutRaw
    : route.amountInRaw < than.route.amountInRaw
