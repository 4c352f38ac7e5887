import { Fault } from '../../core/errors.ts'
import { TokensQuery } from '../../schemas/api/stats.ts'
import { TokenMetadata, TokenMetadataMap } from '../../schemas/api/token.ts'
import { TOKEN_PARAM } from '../../schemas/api/token-history.ts'
import { type MakerRow, makersQuery } from '../queries/token-makers.ts'
import { type ChainRequest, type ChainRoute, chainRead } from './chain-route.ts'
import { metadataOf, type TokenMaker } from './token-body.ts'
import { rowsOf } from './token-rows.ts'

/** Makers by token address; tokens without a known maker are missing. */
export const makersOf = async (
  { chain, rows }: Pick<ChainRequest<object, object>, 'chain' | 'rows'>,
  addresses: readonly string[],
): Promise<ReadonlyMap<string, TokenMaker>> => {
  const makers = await rows<MakerRow>(makersQuery(chain.id, addresses))
  return new Map(
    makers.map((row) => [row.token_address, { tokens: row.tokens, lastMs: Number(row.last_ms) }]),
  )
}

/** Metadata of the given tokens, in no order; unknown ones are missing. */
const readMetadata = async (
  request: ChainRequest<object, object>,
  addresses: readonly string[],
): Promise<readonly TokenMetadata[]> => {
  const { chain, deps } = request
  const [rows, makers] = await Promise.all([
    rowsOf(
      deps,
      addresses.map((address) => ({ chain: chain.id, address })),
    ),
    makersOf(request, addresses),
  ])
  return [...rows.values()].map((row) => metadataOf(row, chain.word, makers.get(row.token_address)))
}

const metadata = chainRead({
  path: '/token/:chain/:tokenAddress/metadata',
  summary: 'Name, links and creation of a token',
  tag: 'token',
  params: TOKEN_PARAM,
  query: {},
  response: TokenMetadata,
  absent: 'NOT_FOUND',
  answer: async (request) => {
    const [body] = await readMetadata(request, [request.params.tokenAddress])
    if (body === undefined) throw new Fault('NOT_FOUND', 'No such token')
    return body
  },
})

const metadataOfMany = chainRead({
  path: '/token/:chain/metadata/multi',
  summary: 'Name, links and creation of several tokens, by address; unknown ones are missing',
  tag: 'token',
  params: {},
  query: TokensQuery.properties,
  response: TokenMetadataMap,
  absent: 'map',
  answer: async (request) => {
    const bodies = await readMetadata(request, request.addresses('tokenAddresses'))
    return Object.fromEntries(bodies.map((body) => [body.address, body]))
  },
})

/** What tokens are. */
export const tokenMetadataRoutes: readonly ChainRoute[] = [metadata, metadataOfMany]
