import type { Query } from '../../core/clickhouse/client.ts'

/** A pool as its last event left it, with what it prices with. */
export interface PoolStateRow {
  readonly pool: string
  readonly token_a: string
  readonly token_b: string
  readonly program: string
  readonly family: string
  readonly decimals_a: number | null
  readonly decimals_b: number | null
  readonly reserve_a: string | null
  readonly reserve_b: string | null
  readonly depth_usd: number | null
  /** Units of `token_b` for one of `token_a`, that its last event left or paid. */
  readonly price: number | null
  readonly sqrt_price_x96: string | null
  readonly range_liquidity: string | null
  readonly tick: number | null
  readonly fee_pips: number | null
  readonly is_complete: number
  readonly priced_reserve_a: string | null
  readonly priced_reserve_b: string | null
  readonly priced_fees: readonly number[]
  readonly fee_token: string
  readonly is_doubted: number
  readonly token_x: string
  readonly bin_step: number | null
  readonly active_bin: number | null
  readonly fee_terms: readonly number[]
  readonly volatility: number
  readonly volatility_reference: number
  readonly bin_reference: number | null
  /** Unix seconds. */
  readonly volatility_at: string
  /** Base units of X and Y in all bins together. */
  readonly bins_x: string
  readonly bins_y: string
  readonly version: string
}

/** The deepest pools of the given protocols. */
export const poolStatesQuery = (
  chain: string,
  families: readonly string[],
  limit: number,
): Query => ({
  sql: `SELECT pool_address AS pool, token_a, token_b, toString(program_address) AS program, toString(protocol_family) AS family,
  decimals_a, decimals_b, toString(reserve_a) AS reserve_a, toString(reserve_b) AS reserve_b,
  toFloat64(coalesce(p.liquidity_usd, p.depth_usd)) AS depth_usd, price_a_to_b AS price, toString(sqrt_price_x96) AS sqrt_price_x96,
  toString(range_liquidity) AS range_liquidity, tick, fee_pips, is_complete,
  toString(priced_reserve_a) AS priced_reserve_a, toString(priced_reserve_b) AS priced_reserve_b, priced_fees, fee_token, is_doubted,
  token_x, bin_step, active_bin, fee_terms, volatility, volatility_reference, bin_reference, toString(volatility_at) AS volatility_at,
  toString(bins_x) AS bins_x, toString(bins_y) AS bins_y, toString(_ver) AS version
FROM ${chain}_dex_pools AS p FINAL WHERE protocol_family IN {families:Array(String)}
ORDER BY coalesce(p.liquidity_usd, p.depth_usd) DESC NULLS LAST, pool_address LIMIT {limit:UInt32}`,
  params: { families, limit },
})

/** Net liquidity of one tick of a pool. */
export interface PoolTickRow {
  readonly pool: string
  readonly tick: number
  readonly net: string
  /** Newest version among all positions of the pool. */
  readonly version: string
}

/** Ticks of pools whose state is known, one row each; retracted positions count as nothing but their versions. */
export const poolTicksQuery = (chain: string, limit: number): Query => ({
  sql: `SELECT pool, ends.1 AS tick, toString(sum(ends.2)) AS net, toString(max(version)) AS version FROM (
  SELECT pool_address AS pool, max(max(_ver)) OVER (PARTITION BY pool_address) AS version,
    if(argMax(_del, _ver) = 1, toInt256(0), argMax(liquidity_change, _ver)) AS moved,
    arrayJoin([(argMax(tick_lower, _ver), moved), (argMax(tick_upper, _ver), -moved)]) AS ends
  FROM ${chain}_dex_pool_positions GROUP BY pool_address, block_slot, tx_index, event_index)
GROUP BY pool, tick LIMIT {limit:UInt32}`,
  params: { limit },
})

/** What one bin of a pool holds. */
export interface PoolBinRow {
  readonly pool: string
  readonly bin: number
  readonly x: string
  readonly y: string
  /** Newest version among all moves of the pool. */
  readonly version: string
}

/**
 * Bins of pools whose state is known, one row each; retracted moves count as nothing but their versions. A row is stored for every bin of
 * every swap: `FINAL` sums them in the order in which they are stored, without a group for each.
 */
export const poolBinsQuery = (chain: string, limit: number): Query => ({
  sql: `SELECT pool, bin, toString(bin_x) AS x, toString(bin_y) AS y, toString(newest) AS version
FROM (SELECT pool_address AS pool, bin, sum(x_change) AS bin_x, sum(y_change) AS bin_y FROM ${chain}_dex_pool_bins FINAL GROUP BY pool, bin LIMIT {limit:UInt32}) AS held
LEFT ANY JOIN (SELECT pool_address AS pool, max(_ver) AS newest FROM ${chain}_dex_pool_bins GROUP BY pool) AS moved USING pool`,
  params: { limit },
})
