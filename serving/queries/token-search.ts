import { createHash } from 'node:crypto'
import type { Query } from '../../core/clickhouse/client.ts'
import type { SearchSort } from '../../schemas/api/token.ts'
import { watermarkCte } from './candle-sources.ts'
import { joinTokens, type TokenJoin } from './tokens.ts'

/** Place of a token in a result: what a cursor carries. `k` is the sort key as an unsigned integer that grows with it. */
export interface TokenHit {
  readonly rank: number
  readonly k: string
  readonly chain: string
  readonly address: string
}

/** A search over the enabled chains. */
export interface TokenSearch {
  readonly chains: readonly string[]
  readonly keyword: string
  /** Families, compared without case and `_`; empty = any. */
  readonly protocols: readonly string[]
  readonly sortBy: SearchSort | 'relevance'
  readonly descending: boolean
  readonly direction: 'next' | 'prev'
  readonly after: TokenHit | undefined
  /** Rows to return: one more than the page tells whether there is another. */
  readonly rows: number
}

interface SortDefinition {
  /** A number that is not negative; NULL = unknown. */
  readonly sql: string
  readonly needs: TokenJoin | null
}

const UNKNOWN_SORT: SortDefinition = { sql: "CAST(NULL, 'Nullable(Float64)')", needs: null }
const LIQUIDITY_SORT: SortDefinition = { sql: 'toFloat64(tvl_usd)', needs: 'pool' }

/** Market cap sorts by price times total supply and holder count not at all: balances are not known to this build. */
const SEARCH_SORTS: Readonly<Record<TokenSearch['sortBy'], SortDefinition>> = {
  relevance: LIQUIDITY_SORT,
  liquidityInUsd: LIQUIDITY_SORT,
  marketCapInUsd: {
    sql: 'price_usd * toFloat64(total_supply) / exp10(decimals)',
    needs: 'price',
  },
  priceInUsd: { sql: 'price_usd', needs: 'price' },
  holderCount: UNKNOWN_SORT,
  h24VolumeInUsd: { sql: 'toFloat64(volume_usd_24h)', needs: 'day' },
  h24Transactions: { sql: 'toFloat64(trades_24h)', needs: 'day' },
  tokenCreatedAt: {
    sql: 'nullIf(toFloat64(toUnixTimestamp64Milli(created_at)), 0)',
    needs: null,
  },
}

/**
 * A double that is not negative, as the unsigned integer of its bits: the same order, exact in a cursor. Ascending is
 * the complement, so that every search reads downwards; unknown is last either way.
 */
const sortKeySql = ({ sortBy, descending }: TokenSearch): string => {
  const bits = `reinterpretAsUInt64(${SEARCH_SORTS[sortBy].sql})`
  return `ifNull(${descending ? `${bits} + 1` : `bitNot(${bits})`}, 0)`
}

/** How well a token fits: address, symbol, name, beginning, anywhere inside. ASCII letters match in both cases. */
const RANK_SQL = `multiIf(token_address IN ({keyword:String}, {lower:String}), 5, lower(symbol) = {lower:String}, 4,
  lower(name) = {lower:String}, 3, startsWith(lower(symbol), {lower:String}) OR startsWith(lower(name), {lower:String}), 2, 1)`

const MATCH_SQL = `(token_address IN ({keyword:String}, {lower:String}) OR lower(symbol) LIKE {like:String} OR lower(name) LIKE {like:String})`

const familyFilter = (chain: string, found: string): string =>
  `token_address IN (SELECT token_address FROM ${chain}_token_pools FINAL
  WHERE ${found === '' ? '' : `${found} AND `}replaceAll(lower(protocol_family), '_', '') IN {families:Array(String)})`

/** ASCII lower case, as ClickHouse's `lower` does: other letters keep their case. */
const asciiLower = (text: string): string => text.replace(/[A-Z]/g, (c) => c.toLowerCase())

const likePattern = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** Tokens that may fit, by chain. */
export type TokenMatches = ReadonlyMap<string, readonly string[]>

const matchesParameter = (chain: string): string => `matches_${chain}`

/** Places of one chain's tokens that fit. The numbers are joined for what is sorted by, not for what is shown. */
const hitsSubquery = (chain: string, search: TokenSearch, matches: TokenMatches | null): string => {
  const found = matches?.has(chain)
    ? `token_address IN {${matchesParameter(chain)}:Array(String)}`
    : ''
  const condition =
    [
      ...(found === '' ? [] : [found]),
      ...(search.keyword === '' ? [] : [MATCH_SQL]),
      ...(search.protocols.length === 0 ? [] : [familyFilter(chain, found)]),
    ].join(' AND ') || '1'
  const rank = search.keyword !== '' && search.sortBy === 'relevance' ? RANK_SQL : '0'
  const { needs } = SEARCH_SORTS[search.sortBy]
  const fitting =
    found === ''
      ? `(SELECT token_address FROM ${chain}_tokens FINAL WHERE ${condition})`
      : `{${matchesParameter(chain)}:Array(String)}`
  return `SELECT * FROM (WITH ${watermarkCte(chain)}
  SELECT '${chain}' AS chain, token_address AS address, toUInt8(${rank}) AS rank, ${sortKeySql(search)} AS k
  FROM (SELECT * FROM ${chain}_tokens FINAL WHERE ${condition}) AS token
  ${needs === null ? '' : joinTokens(chain, needs, fitting)})`
}

