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
import type { Placed } from '../queries/keyset.ts'
import { hotTokensQuery, type RankingName, rankingQuery, tokenList } from '../queries/token-list.ts'
import { type ChainRequest, type ChainRoute, chainPage, chainRead } from './chain-route.ts'
import { tokenBodies } from './token-bodies.ts'
import { lookupTests, type RankingFilter, rankingFilter, sortTokens } from './token-filters.ts'
import { isDescending } from './values.ts'

/** Tokens of a ranking. */
const MOST_RANKED = 100

/** Reads a ranking: its candidates in their order, narrowed, cut, and then sorted as asked. */
const ranked = async (request: ChainRequest<object, object>, query: Query): Promise<Token[]> => {
  const filter = request.query as RankingFilter
  const narrow = rankingFilter(filter)
  const found = await request.rows<{ readonly token_address: string }>(query)
  const tokens = await tokenBodies(
    request,
    found.map(({ token_address }) => token_address),
  )
  const kept = narrow(tokens).slice(0, MOST_RANKED)
  return [...sortTokens(kept, filter.sortBy, filter.sortDirection)]
}

const ranking = (name: RankingName, path: RankingPath, summary: string): ChainRoute =>
  chainRead({
    path,
    summary,
    tag: 'ranking',
    params: {},
    query: RANKING_QUERY,
    response: Type.Array(Token),
    absent: 'list',
    answer: (request) => ranked(request, rankingQuery(request.chain.id, name)),
  })

type RankingPath = `/ranking/:chain/${
  | 'newTokens'
  | 'newtokens'
  | 'finalStretch'
  | 'finalstretch'
  | 'migrated'}`

const HOT_MS = { ...RESOLUTIONS, '24h': RESOLUTIONS['1d'] }

const hotTokens = (segment: 'hotTokens' | 'hottokens'): ChainRoute =>
  chainRead({
    path: `/ranking/:chain/${segment}/:duration`,
    summary: 'Tokens with the largest volume in a window',
    tag: 'ranking',
    params: { duration: Type.Enum(HOT_WINDOWS) },
    query: RANKING_QUERY,
    response: Type.Array(Token),
    absent: 'list',
    answer: (request) => {
      const { duration } = request.params
      return ranked(request, hotTokensQuery(request.chain.id, duration, HOT_MS[duration]))
    },
  })

/** No list of tokenized stocks is configured: the ranking is empty, its parameters are checked. */
const stocks = chainRead({
  path: '/ranking/:chain/stocks',
  summary: 'Tokenized stocks; this installation lists none',
  tag: 'ranking',
  params: {},
  query: RANKING_QUERY,
  response: Type.Array(Token),
  absent: 'list',
  answer: async ({ query }) => {
    rankingFilter(query as RankingFilter)
    return []
  },
})

const list = chainPage({
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
  bodies: (rows: readonly (Placed & { readonly token_address: string })[], request) =>
    tokenBodies(
      request,
      rows.map(({ token_address }) => token_address),
    ),
})

const multi = chainRead({
  path: '/token/:chain/multi',
  summary: 'Several tokens with everything known of them; unknown ones are missing',
  tag: 'token',
  params: {},
  query: TOKEN_MULTI_QUERY,
  response: Type.Array(Token),
  absent: 'list',
  answer: async (request) => {
    const { query } = request
    const tests = lookupTests(query.filterBy)
    const tokens = await tokenBodies(request, request.addresses('tokenAddresses'))
    const kept = tokens.filter((token) => tests.every((test) => test(token)))
    return [...sortTokens(kept, query.sortBy, query.sortDirection)]
  },
})

/** Tokens by what they do: rankings, the list, and look-ups of several. */
export const rankingRoutes: readonly ChainRoute[] = [
  hotTokens('hotTokens'),
  hotTokens('hottokens'),
  ranking('newTokens', '/ranking/:chain/newTokens', 'The newest tokens'),
  ranking('newTokens', '/ranking/:chain/newtokens', 'The newest tokens'),
  ranking('finalStretch', '/ranking/:chain/finalStretch', 'Launches that are nearly sold'),
  ranking('finalStretch', '/ranking/:chain/finalstretch', 'Launches that are nearly sold'),
  ranking('migrated', '/ranking/:chain/migrated', 'Launches that migrated, newest first'),
  ...[stocks, list, multi],
]
