import { createHash } from 'node:crypto'
import type { Query } from '../../core/warehouse.ts'
import type { SearchSort } from '../../schemas/api/token.ts'
import { candleLayers, watermark } from './layers.ts'

/** A token with its numbers as the warehouse answers it; the columns of `{chain}_tokens` keep their names. */
export interface TokenRow {
  readonly chain: string
  readonly token_address: string
  readonly name: string
  readonly symbol: string
  readonly decimals: number | null
  readonly total_supply: string | null
  readonly uri: string
  readonly metadata_address: string
  readonly description: string
  readonly image_url: string
  readonly social: Readonly<Record<string, string>>
  readonly creators: readonly {
    readonly address: string
    readonly verified: number
    readonly share: number
  }[]
  readonly standard: string
  readonly program_address: string
  readonly mint_authority: string
  readonly freeze_authority: string
  readonly update_authority: string
  readonly is_mutable: number
  readonly is_native: number
  readonly launch_program: string
  readonly launch_family: string
  readonly migrated_program: string
  readonly migrated_family: string
  readonly migrated_pool: string
  readonly migrated_at_ms: string | null
  readonly created_at_ms: string
  readonly created_slot: string
  readonly created_tx: string
  readonly price_usd: number | null
  readonly price_native: number | null
  readonly tvl_usd: string | null
  readonly tvl_native: string | null
  readonly max_tvl_usd: string | null
  readonly max_tvl_native: string | null
  readonly volume_usd_24h: string
  readonly trades_24h: string
  readonly rank: number
  /** Sort key as an unsigned integer that grows with the value. */
  readonly k: string
}

/** Place of a row in a result: what a cursor carries. */
export interface TokenPlace {
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
  readonly after: TokenPlace | undefined
  /** Rows to return: one more than the page tells whether there is another. */
  readonly rows: number
}

const TOKEN_COLUMNS = `name, symbol, decimals, total_supply, uri, metadata_address, description, image_url, social,
  creators, toString(standard) AS standard, toString(program_address) AS program_address, mint_authority,
  freeze_authority, update_authority, is_mutable, is_native, toString(launch_program) AS launch_program,
  toString(launch_family) AS launch_family, toString(migrated_program) AS migrated_program,
  toString(migrated_family) AS migrated_family, migrated_pool,
  toUnixTimestamp64Milli(migrated_at) AS migrated_at_ms, toUnixTimestamp64Milli(created_at) AS created_at_ms,
  created_slot, created_tx`

/** Last price, liquidity and the last day of block time of the tokens that `which` selects. */
const numbers = (chain: string, which: string): string => {
  const where = `token_address IN (${which})`
  const layers = candleLayers({ chain, base: '1d', where, bucket: () => '0' })
  const day = `(SELECT max(block_time) FROM ${chain}_blocks) - INTERVAL 1 DAY`
  const pair = `ARRAY JOIN [token_a, token_b] AS token_address`
  return `LEFT JOIN (SELECT token_address, argMaxMerge(c) AS usd, argMaxMerge(cnv) AS native FROM (${layers})
  GROUP BY token_address) AS price USING (token_address)
LEFT JOIN (SELECT token_address, sum(liquidity_usd) AS tvl_usd, sum(liquidity_native) AS tvl_native,
  max(liquidity_usd) AS max_tvl_usd, max(liquidity_native) AS max_tvl_native
  FROM ${chain}_dex_pools FINAL ${pair} WHERE ${where} GROUP BY token_address) AS pool USING (token_address)
LEFT JOIN (SELECT token_address, sum(vu) AS volume_usd_24h, sum(n) AS trades_24h FROM (
  SELECT token_address, volume_usd AS vu, trades AS n FROM ${chain}_token_trade_stats_1m
  WHERE ${where} AND bucket < w AND bucket >= ${day}
  UNION ALL SELECT token_address, toDecimal128(ifNull(amount_usd, 0), 12) AS vu, toUInt64(1) AS n
  FROM ${chain}_dex_trades_enriched FINAL WHERE ${where} AND block_time >= w AND block_time >= ${day}
  ) GROUP BY token_address) AS day USING (token_address)`
}

/** One chain's tokens that `condition` selects, with their numbers and `rank`. */
const tokensOf = (chain: string, condition: string, rank: string): string =>
  `SELECT '${chain}' AS chain, token_address, ${TOKEN_COLUMNS},
  nullIf(price.usd, 0) AS price_usd, nullIf(price.native, 0) AS price_native, pool.tvl_usd AS tvl_usd,
  pool.tvl_native AS tvl_native, pool.max_tvl_usd AS max_tvl_usd, pool.max_tvl_native AS max_tvl_native,
  day.volume_usd_24h AS volume_usd_24h, day.trades_24h AS trades_24h, ${rank} AS rank
FROM (SELECT * FROM ${chain}_tokens FINAL WHERE ${condition}) AS token
${numbers(chain, `SELECT token_address FROM ${chain}_tokens FINAL WHERE ${condition}`)}`

