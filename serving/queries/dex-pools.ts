import type { Query } from '../../core/clickhouse/client.ts'
import { normalizeQueryTime } from '../../core/time.ts'
import { type KeysetList, type KeysetRow, POSITION_ORDER } from './keyset-list.ts'
import { newestRowsSql } from './newest-rows.ts'

/** A pool with its reserves in base units and the last prices of its tokens. */
export interface PoolRow {
  readonly pool: string
  readonly token_a: string
  readonly token_b: string
  readonly program: string
  readonly protocol: string
  readonly family: string
  readonly decimals_a: number | null
  readonly decimals_b: number | null
  readonly base_is_a: number
  readonly reserve_a: string | null
  readonly reserve_b: string | null
  readonly liquidity_usd: string | null
  readonly liquidity_native: string | null
  readonly price_a_usd: number | null
  readonly price_a_native: number | null
  readonly price_b_usd: number | null
  readonly price_b_native: number | null
  /** "0" where the making of the pool was not seen. */
  readonly created_ms: string
  readonly creator: string
}

/** Prices of one leg of the pools that `which` selects. */
const legPriceSql = (chain: string, leg: 'token_a' | 'token_b', which: string): string =>
  newestRowsSql(chain, 'token_prices', {
    key: 'token_address',
    columns: 'price_usd, price_native',
    where: `token_address IN (SELECT ${leg} FROM ${chain}_dex_pools WHERE ${which})`,
  })

/** Pools that `which` selects, as a subquery `t`. */
const poolsSubquery = (
  chain: string,
  which: string,
): string => `(SELECT p.pool_address AS pool, p.token_a AS token_a, p.token_b AS token_b,
    p.program AS program, p.protocol AS protocol, p.family AS family, p.decimals_a AS decimals_a, p.decimals_b AS decimals_b,
    p.base_is_a AS base_is_a, p.reserve_a AS reserve_a, p.reserve_b AS reserve_b,
    p.liquidity_usd AS liquidity_usd, p.liquidity_native AS liquidity_native,
    a.price_usd AS price_a_usd, a.price_native AS price_a_native, b.price_usd AS price_b_usd, b.price_native AS price_b_native,
    m.created_ms AS created_ms, m.creator AS creator
  FROM (SELECT pool_address, token_a, token_b, toString(program_address) AS program, toString(protocol_name) AS protocol,
      toString(protocol_family) AS family, decimals_a, decimals_b, base_is_a, reserve_a, reserve_b, liquidity_usd, liquidity_native
    FROM ${chain}_dex_pools FINAL WHERE ${which}) AS p
  LEFT JOIN (${legPriceSql(chain, 'token_a', which)}) AS a ON a.token_address = p.token_a
  LEFT JOIN (${legPriceSql(chain, 'token_b', which)}) AS b ON b.token_address = p.token_b
  LEFT JOIN (${newestRowsSql(chain, 'dex_pool_births', {
    key: 'pool_address',
    columns: 'toUnixTimestamp64Milli(created_at) AS created_ms, creator',
    where: `pool_address IN (SELECT pool_address FROM ${chain}_dex_pools WHERE ${which})`,
  })}) AS m ON m.pool_address = p.pool_address) AS t`

const POOL_COLUMNS = `t.pool AS pool, t.token_a AS token_a, t.token_b AS token_b, t.program AS program, t.protocol AS protocol, t.family AS family,
  t.decimals_a AS decimals_a, t.decimals_b AS decimals_b, t.base_is_a AS base_is_a, toString(t.reserve_a) AS reserve_a,
  toString(t.reserve_b) AS reserve_b, toString(t.liquidity_usd) AS liquidity_usd, toString(t.liquidity_native) AS liquidity_native,
  t.price_a_usd AS price_a_usd, t.price_a_native AS price_a_native, t.price_b_usd AS price_b_usd, t.price_b_native AS price_b_native,
  toString(t.created_ms) AS created_ms, t.creator AS creator`

/** The given pools, in no order; unknown ones are missing. */
export const poolsQuery = (chain: string, pools: readonly string[]): Query => ({
  sql: `SELECT ${POOL_COLUMNS} FROM ${poolsSubquery(chain, 'pool_address IN {pools:Array(String)}')}`,
  params: { pools },
})

