import type { Query } from '../../core/clickhouse/client.ts'
import { candleSources, mergedCandle, watermarkCte } from './candle-sources.ts'
import { type KeysetList, type KeysetRow, sortableBits } from './keyset-list.ts'
import { nativeTokenParams, orderedSum, priceTokenSql, tradableTokens } from './net-worth.ts'

/** Hours are counted since the epoch: hour 0 begins then. */
const HOUR_S = 3_600

/** Last known value of a balance within its group. */
const lastOf = (column: string): string =>
  `argMax(u.${column}, (u.block_slot, u.tx_index, u.event_index))`

/** Tokens of a wallet that can be sold: others have no worth, and anyone may send them. */
const heldTradable = (chain: string): string => {
  const held = `SELECT ${priceTokenSql('token_address')} FROM ${chain}_balance_updates WHERE owner = {wallet:String}`
  return `u.owner = {wallet:String} AND ${priceTokenSql('u.token_address')} IN (${tradableTokens(chain, held)})`
}

/** Ends before the end of the hour `until`. */
const endsInTime = (column: string): string =>
  `toUnixTimestamp(${column}) < ({until:Int64} + 1) * ${HOUR_S}`

/** Candle states of the prices of a wallet's tokens up to the hour `until`. */
const priceLayers = (chain: string, bucket: (column: string) => string): string =>
  candleSources({
    chain,
    base: '1h',
    where: `token_address IN (SELECT ${priceTokenSql('u.token_address')} FROM ${chain}_balance_updates AS u WHERE ${heldTradable(chain)})`,
    bucket,
    range: endsInTime,
  })

/** Worth of a wallet at the end of an hour. */
export interface HourWorthRow {
  readonly hour: string
  readonly value_usd: number
}

/**
 * Worth of a wallet at the end of each hour from `since` to `until`; hours before the wallet was first seen are missing. Tokens are added
 * up in the engine, a wallet may have very many: at most one row for each hour leaves it. A token without a price is worth nothing.
 */
export const hourWorthQuery = (
  chain: string,
  wallet: string,
  { since, until }: { readonly since: number; readonly until: number },
): Query => {
  // What is older than the first hour counts for it.
  const hourOf = (column: string): string =>
    `greatest(intDiv(toInt64(toUnixTimestamp(${column})), ${HOUR_S}), {since:Int64})`
  const balances = `SELECT u.token_address AS token, ${hourOf('u.block_time')} AS hour,
    toNullable(toFloat64(${lastOf('owner_balance')}) / exp10(ifNull(any(u.decimals), 0))) AS units, CAST(NULL, 'Nullable(Float64)') AS price
  FROM ${chain}_balance_updates AS u FINAL WHERE ${heldTradable(chain)} AND ${endsInTime('u.block_time')} GROUP BY token, hour`
  // The price of the wrapped native token is also that of the native token.
  const prices = `SELECT arrayJoin(if(token_address = {wrapped:String}, arrayDistinct([token_address, {nativeToken:String}]), [token_address])) AS token,
    b AS hour, CAST(NULL, 'Nullable(Float64)') AS units, toNullable(toFloat64(close)) AS price
  FROM (SELECT token_address, b, ${mergedCandle('close')} AS close FROM (${priceLayers(chain, hourOf)}) GROUP BY token_address, b)`
  const changes = `SELECT token, hour, max(units) AS units, max(price) AS price FROM (${balances} UNION ALL ${prices}) GROUP BY token, hour`
  // Aggregates pass over NULL: the last known amount and price of the token.
  const spans = `SELECT hour, leadInFrame(hour, 1, {until:Int64} + 1) OVER (PARTITION BY token ORDER BY hour ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next,
    anyLast(units) OVER (PARTITION BY token ORDER BY hour ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS held,
    anyLast(price) OVER (PARTITION BY token ORDER BY hour ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS last_price
  FROM (${changes})`
  return {
    sql: `WITH ${watermarkCte(chain)} SELECT toString(h) AS hour, ${orderedSum('value')} AS value_usd
FROM (SELECT arrayJoin(range(hour, next)) AS h, assumeNotNull(held) * ifNull(last_price, 0) AS value FROM (${spans}) WHERE isNotNull(held))
GROUP BY h ORDER BY h`,
    params: { wallet, since, until, ...nativeTokenParams(chain) },
  }
}

/** What was held of a token at the end of an hour. */
export interface PastHoldingRow extends KeysetRow {
  readonly token: string
  readonly balance: string
  readonly decimals: number | null
  readonly units: number
  readonly price_usd: number
}

const pastHoldingsSubquery = (chain: string): string =>
  `(SELECT h.token AS token, h.balance AS balance, h.decimals AS decimals, price.close AS price_usd,
    toFloat64(h.balance) / exp10(ifNull(h.decimals, 0)) AS units, units * price_usd AS value_usd
  FROM (SELECT u.token_address AS token, ${priceTokenSql('u.token_address')} AS priced_as, ${lastOf('owner_balance')} AS balance, any(u.decimals) AS decimals
    FROM ${chain}_balance_updates AS u FINAL WHERE ${heldTradable(chain)} AND ${endsInTime('u.block_time')} GROUP BY token, priced_as HAVING balance > 0) AS h
  INNER JOIN (SELECT token_address, ${mergedCandle('close')} AS close FROM (${priceLayers(chain, () => '0')}) GROUP BY token_address) AS price
    ON price.token_address = h.priced_as) AS t`

const pastParams = (chain: string, wallet: string, hour: number) => ({
  wallet,
  until: hour,
  ...nativeTokenParams(chain),
})

/** What a wallet held with a price at the end of an hour, the most valuable first. */
export const pastHoldingList = (chain: string, wallet: string, hour: number): KeysetList => ({
  with: watermarkCte(chain),
  columns:
    't.token AS token, toString(t.balance) AS balance, t.decimals AS decimals, t.units AS units, t.price_usd AS price_usd',
  from: pastHoldingsSubquery(chain),
  where: [],
  order: [
    { sql: sortableBits('t.value_usd'), type: 'UInt64' },
    { sql: 't.token', type: 'String' },
  ],
  descending: true,
  params: pastParams(chain, wallet, hour),
})

/** All that a wallet held at the end of an hour, added up. */
export const pastWorthQuery = (chain: string, wallet: string, hour: number): Query => ({
  sql: `WITH ${watermarkCte(chain)} SELECT ${orderedSum('t.value_usd')} AS value_usd FROM ${pastHoldingsSubquery(chain)}`,
  params: pastParams(chain, wallet, hour),
})
