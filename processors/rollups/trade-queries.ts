import type { Query, Warehouse } from '../../core/clickhouse/client.ts'

/** Seconds of a minute. */
export const MINUTE_SECONDS = 60

/** Start of the minute, epoch seconds. */
export const startOfMinute = (seconds: number): number =>
  Math.floor(seconds / MINUTE_SECONDS) * MINUTE_SECONDS

/** A range of block time in SQL, `[from, to)`, epoch seconds. Whole numbers of ours, never text. */
export const blockTimeRangeSql = (from: number, to: number): string =>
  `block_time >= toDateTime64(${Math.trunc(from)}, 3, 'UTC') AND block_time < toDateTime64(${Math.trunc(to)}, 3, 'UTC')`

/** A minute with trades, or with blocks that announced some. */
export interface MinuteRow {
  readonly minute: number
  /** Trades that its blocks announced. */
  readonly announced: number
  /** Of them stored in the table that rollups are copied from. */
  readonly stored: number
  /** Blocks whose stored trades are not exactly those that the block announced. */
  readonly open: number
}

/**
 * Minutes in `[from, to)`, oldest first. Stored trades are counted in the table that is copied, which is filled from `dex_trades`
 * by a view and may be behind it: two rows per trade, one for each side. Counted block by block: equal sums could hide a removed
 * block's trades beside the missing ones of its successor.
 */
export const minuteCompletenessQuery = (
  chain: string,
  from: number,
  to: number,
  limit: number,
): Query => ({
  sql: `SELECT minute, toFloat64(sum(expected)) AS announced, toFloat64(sum(actual)) / 2 AS stored, toUInt32(countIf(2 * expected != actual)) AS open FROM (
  SELECT minute, block_hash, sum(expected_trades) AS expected, sum(actual_rows) AS actual FROM (
    SELECT toUnixTimestamp(toStartOfMinute(block_time)) AS minute, block_hash, toUInt64(trades_count) AS expected_trades, toUInt64(0) AS actual_rows
    FROM ${chain}_blocks FINAL WHERE ${blockTimeRangeSql(from, to)} AND trades_count > 0
    UNION ALL
    SELECT toUnixTimestamp(toStartOfMinute(block_time)) AS minute, block_hash, toUInt64(0) AS expected_trades, count() AS actual_rows
    FROM ${chain}_dex_trades_enriched FINAL WHERE ${blockTimeRangeSql(from, to)}
    GROUP BY minute, block_hash
  ) GROUP BY minute, block_hash
) GROUP BY minute ORDER BY minute LIMIT ${Math.trunc(limit)}`,
})

/** Stored trades of a range. */
export const storedTradesSql = (chain: string, from: number, to: number): string =>
  `${chain}_dex_trades_enriched FINAL WHERE ${blockTimeRangeSql(from, to)}`

/** Stored trades of a range whose blocks stand, as rollups count them. */
export const canonicalTradesSql = (chain: string, from: number, to: number): string =>
  `${storedTradesSql(chain, from, to)}
  AND block_hash IN (SELECT block_hash FROM ${chain}_blocks FINAL WHERE ${blockTimeRangeSql(from, to)})`

/** Days for which the table that rollups are copied from keeps its rows; null: for ever. */
export const tradeRetentionDays = async (
  warehouse: Warehouse,
  chain: string,
): Promise<number | null> => {
  const { rows } = await warehouse.query<{ readonly days: string }>({
    sql: `SELECT extract(engine_full, 'TTL .*toIntervalDay\\\\((\\\\d+)\\\\)') AS days FROM system.tables
  WHERE database = currentDatabase() AND name = {name:String}`,
    params: { name: `${chain}_dex_trades_enriched` },
  })
  const days = Number(rows[0]?.days || Number.NaN)
  return Number.isFinite(days) ? days : null
}
