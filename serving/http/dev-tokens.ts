import { Type } from 'typebox'
import { DevToken } from '../../schemas/api/dev-token.ts'
import type { Placed } from '../queries/keyset.ts'
import { madeTokensList } from '../queries/token-makers.ts'
import { type StatRow, statsQuery } from '../queries/token-stats.ts'
import { type ChainRoute, chainPage } from './chain-route.ts'
import { marketDataOf, metadataOf } from './token-body.ts'
import { makersOf } from './token-metadata.ts'
import { keyOf, rowsOf } from './token-rows.ts'
import { statsByToken } from './token-stats.ts'

interface MadeToken extends Placed {
  readonly token_address: string
}

const devTokens = chainPage({
  path: '/token/:chain/dev/:devAddress/tokens',
  summary: 'Tokens that a wallet made, newest first',
  tag: 'token',
  params: { devAddress: Type.String({ maxLength: 256 }) },
  query: {},
  item: DevToken,
  list: ({ chain, params }) => madeTokensList(chain.id, params.devAddress),
  bodies: async (made: readonly MadeToken[], request) => {
    const { chain, deps } = request
    const addresses = made.map(({ token_address }) => token_address)
    if (addresses.length === 0) return []
    const [rows, makers, stats] = await Promise.all([
      rowsOf(
        deps,
        addresses.map((address) => ({ chain: chain.id, address })),
      ),
      makersOf(request, addresses),
      request.rows<StatRow>(statsQuery(chain.id, addresses)),
    ])
    const byToken = statsByToken(stats)
    return addresses.flatMap((address) => {
      const row = rows.get(keyOf(chain.id, address))
      if (row === undefined) return []
      return [
        {
          address,
          metadata: metadataOf(row, chain.word, makers.get(address)),
          marketData: marketDataOf(row),
          stats: byToken.get(address) ?? { address, periods: {} },
        },
      ]
    })
  },
})

/** Tokens by their maker. */
export const devTokenRoutes: readonly ChainRoute[] = [devTokens]
