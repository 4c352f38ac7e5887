import { randomUUID } from 'node:crypto'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import { canonicalTradesSql, MINUTE_SECONDS } from './trade-queries.ts'

/** Whose rollups. */
export interface RollupTables {
  readonly warehouse: Warehouse
  readonly chain: string
}

const [HOUR_SECONDS, DAY_SECONDS] = [3_600, 86_400]

/** The view's own SELECT, over the given rows instead of those that pass through. */
const materializedViewSelect = async (
  { warehouse, chain }: RollupTables,
  view: string,
  source: string,
): Promise<string> => {
  const { rows } = await warehouse.query<{ readonly text: string }>({
    sql: 'SELECT as_select AS text FROM system.tables WHERE database = currentDatabase() AND name = {name:String}',
    params: { name: `${chain}_${view}` },
  })
  const text = rows[0]?.text ?? ''
  const select = text.replace(
    new RegExp(`FROM\\s+(?:[\\w\`]+\\.)?\`?${chain}_trades_final\`?`),
    `FROM (SELECT * FROM ${source})`,
  )
  if (select === text)
    throw new Error(`the view ${chain}_${view} does not read ${chain}_trades_final`)
  return select
}

/** Columns of a candle table beside its bucket; a migration that adds one adds it here. */
export const CANDLE_TABLE_COLUMNS = [
  ...['token_address', 'side_token', 'pool_address'],
  ...['open', 'close', 'high', 'low', 'open_native', 'close_native', 'high_native', 'low_native'],
  ...['volume', 'volume_usd', 'volume_native', 'trades', 'buys', 'sells', 'is_base'],
] as const
const CANDLE_COLUMN_LIST = CANDLE_TABLE_COLUMNS.join(', ')

/**
 * Builds all rollups of a minute again from its trades, and the hour and the day around it from finer rollups. The minute's
 * statistics go first and come back last. The caller has marked the minute before: an interrupted repair is found by the mark alone.
 */
export const rebuildMinute = async (tables: RollupTables, minute: number): Promise<void> => {
  const { warehouse, chain } = tables
  const stats = `${chain}_token_trade_stats_1m`
  const source = canonicalTradesSql(chain, minute, minute + MINUTE_SECONDS)
  // Rows that are equal to rows that were there before are not a repeated insert.
  const insert = (into: string, select: string): Promise<void> =>
    warehouse.command(`INSERT INTO ${into} ${select}`, { token: `repair:${randomUUID()}` })
  const remove = (of: string, from: number, seconds: number): Promise<void> =>
    warehouse.command(
      `DELETE FROM ${of} WHERE bucket >= toDateTime(${from}, 'UTC') AND bucket < toDateTime(${from + seconds}, 'UTC')`,
    )
  const coarser = async (name: string, from: string, seconds: number): Promise<void> => {
    const start = Math.floor(minute / seconds) * seconds
    await remove(`${chain}_ohlc_${name}`, start, seconds)
    await insert(
      `${chain}_ohlc_${name} (bucket, ${CANDLE_COLUMN_LIST})`,
      `SELECT toDateTime(${start}, 'UTC'), ${CANDLE_COLUMN_LIST} FROM ${chain}_ohlc_${from}
  WHERE bucket >= toDateTime(${start}, 'UTC') AND bucket < toDateTime(${start + seconds}, 'UTC')`,
    )
  }
  await remove(stats, minute, MINUTE_SECONDS)
  for (const name of ['1s', '1m']) {
    await remove(`${chain}_ohlc_${name}`, minute, MINUTE_SECONDS)
    const select = await materializedViewSelect(tables, `ohlc_${name}_mv`, source)
    await insert(`${chain}_ohlc_${name}`, select)
  }
  await coarser('1h', '1m', HOUR_SECONDS)
  await coarser('1d', '1h', DAY_SECONDS)
  await insert(stats, await materializedViewSelect(tables, 'token_trade_stats_1m_mv', source))
}
