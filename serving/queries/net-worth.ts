import type { Query } from '../../core/clickhouse/client.ts'
import { chainRow } from '../../schemas/chains.ts'
import { type KeysetList, type KeysetRow, sortableBits } from './keyset-list.ts'
import { newestRowsSql } from './newest-rows.ts'
import { valuedAmountsSql } from './valued-amounts.ts'

/** What a wallet holds of a token. */
export interface HoldingRow extends KeysetRow {
  readonly token: string
  readonly balance: string
  readonly decimals: number | null
  readonly units: number
  readonly price_usd: number | null
  readonly price_native: number | null
  readonly last_ms: string
  readonly buy_amount: string | null
  readonly sell_amount: string | null
  /** The part of what was bought whose value is known. */
  readonly valued_bought: string | null
  readonly buy_usd: string | null
  readonly realized_usd: string | null
  readonly position: number | null
  readonly position_cost_usd: string | null
}

/** Worth of one wallet. */
export interface NetWorthRow {
  readonly wallet: string
  readonly value_usd: number
  readonly value_native: number
  readonly head_ms: string
}

/** Least liquidity of a pool whose price counts for worth, USD: others hold tokens that cannot be sold. */
const MIN_LIQUIDITY_USD = 100

/** What is asked for: whose tokens, and which of them. */
export interface HoldingsRequest {
  readonly chain: string
  readonly wallets: readonly string[]
  /** undefined = every token that is held. */
  readonly tokens?: readonly string[] | undefined
  /** True: only tokens with a price and a pool that holds enough. */
  readonly trusted: boolean
}

/** Token that prices the one of a column; the native token has the price of its wrapped form. Needs `nativeTokenParams`. */
export const priceTokenSql = (column: string): string =>
  `if(${column} = {nativeToken:String}, {wrapped:String}, ${column})`

/** Price of a token in the native token at the one rate `native_usd` of an answer, so that the native token is worth exactly itself. */
const NATIVE_PRICE_SQL =
  'multiIf(h.priced_as = {wrapped:String}, 1, native_usd > 0, price.price_usd / native_usd, price.price_native)'

/** USD of the native token, as the column `native_usd`. */
const nativeRateSql = (chain: string): string =>
  `(SELECT any(price_usd) FROM ${chain}_token_prices FINAL WHERE token_address = {wrapped:String}) AS native_usd`

/** Parameters `nativeToken` and `wrapped` of a chain. */
export const nativeTokenParams = (chain: string) => {
  const row = chainRow(chain)
  return { nativeToken: row?.nativeAddress ?? '', wrapped: row?.wrappedNative ?? '' }
}

/** Those of some tokens, a SELECT of them, that a pool holds enough of, as a subquery. */
export const tradableTokens = (chain: string, tokens: string): string =>
  `SELECT token_address FROM ${chain}_token_pools FINAL WHERE token_address IN (${tokens}) AND liquidity_usd >= ${MIN_LIQUIDITY_USD}`

/** Balances with their prices and what trading brought, as a subquery `t`. */
const holdingsSubquery = ({ chain, wallets, tokens, trusted }: HoldingsRequest) => {
  const which = `holder IN {wallets:Array(String)}${tokens ? ' AND token_address IN {tokens:Array(String)}' : ' AND balance > 0'}`
  const pricedAs = `SELECT ${priceTokenSql('token_address')} FROM ${chain}_wallet_balances WHERE ${which}`
  const counts = trusted ? ` AND priced_as IN (${tradableTokens(chain, pricedAs)})` : ''
  return {
    from: `(WITH ${nativeRateSql(chain)} SELECT h.holder AS wallet, h.token_address AS token, h.balance AS balance, h.decimals AS decimals,
    h.last_ms AS last_ms, price.price_usd AS price_usd, ${NATIVE_PRICE_SQL} AS price_native,
    toFloat64(h.balance) / exp10(ifNull(h.decimals, 0)) AS units,
    units * ifNull(price.price_usd, 0) AS value_usd, units * ifNull(${NATIVE_PRICE_SQL}, 0) AS value_native,
    if(p.wallet = '', NULL, p.buy_amount) AS buy_amount, if(p.wallet = '', NULL, p.sell_amount) AS sell_amount,
    if(p.wallet = '', NULL, p.valued_bought) AS valued_bought,
    if(p.wallet = '', NULL, p.buy_amount_usd) AS buy_usd, if(p.wallet = '', NULL, p.total_realized_usd) AS realized_usd,
    if(p.wallet = '', NULL, toFloat64(p.position_amount)) AS position, if(p.wallet = '', NULL, p.position_cost_usd) AS position_cost_usd
  FROM (SELECT holder, token_address, balance, decimals, toUnixTimestamp64Milli(last_seen) AS last_ms,
      ${priceTokenSql('token_address')} AS priced_as
    FROM ${chain}_wallet_balances FINAL WHERE ${which}${counts}) AS h
  LEFT JOIN (${newestRowsSql(chain, 'token_prices', {
    key: 'token_address',
    columns: 'price_usd, price_native',
    where: `token_address IN (${pricedAs})`,
  })}) AS price ON price.token_address = h.priced_as
  LEFT JOIN (SELECT *, ${valuedAmountsSql()} FROM ${chain}_wallet_token_pnl FINAL WHERE wallet IN {wallets:Array(String)}) AS p
    ON p.wallet = h.holder AND p.token_address = h.token_address) AS t`,
    where: trusted ? ['isNotNull(t.price_usd)'] : [],
    params: { wallets, ...(tokens && { tokens }), ...nativeTokenParams(chain) },
  }
}

/** Tokens of wallets, the most valuable first. */
export const holdingList = (request: HoldingsRequest): KeysetList => ({
  ...holdingsSubquery(request),
  columns: `t.token AS token, toString(t.balance) AS balance, t.decimals AS decimals, t.units AS units,
  t.price_usd AS price_usd, t.price_native AS price_native, toString(t.last_ms) AS last_ms,
  toString(t.buy_amount) AS buy_amount, toString(t.sell_amount) AS sell_amount,
  toString(t.valued_bought) AS valued_bought, toString(t.buy_usd) AS buy_usd,
  toString(t.realized_usd) AS realized_usd, t.position AS position, toString(t.position_cost_usd) AS position_cost_usd`,
  order: [
    { sql: sortableBits('t.value_usd'), type: 'UInt64' },
    { sql: 't.token', type: 'String' },
  ],
  descending: true,
})

/** Sum of doubles that is the same to the last digit whatever the order of rows. */
export const orderedSum = (sql: string): string => `arraySum(arraySort(groupArray(${sql})))`

/** Worth of wallets over all tokens of a query; wallets without any are missing. */
export const netWorthQuery = (request: HoldingsRequest): Query => {
  const { from, where, params } = holdingsSubquery(request)
  return {
    sql: `WITH (SELECT toUnixTimestamp64Milli(max(block_time)) FROM ${request.chain}_blocks) AS head
SELECT t.wallet AS wallet, ${orderedSum('t.value_usd')} AS value_usd, ${orderedSum('t.value_native')} AS value_native, toString(any(head)) AS head_ms
FROM ${from}${where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`} GROUP BY t.wallet`,
    params,
  }
}

/** Time of the newest block. */
export const chainHeadQuery = (chain: string): Query => ({
  sql: `SELECT toString(toUnixTimestamp64Milli(max(block_time))) AS head_ms FROM ${chain}_blocks`,
})
