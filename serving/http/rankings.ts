import { Type } from 'typebox'
import type { Query } from '../../core/clickhouse/client.ts'
import { RESOLUTIONS } from '../../core/time.ts'
import {
  HOT_WINDOWS,
  LIST_BOUNDS,
  RANKING_QUERY,
  TOKEN_LIST_QUERY,
  TOKEN_MULTI_QUERY,
} from '../../schemas/api/ranking.ts'
import { Token } from '../../schemas/api/token.ts'
import type { KeysetRow } from '../queries/keyset-list.ts'
import { hotTokensQuery, type RankingName, rankingQuery, tokenList } from '../queries/token-list.ts'
import { isDescending } from './body-values.ts'
import {
  type ChainRequest,
  type ChainRoute,
  definePageRoute,
  defineReadRoute,
} from './chain-route.ts'
import { readTokens } from './read-tokens.ts'
import {
  createRankingFilter,
  parseLookupFilters,
  type RankingFilter,
  sortTokens,
} from './token-filters.ts'

/** Tokens of a ranking. */
const MAX_RANKED_TOKENS = 100

/** Reads a ranking: its candidates in their order, narrowed, cut, and then sorted as asked. */
const readRanking = async (
  request: ChainRequest<object, object>,
  query: Query,
): Promise<Token[]> => {
  const filter = request.query as RankingFilter
  const narrow = createRankingFilter(filter)
  const found = await request.rows<{ readonly token_address: string }>(query)
  const tokens = await readTokens(
    request,
    found.map(({ token_address }) => token_address),
  )
  const kept = narrow(tokens).slice(0, MAX_RANKED_TOKENS)
  return [...sortTokens(kept, filter.sortBy, filter.sortDirection)]
}

const rankingRoute = (name: RankingName, path: RankingPath, summary: string): ChainRoute =>
  defineReadRoute({
    path,
    summary,
    tag: 'ranking',
    params: {},
    query: RANKING_QUERY,
    response: Type.Array(Token),
    absent: 'list',
    answer: (request) => readRanking(request, rankingQuery(request.chain.id, name)),
  })

type RankingPath = `/ranking/:chain/${
  | 'newTokens'
  | 'newtokens'
  | 'finalStretch'
  | 'finalstretch'
  | 'migrated'}`

const HOT_WINDOW_MS = { ...RESOLUTIONS, '24h': RESOLUTIONS['1d'] }

const hotTokensRoute = (segment: 'hotTokens' | 'hottokens'): ChainRoute =>
  defineReadRoute({
    path: `/ranking/:chain/${segment}/:duration`,
    summary: 'Tokens with the largest volume in a window',
    tag: 'ranking',
    params: { duration: Type.Enum(HOT_WINDOWS) },
    query: RANKING_QUERY,
    response: Type.Array(Token),
    absent: 'list',
    answer: (request) => {
      const { duration } = request.params
      return readRanking(
        request,
        hotTokensQuery(request.chain.id, duration, HOT_WINDOW_MS[duration]),
      )
    },
  })

/** No list of tokenized stocks is configured: the ranking is empty, its parameters are checked. */
const stockRanking = defineReadRoute({
  path: '/ranking/:chain/stocks',
  summary: 'Tokenized stocks; this installation lists none',
  tag: 'ranking',
  params: {},
  query: RANKING_QUERY,
  response: Type.Array(Token),
  absent: 'list',
  answer: async ({ query }) => {
    createRankingFilter(query as RankingFilter)
    return []
  },
})

const tokenListRoute = definePageRoute({
  path: '/token/:chain/list',
  summary: 'Tokens with trades on the last day, by a number of a window',
  tag: 'token',
  params: {},
  query: TOKEN_LIST_QUERY,
  item: Token,
  list: ({ chain, query }) => {
    const given = query as Readonly<Record<string, string | undefined>>
    const bounds = LIST_BOUNDS.flatMap(({ parameter }) =>
      given[parameter] === undefined ? [] : [[parameter, given[parameter]] as const],
    )
    return tokenList(chain.id, {
      sortBy: given.sortBy ?? 'h24VolumeInUsd',
      descending: isDescending(given.sort),
      bounds: Object.fromEntries(bounds),
    })
  },
  bodies: (rows: readonly (KeysetRow & { readonly token_address: string })[], request) =>
    readTokens(
      request,
      rows.map(({ token_address }) => token_address),
    ),
})

const multipleTokens = defineReadRoute({
  path: '/token/:chain/multi',
  summary: 'Several tokens with everything known of them; unknown ones are missing',
  tag: 'token',
  params: {},
  query: TOKEN_MULTI_QUERY,
  response: Type.Array(Token),
  absent: 'list',
  answer: async (request) => {
    const { query } = request
    const tests = parseLookupFilters(query.filterBy)
    const tokens = await readTokens(request, request.addresses('tokenAddresses'))
    const kept = tokens.filter((token) => tests.every((test) => test(token)))
    return [...sortTokens(kept, query.sortBy, query.sortDirection)]
  },
})

/** Tokens by what they do: rankings, the list, and look-ups of several. */
export const rankingRoutes: readonly ChainRoute[] = [
  hotTokensRoute('hotTokens'),
  hotTokensRoute('hottokens'),
  rankingRoute('newTokens', '/ranking/:chain/newTokens', 'The newest tokens'),
  rankingRoute('newTokens', '/ranking/:chain/newtokens', 'The newest tokens'),
  rankingRoute('finalStretch', '/ranking/:chain/finalStretch', 'Launches that are nearly sold'),
  rankingRoute('finalStretch', '/ranking/:chain/finalstretch', 'Launches that are nearly sold'),
  rankingRoute('migrated', '/ranking/:chain/migrated', 'Launches that migrated, newest first'),
  ...[stockRanking, tokenListRoute, multipleTokens],
]
