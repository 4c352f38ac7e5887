import { Type } from 'typebox'
import { Fault } from '../../core/errors.ts'
import { ChainParams, TokensQuery } from '../../schemas/api/stats.ts'
import { TokenMarketData, TokenParams } from '../../schemas/api/token.ts'
import { addressesOf, addressOf, chainOf, stampFreshness } from './chain.ts'
import type { RouteDeps } from './deps.ts'
import { type Family, priced } from './routing.ts'
import { marketDataOf } from './token-body.ts'
import { rowsOf } from './token-rows.ts'

/** Prices, supply, liquidity and holders of one token, and of several at once. */
export const marketDataRoutes =
  (deps: RouteDeps): Family =>
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
        config: priced('GET /token/:chain/:tokenAddress/marketData'),
      },
      async ({ params }, reply) => {
        const chain = chainOf(params.chain, deps.chains)
        const address = addressOf(chain.id, params.tokenAddress, 'tokenAddress')
        if (!chain.enabled) throw new Fault('MARKET_INFO_NOT_FOUND')
        await stampFreshness(reply, deps.freshness, chain.id)
        const [row] = (await rowsOf(deps, [{ chain: chain.id, address }])).values()
        if (row === undefined) throw new Fault('MARKET_INFO_NOT_FOUND')
        return marketDataOf(row)
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
        config: priced('GET /token/:chain/marketData/multi'),
      },
      async ({ params, query }, reply) => {
        const { id, enabled } = chainOf(params.chain, deps.chains)
        const addresses = addressesOf(id, query.tokenAddresses, 'tokenAddresses')
        if (!enabled) return {}
        await stampFreshness(reply, deps.freshness, id)
        const rows = await rowsOf(
          deps,
          addresses.map((address) => ({ chain: id, address })),
        )
        return Object.fromEntries(
          [...rows.values()].map((row) => [row.token_address, marketDataOf(row)]),
        )
      },
    )
  }
