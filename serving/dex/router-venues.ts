import type { ChainExtra } from '../../core/config/settings.ts'
import { Fault } from '../../core/errors.ts'
import {
  DEX_ROUTERS,
  type RouterKind,
  UNIVERSAL_PROTOCOLS,
  UNIVERSAL_ROUTERS,
} from '../../schemas/dex-routers.ts'
import type { PoolBook } from './pool-book.ts'
import { quoteSwap, type SwapQuote } from './quote.ts'
import { DEFAULT_ROUTE_LIMITS } from './route.ts'
import { createSearchMemory, type SearchMemory, type SwapRequest } from './search.ts'
import { filterGraph } from './venue-words.ts'

/** Uniswap's Universal Router: it swaps over the pools of several protocols, along several paths. */
export interface UniversalVenue {
  readonly kind: 'universal'
  readonly protocols: readonly string[]
  readonly router: string
  /** The contract through which it takes tokens. */
  readonly permit2: string
}

/** A contract that swaps over the pools of one protocol. */
export interface RouterVenue {
  readonly protocol: string
  readonly kind: RouterKind
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

/** The Universal Router of a chain: that of the configuration, or of the table. */
export const universalVenue = (
  chain: string,
  extra: ChainExtra | undefined,
): UniversalVenue | undefined => {
  const row = extra?.universalRouter ?? (extra?.replace ? undefined : UNIVERSAL_ROUTERS[chain])
  return row && { kind: 'universal', protocols: UNIVERSAL_PROTOCOLS, ...row }
}

/** The router over those of its protocols that are wanted; undefined where that leaves none. */
export const withinVenues = (
  venue: UniversalVenue,
  wanted: ReadonlySet<string> | undefined,
): UniversalVenue | undefined => {
  const protocols = venue.protocols.filter((id) => wanted?.has(id) ?? true)
  return protocols.length > 0 ? { ...venue, protocols } : undefined
}

/** A quote and the router that can run it. */
interface RoutedQuote<Venue> {
  readonly venue: Venue
  readonly quote: SwapQuote
}

/** Pools that quotes are made over. */
interface QuotedMarket {
  readonly pools: Pick<PoolBook, 'graph'>
  readonly hubs: ReadonlySet<string>
}

/** What a quote is asked for. */
interface QuoteTerms {
  readonly request: SwapRequest
  readonly slippageBps: number
  readonly nowMs: number
}

/** The same for one of several searches. */
interface SearchTerms extends QuoteTerms {
  readonly memory: SearchMemory
}

/**
 * The best quote that one call of one router can run: a single path over the pools of its protocol. Throws as `quoteSwap`, and `Fault`
 * DEX_NOT_SUPPORTED where no router is known.
 */
const quoteOverRouters = (
  { pools, hubs }: QuotedMarket,
  venues: readonly RouterVenue[],
  { request, slippageBps, nowMs, memory }: SearchTerms,
): RoutedQuote<RouterVenue> => {
  if (venues.length === 0) {
    const reason = 'no router of these venues is known on the chain: transactions are not built'
    throw new Fault('DEX_NOT_SUPPORTED', undefined, { reason })
  }
  const workUnits = Math.floor(DEFAULT_ROUTE_LIMITS.workUnits / venues.length)
  const limits = { ...DEFAULT_ROUTE_LIMITS, maxPaths: 1, workUnits }
  const all = pools.graph(nowMs)
  let best: RoutedQuote<RouterVenue> | undefined
  let refused: unknown
  for (const venue of venues) {
    const graph = filterGraph(all, ({ protocol }) => protocol === venue.protocol)
    try {
      const quote = quoteSwap({ graph, hubs, limits, memory }, request, slippageBps)
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

/**
 * The best quote that one call of the Universal Router can run: splits, and paths over pools of all its protocols. A path of an ExactOut
 * swap stays within one protocol, because no command of the router buys an exact amount across two. Throws as `quoteSwap`.
 */
const quoteOverUniversal = (
  { pools, hubs }: QuotedMarket,
  venue: UniversalVenue,
  { request, slippageBps, nowMs, memory }: SearchTerms,
): RoutedQuote<UniversalVenue> => {
  const all = pools.graph(nowMs)
  const parts = venue.protocols.map((id) => filterGraph(all, ({ protocol }) => protocol === id))
  const whole = filterGraph(all, ({ protocol }) => venue.protocols.includes(protocol))
  const graph = request.mode === 'exact_in' ? whole : { ...whole, parts }
  return { venue, quote: quoteSwap({ graph, hubs, memory }, request, slippageBps) }
}

/** Which contract a caller wants to call; undefined: the routers of the protocols, then the Universal Router where they have no route. */
export type RouterChoice = 'protocol' | 'universal' | undefined

/** Throws `Fault` INVALID_PARAMETER for other words than `protocol` and `universal`. */
export const parseRouterChoice = (word: string | undefined): RouterChoice => {
  if (word === undefined || word === 'protocol' || word === 'universal') return word
  const details = { parameter: 'router', value: word.slice(0, 64) }
  throw new Fault('INVALID_PARAMETER', undefined, {
    ...details,
    allowed_values: ['protocol', 'universal'],
  })
}

/** The routers that an order may use. */
export interface OrderedRouters {
  readonly choice: RouterChoice
  readonly routers: readonly RouterVenue[]
  readonly universal: UniversalVenue | undefined
}

/** The quote of an order and its router. Throws as `quoteSwap`, and `Fault` DEX_NOT_SUPPORTED where the chain does not have the router. */
export const quoteOverChosen = (
  market: QuotedMarket,
  { choice, routers, universal }: OrderedRouters,
  asked: QuoteTerms,
): RoutedQuote<RouterVenue | UniversalVenue> => {
  const terms = { ...asked, memory: createSearchMemory() }
  if (choice === 'universal') {
    if (universal === undefined) {
      throw new Fault('DEX_NOT_SUPPORTED', undefined, { parameter: 'router', value: choice })
    }
    return quoteOverUniversal(market, universal, terms)
  }
  try {
    return quoteOverRouters(market, routers, terms)
  } catch (error) {
    const hasOther = error instanceof Fault && choice === undefined && universal !== undefined
    if (!hasOther || !WITHOUT_ROUTE.has(error.faultName)) throw error
    return quoteOverUniversal(market, universal, terms)
  }
}

/** What the routers of the protocols fail with where a route over several of them, or a split, may do. */
const WITHOUT_ROUTE: ReadonlySet<string> = new Set([
  ...['DEX_NOT_SUPPORTED', 'DEX_ROUTE_BUILD_FAILED', 'LIQUIDITY_INSUFFICIENT'],
  'PRICE_IMPACT_TOO_HIGH',
])
