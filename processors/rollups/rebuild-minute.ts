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

/** Removes the buckets of a rollup in `[from, to)`, epoch seconds; without `to` all from `from` on. */
const removeBuckets = (
  { warehouse }: RollupTables,
  table: string,
  from: number,
  to?: number,
): Promise<void> => {
  const end = to === undefined ? '' : ` AND bucket < toDateTime(${to}, 'UTC')`
  return warehouse.command(`DELETE FROM ${table} WHERE bucket >= toDateTime(${from}, 'UTC')${end}`)
}

/** Rows that are equal to rows that were there before are not a repeated insert. */
const insertRows = ({ warehouse }: RollupTables, into: string, select: string): Promise<void> =>
  warehouse.command(`INSERT INTO ${into} ${select}`, { token: `repair:${randomUUID()}` })

/** Candle tables that are built from a finer one, finest first. */
const COARSER_TABLES = [
  { name: '1h', finer: '1m', seconds: HOUR_SECONDS },
  { name: '1d', finer: '1h', seconds: DAY_SECONDS },
] as const

/** Writes the candle of an hour or day around a moment from those of the finer table. Its own rows have been removed. */
const buildCoarser = (
  tables: RollupTables,
  { name, finer, seconds }: (typeof COARSER_TABLES)[number],
  second: number,
): Promise<void> => {
  const { chain } = tables
  const start = Math.floor(second / seconds) * seconds
  return insertRows(
    tables,
    `${chain}_ohlc_${name} (bucket, ${CANDLE_COLUMN_LIST})`,
    `SELECT toDateTime(${start}, 'UTC'), ${CANDLE_COLUMN_LIST} FROM ${chain}_ohlc_${finer}
  WHERE bucket >= toDateTime(${start}, 'UTC') AND bucket < toDateTime(${start + seconds}, 'UTC')`,
  )
}

/**
 * Builds all rollups of a minute again from its trades, and the hour and the day around it from finer rollups. The minute's
 * statistics go first and come back last. The caller has marked the minute before: an interrupted repair is found by the mark alone.
 */
export const rebuildMinute = async (tables: RollupTables, minute: number): Promise<void> => {
  const { chain } = tables
  const stats = `${chain}_token_trade_stats_1m`
  const end = minute + MINUTE_SECONDS
  const source = canonicalTradesSql(chain, minute, end)
  await removeBuckets(tables, stats, minute, end)
  for (const name of ['1s', '1m']) {
    await removeBuckets(tables, `${chain}_ohlc_${name}`, minute, end)
    const select = await materializedViewSelect(tables, `ohlc_${name}_mv`, source)
    await insertRows(tables, `${chain}_ohlc_${name}`, select)
  }
  for (const table of COARSER_TABLES) {
    const start = Math.floor(minute / table.seconds) * table.seconds
    await removeBuckets(tables, `${chain}_ohlc_${table.name}`, start, start + table.seconds)
    await buildCoarser(tables, table, minute)
  }
  const select = await materializedViewSelect(tables, 'token_trade_stats_1m_mv', source)
  await insertRows(tables, stats, select)
}

/** How many rows per minute or second stand from the watermark on, and how far hour and day differ from what is before it. */
const remainderSql = (chain: string, watermark: number): string => {
  const at = (seconds: number): string =>
    `toDateTime(${Math.floor(watermark / seconds) * seconds}, 'UTC')`
  const rows = ['token_trade_stats_1m', 'ohlc_1s', 'ohlc_1m'].map(
    (table) => `(SELECT count() FROM ${chain}_${table} WHERE bucket >= ${at(MINUTE_SECONDS)})`,
  )
  const trades = (table: string, seconds: number): string =>
    `(SELECT toInt64(sum(trades)) FROM ${chain}_ohlc_${table} WHERE bucket >= ${at(seconds)})`
  const differences = COARSER_TABLES.map(
    ({ name, finer, seconds }) => `abs(${trades(name, seconds)} - ${trades(finer, seconds)})`,
  )
  return `SELECT toFloat64(${[...rows, ...differences].join(' + ')}) AS remainder`
}

/**
 * Removes what the rollups hold from a watermark on (epoch seconds, the start of a minute): an insert that was interrupted put it
 * there. The hour and the day around the watermark are built again from what is before it. Safe to interrupt and to repeat. Nothing
 * else may write rollups of the chain meanwhile.
 */
export const removeRollupsFrom = async (tables: RollupTables, watermark: number): Promise<void> => {
  const { warehouse, chain } = tables
  const { rows } = await warehouse.query<{ readonly remainder: number }>({
    sql: remainderSql(chain, watermark),
  })
  if (rows[0]?.remainder === 0) return
  for (const table of ['token_trade_stats_1m', 'ohlc_1s', 'ohlc_1m'])
    await removeBuckets(tables, `${chain}_${table}`, watermark)
  for (const table of COARSER_TABLES) {
    const start = Math.floor(watermark / table.seconds) * table.seconds
    await removeBuckets(tables, `${chain}_ohlc_${table.name}`, start)
    await buildCoarser(tables, table, watermark)
  }
}
