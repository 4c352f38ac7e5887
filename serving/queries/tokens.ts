import type { Query } from '../../core/clickhouse/client.ts'
import { burnAddressesOf } from '../../schemas/burn-addresses.ts'
import { candleSources, mergedCandle, watermarkCte } from './candle-sources.ts'

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
  /** Token units; from supply events, else from the facts. */
  readonly market_supply: string | null
  readonly market_cap_usd: number | null
  readonly market_cap_native: number | null
  /** Base units that lie at burn addresses; "" or null = none. */
  readonly burnt_amount: string | null
  /** Share of the launch curve that is sold; null for tokens that were never on one. */
  readonly curve_progress: number | null
  /** null: this token's holders are not counted. */
  readonly holders: string | null
  readonly top10: HoldingColumns | null
  readonly top50: HoldingColumns | null
  readonly top100: HoldingColumns | null
  /** By group: count, amount in base units, share of the supply. */
  readonly groups: Readonly<Record<string, HoldingColumns>>
}

/** Holders, their amount in base units, its share of the supply. */
export type HoldingColumns = readonly [count: string, amount: string, ratio: number | null]

const TOKEN_COLUMNS = `name, symbol, decimals, total_supply, uri, metadata_address, creators, toString(standard) AS standard, toString(program_address) AS program_address, mint_authority,
  freeze_authority, update_authority, is_mutable, is_native, toString(launch_program) AS launch_program,
  toString(launch_family) AS launch_family, toString(migrated_program) AS migrated_program,
  toString(migrated_family) AS migrated_family, migrated_pool,
  toUnixTimestamp64Milli(migrated_at) AS migrated_at_ms, toUnixTimestamp64Milli(created_at) AS created_at_ms,
  created_slot, created_tx`

/** What can be joined to tokens by address: each has the columns that its name says, NULL or empty where nothing is known. */
export type TokenJoin = 'price' | 'pool' | 'day' | 'market' | 'holding' | 'document' | 'burnt'

const topHolderColumns = (name: string): string =>
  `argMax((toString(${name}_holders), toString(${name}_amount), ${name}_ratio), hour) AS ${name}`

/** What the token's own document says, by the names of a row. */
const DOCUMENT_COLUMNS =
  'document.said AS description, document.image AS image_url, document.links AS social'

/** The newest hour of a token's holders. */
const HOLDING_COLUMNS = `toString(argMax(t.holders, hour)) AS holders, ${topHolderColumns('top10')}, ${topHolderColumns('top50')},
  ${topHolderColumns('top100')}, argMax(mapApply((k, v) -> (toString(k), (toString(v.1), toString(v.2), v.3)), groups), hour) AS groups`

const TOKEN_JOINS: Readonly<Record<TokenJoin, (chain: string, where: string) => string>> = {
  price: (chain, where) =>
    `SELECT token_address, nullIf(${mergedCandle('close')}, 0) AS price_usd, nullIf(${mergedCandle('close_native')}, 0) AS price_native
  FROM (${candleSources({ chain, base: '1d', where, bucket: () => '0' })}) GROUP BY token_address`,
  pool: (chain, where) =>
    `SELECT token_address, sum(liquidity_usd) AS tvl_usd, sum(liquidity_native) AS tvl_native,
  max(liquidity_usd) AS max_tvl_usd, max(liquidity_native) AS max_tvl_native, max(curve_progress) AS curve_progress
  FROM ${chain}_token_pools FINAL WHERE ${where} GROUP BY token_address`,
  market: (chain, where) =>
    `SELECT token_address, toString(total_supply) AS market_supply, market_cap_usd, market_cap_native
  FROM ${chain}_token_markets FINAL WHERE ${where}`,
  burnt: (chain, where) =>
    `SELECT token_address, toString(sum(balance)) AS burnt_amount
  FROM ${chain}_token_holders FINAL WHERE ${where} AND holder IN {burnt:Array(String)} GROUP BY token_address`,
  document: (chain, where) =>
    `SELECT token_address, description AS said, image_url AS image, social AS links
  FROM ${chain}_token_documents FINAL WHERE ${where}`,
  holding: (chain, where) =>
    `SELECT token_address, ${HOLDING_COLUMNS} FROM ${chain}_token_holdings AS t FINAL WHERE ${where} GROUP BY token_address`,
  day: (chain, where) => {
    const since = `(SELECT max(block_time) FROM ${chain}_blocks) - INTERVAL 1 DAY`
    return `SELECT token_address, sum(vu) AS volume_usd_24h, sum(n) AS trades_24h FROM (
  SELECT token_address, volume_usd AS vu, trades AS n FROM ${chain}_token_trade_stats_1m
  WHERE ${where} AND bucket < w AND bucket >= ${since}
  UNION ALL SELECT token_address, toDecimal128(ifNull(amount_usd, 0), 12) AS vu, toUInt64(1) AS n
  FROM ${chain}_dex_trades_enriched FINAL WHERE ${where} AND block_time >= w AND block_time >= ${since}
  ) GROUP BY token_address`
  },
}

/** Joins numbers to the tokens that `which` selects: last price, liquidity, the last day of block time; needs `watermark`. */
export const joinTokens = (chain: string, name: TokenJoin, which: string): string =>
  `LEFT JOIN (${TOKEN_JOINS[name](chain, `token_address IN ${which}`)}) AS ${name} USING (token_address)`

/** The given tokens of one chain with their numbers, in no order; unknown addresses are missing. */
export const tokensQuery = (chain: string, addresses: readonly string[]): Query => {
  const which = '{addresses:Array(String)}'
  return {
    sql: `WITH ${watermarkCte(chain)} SELECT '${chain}' AS chain, token_address, ${TOKEN_COLUMNS}, ${DOCUMENT_COLUMNS},
  price_usd, price_native, tvl_usd, tvl_native, max_tvl_usd, max_tvl_native, curve_progress,
  market_supply, market_cap_usd, market_cap_native, burnt_amount,
  nullIf(holders, '') AS holders, top10, top50, top100, groups
FROM (SELECT * FROM ${chain}_tokens FINAL WHERE token_address IN ${which}) AS token
${joinTokens(chain, 'price', which)}
${joinTokens(chain, 'pool', which)}
${joinTokens(chain, 'market', which)}
${joinTokens(chain, 'burnt', which)}
${joinTokens(chain, 'holding', which)}
${joinTokens(chain, 'document', which)}`,
    params: { addresses, burnt: burnAddressesOf(chain) },
  }
}