/** What narrows a token's pools; bounds inclusive, decimal text. */
export interface TokenPoolFilter {
  readonly sortBy?: 'tvlInSol' | 'tvlInUsd' | undefined
  readonly minTvlInSol?: string | undefined
  readonly maxTvlInSol?: string | undefined
  readonly minTvlInUsd?: string | undefined
  readonly maxTvlInUsd?: string | undefined
}

const TVL_BOUNDS = [
  ['minTvlInSol', 't.liquidity_native >='],
  ['maxTvlInSol', 't.liquidity_native <='],
  ['minTvlInUsd', 't.liquidity_usd >='],
  ['maxTvlInUsd', 't.liquidity_usd <='],
] as const

/** Place of a pool in a list. */
export interface PoolPlaceRow extends KeysetRow {
  readonly pool: string
}

/** Addresses of a token's pools by their liquidity; unknown liquidity counts as less than none. */
export const tokenPoolsList = (
  chain: string,
  token: string,
  filter: TokenPoolFilter,
  descending: boolean,
): KeysetList => {
  const bounds = TVL_BOUNDS.filter(([name]) => filter[name] !== undefined)
  const column = filter.sortBy === 'tvlInSol' ? 't.liquidity_native' : 't.liquidity_usd'
  return {
    columns: 't.pool AS pool',
    from: `(SELECT pool_address AS pool, liquidity_usd, liquidity_native FROM ${chain}_token_pools FINAL
  WHERE token_address = {token:String}) AS t`,
    where: bounds.map(([name, test]) => `${test} toDecimal256({${name}:String}, 12)`),
    order: [
      { sql: `toDecimal256(ifNull(${column}, -1), 12)`, type: 'Decimal256(12)' },
      { sql: 't.pool', type: 'String' },
    ],
    descending,
    params: { token, ...Object.fromEntries(bounds.map(([name]) => [name, filter[name]])) },
  }
}

/** The newest pools, newest first; `families` empty = any. */
export const newPoolsQuery = (chain: string, families: readonly string[], rows: number): Query => ({
  sql: `SELECT pool_address AS pool FROM ${chain}_dex_pool_births AS m FINAL
WHERE empty({families:Array(String)}) OR pool_address IN (SELECT pool_address FROM ${chain}_dex_pools FINAL
  WHERE replaceAll(lower(protocol_family), '_', '') IN {families:Array(String)})
ORDER BY m.created_at DESC, m.pool_address LIMIT {rows:UInt32}`,
  params: { families, rows },
})

/** What a pool held after an event; base units. The table calls the pool's first token `base`, its second `quote`. */
export interface SnapshotRow extends KeysetRow {
  readonly pool: string
  readonly height: string
  readonly slot: string
  readonly time_ms: string
  readonly base: string
  readonly base_decimals: number | null
  readonly base_post: string | null
  readonly base_price_usd: number | null
  readonly quote: string
  readonly quote_decimals: number | null
  readonly quote_post: string | null
  readonly quote_price_usd: number | null
  readonly liquidity_usd: string | null
  readonly liquidity_native: string | null
}

const NEWEST_FIRST = 'block_slot DESC, tx_index DESC, event_index DESC'

/** States of a pool, newest first: the last of each hour and after every change of liquidity; with a time the newest until then. */
export const poolSnapshotsList = (
  chain: string,
  pool: string,
  time: number | undefined,
): KeysetList => {
  const snapshots = `SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY toStartOfHour(block_time) ORDER BY ${NEWEST_FIRST}) AS rank
    FROM ${chain}_dex_pool_events_enriched FINAL WHERE pool_address = {pool:String}) WHERE rank = 1 OR event_type != 'SWAP'`
  const until = `SELECT * FROM (${snapshots}) WHERE block_time <= fromUnixTimestamp64Milli({time:Int64}) ORDER BY ${NEWEST_FIRST} LIMIT 1`
  return {
    columns: `t.pool_address AS pool, toString(t.block_height) AS height, toString(t.block_slot) AS slot,
  toString(toUnixTimestamp64Milli(t.block_time)) AS time_ms, t.base_token AS base, t.base_decimals AS base_decimals,
  toString(t.base_post) AS base_post, t.base_price_usd AS base_price_usd, t.quote_token AS quote, t.quote_decimals AS quote_decimals,
  toString(t.quote_post) AS quote_post, t.quote_price_usd AS quote_price_usd,
  toString(t.liquidity_usd) AS liquidity_usd, toString(t.liquidity_native) AS liquidity_native`,
    from: `(${time === undefined ? snapshots : until}) AS t`,
    where: [],
    order: POSITION_ORDER,
    descending: true,
    params: { pool, ...(time !== undefined && { time: normalizeQueryTime(time) }) },
  }
}

