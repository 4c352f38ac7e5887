import { Type } from 'typebox'
import { DevToken } from '../../schemas/api/dev-token.ts'
import type { KeysetRow } from '../queries/keyset-list.ts'
import { createdTokenList } from '../queries/token-creators.ts'
import { type StatRow, statsQuery } from '../queries/token-stats.ts'
import { type ChainRoute, definePageRoute } from './chain-route.ts'
import { readTokenRows, tokenKey } from './read-token-rows.ts'
import { marketDataBody, metadataBody } from './token-body.ts'
import { readTokenCreators } from './token-metadata.ts'
import { statsByToken } from './token-stats.ts'

interface CreatedTokenRow extends KeysetRow {
  readonly token_address: string
}

const devTokens = definePageRoute({
  path: '/token/:chain/dev/:devAddress/tokens',
  summary: 'Tokens that a wallet made, newest first',
  tag: 'token',
  params: { devAddress: Type.String({ maxLength: 256 }) },
  query: {},
  item: DevToken,
  list: ({ chain, params }) => createdTokenList(chain.id, params.devAddress),
  bodies: async (made: readonly CreatedTokenRow[], request) => {
    const { chain, deps } = request
    const addresses = made.map(({ token_address }) => token_address)
    if (addresses.length === 0) return []
    const [rows, makers, stats] = await Promise.all([
      readTokenRows(
        deps,
        addresses.map((address) => ({ chain: chain.id, address })),
      ),
      readTokenCreators(request, addresses),
      request.rows<StatRow>(statsQuery(chain.id, addresses)),
    ])
    const byToken = statsByToken(stats)
    return addresses.flatMap((address) => {
      const row = rows.get(tokenKey(chain.id, address))
      if (row === undefined) return []
      return [
        {
          address,
          metadata: metadataBody(row, chain.word, makers.get(address)),
          marketData: marketDataBody(row),
          stats: byToken.get(address) ?? { address, periods: {} },
        },
      ]
    })
  },
})

/** Tokens by their maker. */
export const devTokenRoutes: readonly ChainRoute[] = [devTokens]
