import type { Token } from '../../schemas/api/token.ts'
import { type StatRow, statsQuery } from '../queries/token-stats.ts'
import type { ChainRequest } from './chain-route.ts'
import { readTokenRows, tokenKey } from './read-token-rows.ts'
import { tokenBody } from './token-body.ts'
import { readTokenCreators } from './token-metadata.ts'
import { statsByToken } from './token-stats.ts'

/** Tokens of one chain with everything that is known of them, in the given order; unknown ones are missing. */
export const readTokens = async (
  request: Pick<ChainRequest<object, object>, 'chain' | 'rows' | 'deps'>,
  addresses: readonly string[],
): Promise<readonly Token[]> => {
  if (addresses.length === 0) return []
  const { chain, deps, rows } = request
  const [found, makers, stats] = await Promise.all([
    readTokenRows(
      deps,
      addresses.map((address) => ({ chain: chain.id, address })),
    ),
    readTokenCreators(request, addresses),
    rows<StatRow>(statsQuery(chain.id, addresses)),
  ])
  const byToken = statsByToken(stats)
  return addresses.flatMap((address) => {
    const row = found.get(tokenKey(chain.id, address))
    if (row === undefined) return []
    return [tokenBody(row, chain.word, { stats: byToken.get(address), maker: makers.get(address) })]
  })
}
