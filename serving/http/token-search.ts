import { Type } from 'typebox'
import { Fault } from '../../core/errors.ts'
import type { TokenStats } from '../../schemas/api/stats.ts'
import { SearchQuery, TokenPage } from '../../schemas/api/token.ts'
import { envelope, pageFrom } from '../queries/cursor.ts'
import {
  searchFingerprint,
  searchQuery,
  type TokenPlace,
  type TokenSearch,
} from '../queries/token-search.ts'
import { type StatRow, statsQuery } from '../queries/token-stats.ts'
import { chainOf, stampFreshness } from './chain.ts'
import type { RouteDeps } from './deps.ts'
import { type Family, priced } from './routing.ts'
import { tokenBody } from './token-body.ts'
import { keyOf, rowsOf } from './token-rows.ts'
import { statsByToken } from './token-stats.ts'
import { wordsOf } from './values.ts'

const Place = Type.Object(
  {
    rank: Type.Integer({ minimum: 0, maximum: 5 }),
    k: Type.String({ pattern: '^\\d{1,20}$' }),
    chain: Type.String({ maxLength: 16 }),
    address: Type.String({ maxLength: 256 }),
  },
  { additionalProperties: false },
)

/** Token search. */
export const tokenSearchRoutes =
  (deps: RouteDeps): Family =>
  async (app) => {
    app.get(
      '/token/search',
      {
        schema: {
          summary: 'Finds tokens by address, symbol or name',
          tags: ['token'],
          querystring: SearchQuery,
          response: { 200: TokenPage },
        },
        config: priced('GET /token/search'),
      },
      async ({ query }, reply) => {
        const named = chainsOf(query, deps.chains)
        const { limit = 20, direction = 'next', cursor } = query
        const search = searchOf(query, named.ids, limit)
        const codec = deps.cursors(Place, ['tokens', searchFingerprint(search)])
        const after = cursor === undefined ? undefined : codec.decode(cursor)
        if (after && BigInt(after.k) > MAX_KEY) throw new Fault('INVALID_CURSOR')
        const places = named.ids.length === 0 ? [] : await placesOf(deps, { ...search, after })
        const [only] = named.ids
        if (only !== undefined && named.ids.length === 1) {
          await stampFreshness(reply, deps.freshness, only)
        }
        const asked = { limit, direction, hasCursor: after !== undefined }
        const page = pageFrom(places, asked, codec.encode)
        const [rows, stats] = await Promise.all([
          rowsOf(deps, page.data),
          query.mode === 'normal' ? statsOf(deps, page.data) : NO_STATS,
        ])
        return envelope(page, (place) => {
          const key = keyOf(place.chain, place.address)
          const row = rows.get(key)
          const word = named.words.get(place.chain) ?? place.chain
          const extras = { score: place.rank, stats: stats.get(key) }
          return row ? [tokenBody(row, word, extras)] : []
        })
      },
    )
  }

const NO_STATS: ReadonlyMap<string, TokenStats> = new Map()

/** Statistics of tokens of several chains, by chain and address; one statement per chain. */
const statsOf = async (
  { warehouse }: RouteDeps,
  places: readonly TokenPlace[],
): Promise<ReadonlyMap<string, TokenStats>> => {
  const chains = [...new Set(places.map(({ chain }) => chain))]
  const answers = await Promise.all(
    chains.map(async (chain) => {
      const own = places.filter((place) => place.chain === chain).map(({ address }) => address)
      const { rows } = await warehouse.query<StatRow>(statsQuery(chain, own))
      return [...statsByToken(rows)].map(
        ([address, stats]) => [keyOf(chain, address), stats] as const,
      )
    }),
  )
  return new Map(answers.flat())
}

/** Sort keys are unsigned 64-bit integers. */
const MAX_KEY = 2n ** 64n - 1n

const placesOf = async (
  { warehouse }: RouteDeps,
  search: TokenSearch,
): Promise<readonly TokenPlace[]> => (await warehouse.query<TokenPlace>(searchQuery(search))).rows

/** Enabled chains among the wanted ones, and how the caller spells each. No wish = every enabled chain. */
const chainsOf = (query: SearchQuery, enabled: readonly string[]) => {
  const wanted = query.chain === undefined ? wordsOf(query.chains) : [query.chain]
  const named = wanted.map((word) => chainOf(word, enabled))
  const words = new Map(named.map(({ id, word }) => [id, word]))
  const ids = wanted.length === 0 ? enabled : [...words.keys()].filter((id) => enabled.includes(id))
  return { ids: ids.toSorted(), words }
}

const searchOf = (query: SearchQuery, chains: readonly string[], limit: number): TokenSearch => ({
  chains,
  keyword: (query.keyword ?? query.q ?? '').trim(),
  protocols: wordsOf(query.protocols),
  sortBy: query.sortBy ?? 'relevance',
  descending: query.sortBy === undefined || query.sort?.toLowerCase() !== 'asc',
  direction: query.direction ?? 'next',
  after: undefined,
  rows: limit + 1,
})
