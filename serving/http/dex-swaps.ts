import { Type } from 'typebox'
import { Fault } from '../../core/errors.ts'
import { ChainParam } from '../../schemas/api/common.ts'
import { DexQuote, QUOTE_QUERY } from '../../schemas/api/swap.ts'
import type { AccountPools } from '../dex/account-pools.ts'
import { type ChainMarket, pooledToken, requireFreshPools } from '../dex/chain-market.ts'
import { currentPrice, executionPrice, quotedHops, quoteSwap } from '../dex/quote.ts'
import { parseAmount, parseSlippage } from '../dex/swap-terms.ts'
import { filterGraph, parseVenue } from '../dex/venue-words.ts'
import type { FreshnessReader } from '../interfaces.ts'
import { parseChain, parseTokenAddress, setFreshnessHeaders } from './chain-parameters.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'
import type { SearchTurns } from './search-turns.ts'

/** What quotes work with. */
export interface QuoteRouteDeps {
  readonly chains: readonly string[]
  readonly freshness: FreshnessReader
  readonly nowMs: () => number
  /** By internal id of the chain. */
  readonly markets: ReadonlyMap<string, ChainMarket>
  readonly searches: SearchTurns
  /** Pools that are priced by their accounts, by internal id of the chain; missing where it has no node. */
  readonly accountPools: ReadonlyMap<string, AccountPools>
}

/** Quotes of swaps over the pools that this installation follows. */
export const quoteRoutes =
  (deps: QuoteRouteDeps): RoutePlugin =>
  async (app) => {
    app.get(
      '/dex/:chain/quote',
      {
        schema: {
          summary: 'What a swap would give now',
          tags: ['swap'],
          params: Type.Object({ chain: ChainParam }),
          querystring: Type.Object(QUOTE_QUERY),
          response: { 200: DexQuote },
        },
        config: pricedRoute('GET /dex/:chain/quote'),
      },
      async ({ params, query, principal }, reply) => {
        const search = deps.searches(principal, reply)
        const market = requestedMarket(deps, params.chain)
        const { chain, pools: poolBook, venues, hubs } = market
        const wantedVenues = parseVenue(query.dex, chain.vm, venues)
        const { request } = readSwapTokens(market, query)
        const wanted = {
          ...request,
          mode: query.exactIn ? 'exact_in' : 'exact_out',
          amountRaw: parseAmount(query.amount),
        } as const
        const slippageBps = parseSlippage(query.slippage)
        await setFreshnessHeaders(reply, deps.freshness, chain.id)
        const block = await requireFreshPools(market, deps.freshness, deps.nowMs())
        await deps.accountPools.get(chain.id)?.readBetween(wanted, wantedVenues)
        const all = poolBook.graph(deps.nowMs())
        const graph =
          wantedVenues === undefined
            ? all
            : filterGraph(all, ({ protocol }) => wantedVenues.has(protocol))
        const quote = await search(() => quoteSwap({ graph, hubs }, wanted, slippageBps))
        const { route } = quote
        return {
          amountIn: route.amountInRaw.toString(),
          amountOut: route.amountOutRaw.toString(),
          minAmountOut: quote.minOutRaw.toString(),
          maxAmountIn: quote.maxInRaw.toString(),
          currentPrice: currentPrice(quote, poolBook.decimals),
          executionPrice: executionPrice(quote, poolBook.decimals),
          priceImpact: quote.priceImpact,
          fee: quote.feeRaw.toString(),
          hops: [...quotedHops(route)],
          block,
        }
      },
    )
  }

/** The market of a chain. Throws `Fault` CHAIN_NOT_FOUND, CHAIN_NOT_SUPPORTED. */
export const requestedMarket = (
  { chains, markets }: Pick<QuoteRouteDeps, 'chains' | 'markets'>,
  word: string,
): ChainMarket => {
  const { id, enabled } = parseChain(word, chains)
  const market = markets.get(id)
  if (!enabled || market === undefined) throw new Fault('CHAIN_NOT_SUPPORTED')
  return market
}

/** Both tokens of a swap as they are named, and as pools trade them. Throws `Fault` INVALID_TOKEN_ADDRESS, SAME_TOKEN_SWAP. */
export const readSwapTokens = (
  market: ChainMarket,
  { inputMint, outputMint }: { readonly inputMint: string; readonly outputMint: string },
) => {
  const sold = parseTokenAddress(market.chain.id, inputMint, 'inputMint')
  const bought = parseTokenAddress(market.chain.id, outputMint, 'outputMint')
  const request = { tokenIn: pooledToken(market, sold), tokenOut: pooledToken(market, bought) }
  if (request.tokenIn === request.tokenOut) throw new Fault('SAME_TOKEN_SWAP')
  return { sold, bought, request }
}
