import { Type } from 'typebox'
import { Fault } from '../../core/errors.ts'
import type { TokenStats } from '../../schemas/api/stats.ts'
import { SearchQuery, TokenPage } from '../../schemas/api/token.ts'
import { createPage, pageEnvelope } from '../queries/cursors-and-pages.ts'
import {
  readHits,
  searchFingerprint,
  type TokenHit,
  type TokenSearch,
} from '../queries/token-search.ts'
import { type StatRow, statsQuery } from '../queries/token-stats.ts'
import { splitList } from './body-values.ts'
import { parseChain, setFreshnessHeaders } from './chain-parameters.ts'
import type { RouteDeps } from './deps.ts'
import { readTokenRows, tokenKey } from './read-token-rows.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'
import { tokenBody } from './token-body.ts'
import { statsByToken } from './token-stats.ts'

const CursorPayload = Type.Object(
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
  (deps: RouteDeps): RoutePlugin =>
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
        config: pricedRoute('GET /token/search'),
      },
      async ({ query }, reply) => {
        const named = requestedChains(query, deps.chains)
        const { limit = 20, direction = 'next', cursor } = query
        const search = toTokenSearch(query, named.ids, limit)
        const codec = deps.cursors(CursorPayload, ['tokens', searchFingerprint(search)])
        const after = cursor === undefined ? undefined : codec.decode(cursor)
        if (after && BigInt(after.k) > MAX_SORT_KEY) throw new Fault('INVALID_CURSOR')
        const places =
          named.ids.length === 0
            ? []
            : await readHits(
                { ...search, after },
                async (statement) => (await deps.warehouse.query<never>(statement)).rows,
              )
        const [only] = named.ids
        if (only !== undefined && named.ids.length === 1) {
          await setFreshnessHeaders(reply, deps.freshness, only)
        }
        const pageRequest = { limit, direction, hasCursor: after !== undefined }
        const page = createPage(places, pageRequest, codec.encode)
        const [rows, stats] = await Promise.all([
          readTokenRows(deps, page.data),
          query.mode === 'normal' ? readStats(deps, page.data) : NO_STATS,
        ])
        return pageEnvelope(page, (place) => {
          const key = tokenKey(place.chain, place.address)
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
const readStats = async (
  { warehouse }: RouteDeps,
  places: readonly TokenHit[],
): Promise<ReadonlyMap<string, TokenStats>> => {
  const chains = [...new Set(places.map(({ chain }) => chain))]
  const answers = await Promise.all(
    chains.map(async (chain) => {
      const own = places.filter((place) => place.chain === chain).map(({ address }) => address)
      const { rows } = await warehouse.query<StatRow>(statsQuery(chain, own))
      return [...statsByToken(rows)].map(
        ([address, stats]) => [tokenKey(chain, address), stats] as const,
      )
    }),
  )
  return new Map(answers.flat())
}

/** Sort keys are unsigned 64-bit integers. */
const MAX_SORT_KEY = 2n ** 64n - 1n

/** Enabled chains among the wanted ones, and how the caller spells each. No wish = every enabled chain. */
const requestedChains = (query: SearchQuery, enabled: readonly string[]) => {
  const wanted = query.chain === undefined ? splitList(query.chains, 'chains') : [query.chain]
  const named = wanted.map((word) => parseChain(word, enabled))
  const words = new Map(named.map(({ id, word }) => [id, word]))
  const ids = wanted.length === 0 ? enabled : [...words.keys()].filter((id) => enabled.includes(id))
  return { ids: ids.toSorted(), words }
}

const toTokenSearch = (
  query: SearchQuery,
  chains: readonly string[],
  limit: number,
): TokenSearch => ({
  chains,
  keyword: (query.keyword ?? query.q ?? '').trim(),
  protocols: splitList(query.protocols, 'protocols'),
  sortBy: query.sortBy ?? 'relevance',
  descending: query.sortBy === undefined || query.sort?.toLowerCase() !== 'asc',
  direction: query.direction ?? 'next',
  after: undefined,
  rows: limit + 1,
})
