import { Fault } from '../../core/errors.ts'
import { TokensQuery } from '../../schemas/api/stats.ts'
import { TokenMetadata, TokenMetadataMap } from '../../schemas/api/token.ts'
import { TOKEN_PARAM } from '../../schemas/api/token-history.ts'
import { type CreatorRow, creatorsQuery } from '../queries/token-creators.ts'
import { type ChainRequest, type ChainRoute, defineReadRoute } from './chain-route.ts'
import { readTokenRows } from './read-token-rows.ts'
import { metadataBody, type TokenCreator } from './token-body.ts'

/** Makers by token address; tokens without a known maker are missing. */
export const readTokenCreators = async (
  { chain, rows }: Pick<ChainRequest<object, object>, 'chain' | 'rows'>,
  addresses: readonly string[],
): Promise<ReadonlyMap<string, TokenCreator>> => {
  const makers = await rows<CreatorRow>(creatorsQuery(chain.id, addresses))
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
    readTokenRows(
      deps,
      addresses.map((address) => ({ chain: chain.id, address })),
    ),
    readTokenCreators(request, addresses),
  ])
  return [...rows.values()].map((row) =>
    metadataBody(row, chain.word, makers.get(row.token_address)),
  )
}

const tokenMetadata = defineReadRoute({
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

const multipleTokenMetadata = defineReadRoute({
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
export const tokenMetadataRoutes: readonly ChainRoute[] = [tokenMetadata, multipleTokenMetadata]