/** Pools of a token, by either leg. */
const tokenPoolsSubquery = (chain: string): string =>
  `(SELECT pool_address FROM ${chain}_token_pools FINAL WHERE token_address = {token:String})`

/** Hours in which a token's liquidity changed. */
export interface LiquidityHourRow extends KeysetRow {
  /** Epoch seconds of its start. */
  readonly hour: string
}

const HOUR_S = 3_600

/** Hours in which one of a token's pools changed, newest first; with a time the newest that began by then. */
export const liquidityHoursList = (
  chain: string,
  token: string,
  time: number | undefined,
): KeysetList => {
  const until =
    time === undefined ? '' : ' AND block_time <= fromUnixTimestamp64Milli({time:Int64})'
  const newest = time === undefined ? '' : ' ORDER BY hour DESC LIMIT 1'
  return {
    columns: 'toString(t.hour) AS hour',
    from: `(SELECT toInt64(toUnixTimestamp(toStartOfHour(block_time))) AS hour FROM ${chain}_dex_pool_events_enriched FINAL
  WHERE pool_address IN ${tokenPoolsSubquery(chain)}${until} GROUP BY hour${newest}) AS t`,
    where: [],
    order: [{ sql: 't.hour', type: 'Int64' }],
    descending: true,
    params: { token, ...(time !== undefined && { time: normalizeQueryTime(time) }) },
  }
}

/** Liquidity of a token's pools at the end of an hour, and the pool that held the most of it. */
export interface HourLiquidityRow {
  readonly hour: string
  readonly pools: string
  readonly total_usd: string
  readonly total_native: string | null
  readonly pool: string
  readonly liquidity_usd: string
  readonly liquidity_native: string | null
  readonly price_usd: number | null
}

/**
 * Liquidity of a token at the end of each of the hours (starts, epoch seconds, not empty); what is older counts for the first.
 * Pools are added up in the engine, a popular token has very many. Hours in which no pool held anything are missing.
 */
export const hourLiquidityQuery = (
  chain: string,
  token: string,
  hours: readonly number[],
): Query => {
  const last = (column: string): string =>
    `argMax(tuple(${column}), (e.block_slot, e.tx_index, e.event_index)).1`
  const states = `SELECT e.pool_address AS pool, greatest(toInt64(toUnixTimestamp(toStartOfHour(e.block_time))), {from_s:Int64}) AS since,
    ${last('e.liquidity_usd')} AS usd, ${last('e.liquidity_native')} AS native,
    ${last('if(e.base_token = {token:String}, e.base_price_usd, e.quote_price_usd)')} AS price
  FROM ${chain}_dex_pool_events_enriched AS e FINAL
  WHERE e.pool_address IN ${tokenPoolsSubquery(chain)} AND toUnixTimestamp(e.block_time) < {until_s:Int64}
  GROUP BY pool, since`
  const spans = `SELECT *, leadInFrame(since, 1, toInt64({until_s:Int64}))
    OVER (PARTITION BY pool ORDER BY since ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS until FROM (${states})`
  return {
    sql: `SELECT toString(h) AS hour, toString(n) AS pools, toString(all_usd) AS total_usd, toString(all_native) AS total_native,
  most.1 AS pool, toString(most.2) AS liquidity_usd, toString(most.3) AS liquidity_native, most.4 AS price_usd
FROM (SELECT h, count() AS n, sum(usd) AS all_usd, sum(native) AS all_native, argMax(tuple(pool, assumeNotNull(usd), native, price), (usd, pool)) AS most
  FROM (SELECT *, arrayJoin(arrayFilter(x -> x >= since AND x < until, {hours:Array(Int64)})) AS h FROM (${spans}) WHERE usd > 0)
  GROUP BY h)`,
    params: {
      token,
      hours,
      from_s: Math.min(...hours),
      until_s: Math.max(...hours) + HOUR_S,
    },
  }
}