/** One token, or no row. */
export const tokenQuery = (chain: string, address: string): Query => ({
  sql: `WITH ${watermark(chain)} SELECT *, '0' AS k FROM (${tokensOf(chain, 'token_address = {address:String}', '0')})`,
  params: { address },
})

/** Sort keys as numbers; NULL is unknown. Market cap sorts by price times total supply: circulating supply is not known. */
const SORT_SQL: Readonly<Record<SearchSort | 'relevance', string>> = {
  relevance: 'toFloat64(tvl_usd)',
  marketCapInUsd: 'price_usd * toFloat64(total_supply) / exp10(decimals)',
  liquidityInUsd: 'toFloat64(tvl_usd)',
  priceInUsd: 'price_usd',
  holderCount: "CAST(NULL, 'Nullable(Float64)')",
  h24VolumeInUsd: 'toFloat64(volume_usd_24h)',
  h24Transactions: 'toFloat64(trades_24h)',
  tokenCreatedAt: 'if(created_at_ms = 0, NULL, toFloat64(created_at_ms))',
}

/**
 * A double that is not negative, as the unsigned integer of its bits: the same order, exact in a cursor. Ascending is
 * the complement, so that every search reads downwards; unknown is last either way.
 */
const keySql = ({ sortBy, descending }: TokenSearch): string => {
  const bits = `reinterpretAsUInt64(${SORT_SQL[sortBy]})`
  return `ifNull(${descending ? `${bits} + 1` : `bitNot(${bits})`}, 0)`
}

/** How well a token fits: address, symbol, name, beginning, anywhere inside. ASCII letters match in both cases. */
const RANK = `multiIf(token_address IN ({keyword:String}, {lower:String}), 5, lower(symbol) = {lower:String}, 4,
  lower(name) = {lower:String}, 3, startsWith(lower(symbol), {lower:String}) OR startsWith(lower(name), {lower:String}), 2, 1)`

const MATCH = `(token_address IN ({keyword:String}, {lower:String}) OR lower(symbol) LIKE {like:String} OR lower(name) LIKE {like:String})`

const familyFilter = (chain: string): string =>
  `token_address IN (SELECT arrayJoin([token_a, token_b]) FROM ${chain}_dex_pools FINAL
  WHERE replaceAll(lower(protocol_family), '_', '') IN {families:Array(String)})`

/** ASCII lower case, as ClickHouse's `lower` does: other letters keep their case. */
const asciiLower = (text: string): string => text.replace(/[A-Z]/g, (c) => c.toLowerCase())

const likeOf = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** The rows behind `after` in the wanted direction; for `prev` they come in reverse. One statement for all chains. */
export const searchQuery = (search: TokenSearch): Query => {
  const { chains, keyword, protocols, after, direction, rows } = search
  const lower = asciiLower(keyword)
  const parts = chains.map((chain) => {
    const conditions = [
      ...(keyword === '' ? [] : [MATCH]),
      ...(protocols.length === 0 ? [] : [familyFilter(chain)]),
    ]
    const rank = keyword !== '' && search.sortBy === 'relevance' ? RANK : '0'
    return `SELECT * FROM (WITH ${watermark(chain)} ${tokensOf(chain, conditions.join(' AND ') || '1', `toUInt8(${rank})`)})`
  })
  const [down, up, before, behind] =
    direction === 'next' ? ['DESC', 'ASC', '<', '>'] : ['ASC', 'DESC', '>', '<']
  const place = `(rank, k) = ({rank:UInt8}, {k:UInt64})`
  const keyset = `WHERE (rank, k) ${before} ({rank:UInt8}, {k:UInt64})
  OR (${place} AND (chain, token_address) ${behind} ({chain:String}, {address:String}))`
  return {
    sql: `SELECT * FROM (SELECT *, ${keySql(search)} AS k FROM (${parts.join('\nUNION ALL\n')}))
${after ? keyset : ''} ORDER BY rank ${down}, k ${down}, chain ${up}, token_address ${up} LIMIT {rows:UInt32}`,
    params: {
      keyword,
      lower,
      like: likeOf(lower),
      families: protocols.map((family) => asciiLower(family).replaceAll('_', '')),
      rows,
      ...after,
    },
  }
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
