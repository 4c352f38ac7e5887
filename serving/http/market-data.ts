import { Type } from 'typebox'
import { Fault } from '../../core/errors.ts'
import { ChainParams, TokensQuery } from '../../schemas/api/stats.ts'
import { TokenMarketData, TokenParams } from '../../schemas/api/token.ts'
import {
  parseAddressList,
  parseChain,
  parseTokenAddress,
  setFreshnessHeaders,
} from './chain-parameters.ts'
import type { RouteDeps } from './deps.ts'
import { readTokenRows } from './read-token-rows.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'
import { marketDataBody } from './token-body.ts'

/** Prices, supply, liquidity and holders of one token, and of several at once. */
export const marketDataRoutes =
  (deps: RouteDeps): RoutePlugin =>
  async (app) => {
    app.get(
      '/token/:chain/:tokenAddress/marketData',
      {
        schema: {
          summary: 'Market data of a token',
          tags: ['token'],
          params: TokenParams,
          response: { 200: TokenMarketData },
        },
        config: pricedRoute('GET /token/:chain/:tokenAddress/marketData'),
      },
      async ({ params }, reply) => {
        const chain = parseChain(params.chain, deps.chains)
        const address = parseTokenAddress(chain.id, params.tokenAddress, 'tokenAddress')
        if (!chain.enabled) throw new Fault('MARKET_INFO_NOT_FOUND')
        await setFreshnessHeaders(reply, deps.freshness, chain.id)
        const [row] = (await readTokenRows(deps, [{ chain: chain.id, address }])).values()
        if (row === undefined) throw new Fault('MARKET_INFO_NOT_FOUND')
        return marketDataBody(row)
      },
    )
    app.get(
      '/token/:chain/marketData/multi',
      {
        schema: {
          summary: 'Market data of several tokens, by address; unknown ones are missing',
          tags: ['token'],
          params: ChainParams,
          querystring: TokensQuery,
          response: { 200: Type.Record(Type.String(), TokenMarketData) },
        },
        config: pricedRoute('GET /token/:chain/marketData/multi'),
      },
      async ({ params, query }, reply) => {
        const { id, enabled } = parseChain(params.chain, deps.chains)
        const addresses = parseAddressList(id, query.tokenAddresses, 'tokenAddresses')
        if (!enabled) return {}
        await setFreshnessHeaders(reply, deps.freshness, id)
        const rows = await readTokenRows(
          deps,
          addresses.map((address) => ({ chain: id, address })),
        )
        return Object.fromEntries(
          [...rows.values()].map((row) => [row.token_address, marketDataBody(row)]),
        )
      },
    )
  }