/** Matches up to which a search reads their rows alone, over all chains. */
const MAX_KNOWN_MATCHES = 500
/** Most bytes of them as a parameter in a URL: a ClickHouse server takes 128 KiB. */
const MAX_MATCH_BYTES = 100_000
/** Of the encoded quotes and comma around each. */
const SEPARATOR_BYTES = 9

const encodedBytes = (rows: readonly MatchRow[]): number =>
  rows.reduce((sum, { address }) => sum + encodeURIComponent(address).length + SEPARATOR_BYTES, 0)

/** Row of `matchesQuery`. */
export interface MatchRow {
  readonly chain: string
  readonly address: string
}

/**
 * Tokens whose name, symbol or address fits in any row that is stored, the newest or one before it, some more than are read by themselves. To find
 * the newest row of every token takes several times as long.
 */
export const matchesQuery = ({ chains, keyword }: TokenSearch): Query => {
  const lower = asciiLower(keyword)
  const each = chains.map(
    (chain) =>
      `SELECT '${chain}' AS chain, token_address AS address FROM ${chain}_tokens WHERE ${MATCH_SQL}`,
  )
  return {
    sql: `SELECT chain, address FROM (${each.join('\nUNION ALL ')}) LIMIT ${MAX_KNOWN_MATCHES + 1}`,
    params: { keyword, lower, like: likePattern(lower) },
  }
}

/** Matches by chain, or null where they are too many to be read by themselves. */
export const toMatches = (search: TokenSearch, rows: readonly MatchRow[]): TokenMatches | null => {
  if (rows.length > MAX_KNOWN_MATCHES || encodedBytes(rows) > MAX_MATCH_BYTES) return null
  const ofChain = (chain: string) =>
    rows.filter((row) => row.chain === chain).map(({ address }) => address)
  return new Map(search.chains.map((chain) => [chain, [...new Set(ofChain(chain))]]))
}

/**
 * The places behind `after` in the wanted direction; for `prev` they come in reverse. One statement for all chains. `matches`: what `matchesQuery`
 * found, null to search every token.
 */
export const searchQuery = (search: TokenSearch, matches: TokenMatches | null): Query => {
  const { chains, keyword, protocols, after, direction, rows } = search
  const lower = asciiLower(keyword)
  const [down, up, before, behind] =
    direction === 'next' ? ['DESC', 'ASC', '<', '>'] : ['ASC', 'DESC', '>', '<']
  const keyset = `WHERE (rank, k) ${before} ({rank:UInt8}, {k:UInt64})
  OR (rank, k) = ({rank:UInt8}, {k:UInt64}) AND (chain, address) ${behind} ({chain:String}, {address:String})`
  return {
    sql: `SELECT chain, address, rank, k FROM (
${chains.map((chain) => hitsSubquery(chain, search, matches)).join('\nUNION ALL\n')}
) ${after ? keyset : ''} ORDER BY rank ${down}, k ${down}, chain ${up}, address ${up} LIMIT {rows:UInt32}`,
    params: {
      keyword,
      lower,
      like: likePattern(lower),
      families: protocols.map((family) => asciiLower(family).replaceAll('_', '')),
      rows,
      ...after,
      ...Object.fromEntries(
        [...(matches ?? [])].map(([chain, addresses]) => [matchesParameter(chain), addresses]),
      ),
    },
  }
}

/** Places of a search, by one statement or, where it has a keyword, by two. */
export const readHits = async (
  search: TokenSearch,
  query: <Row>(statement: Query) => Promise<readonly Row[]>,
): Promise<readonly TokenHit[]> => {
  const matches =
    search.keyword === '' ? null : toMatches(search, await query<MatchRow>(matchesQuery(search)))
  return query<TokenHit>(searchQuery(search, matches))
}

/** Short fingerprint of what a search asks: a cursor of another search is refused. */
export const searchFingerprint = ({
  chains,
  keyword,
  protocols,
  sortBy,
  descending,
}: TokenSearch): string =>
  createHash('sha256')
    .update(JSON.stringify([chains, keyword, protocols, sortBy, descending]))
    .digest('base64url')
    .slice(0, 8)
