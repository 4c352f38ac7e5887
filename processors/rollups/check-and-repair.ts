import { randomUUID } from 'node:crypto'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import { clearGap, gapsSince } from './gaps.ts'
import {
  canonicalTradesSql,
  MINUTE_SECONDS,
  minuteCompletenessQuery,
  startOfMinute,
  tradeRetentionDays,
} from './trade-queries.ts'

/** What a check works with. */
export interface RollupCheck {
  readonly warehouse: Warehouse
  readonly chain: string
  /** Minutes before the first that is not rolled up, epoch seconds. */
  readonly from: number
  readonly to: number
  readonly nowMs: number
  /** Minutes whose repair did not help so often that it is given up. */
  readonly isGivenUp?: (minute: number) => boolean
}

/** Minutes that one check repairs. The others are left to the next check. */
export const MAX_REPAIRS = 5
/** Minutes that one check reads. */
const MAX_CHECKED_MINUTES = 500
const [HOUR_SECONDS, DAY_SECONDS] = [3_600, 86_400]

interface RollupCountsRow {
  readonly minute: number
  readonly trades: number
  readonly priced: number
  readonly rolled: number
  readonly candles: number
}

/** Per minute: rows of trades and rows with a price that counts, and how many of both the rollups hold. */
const rollupCountsSql = (chain: string, from: number, to: number): string => {
  const inRange = `bucket >= toDateTime(${from}, 'UTC') AND bucket < toDateTime(${to}, 'UTC')`
  return `SELECT minute, toFloat64(sum(a)) AS trades, toFloat64(sum(b)) AS priced, toFloat64(sum(c)) AS rolled, toFloat64(sum(d)) AS candles FROM (
  SELECT toUnixTimestamp(toStartOfMinute(block_time)) AS minute, count() AS a, countIf(is_suspect = 0 AND price_usd > 0) AS b, toUInt64(0) AS c, toUInt64(0) AS d
  FROM ${canonicalTradesSql(chain, from, to)} GROUP BY minute
  UNION ALL SELECT toUnixTimestamp(bucket) AS minute, toUInt64(0), toUInt64(0), sum(trades), toUInt64(0)
  FROM ${chain}_token_trade_stats_1m WHERE ${inRange} GROUP BY minute
  UNION ALL SELECT toUnixTimestamp(bucket) AS minute, toUInt64(0), toUInt64(0), toUInt64(0), sum(trades)
  FROM ${chain}_ohlc_1m WHERE ${inRange} GROUP BY minute
) GROUP BY minute HAVING trades != rolled OR priced != candles ORDER BY minute LIMIT ${MAX_CHECKED_MINUTES}`
}

/**
 * Minutes whose rollups are not what their trades sum to. A minute whose trades are not all stored counts only when more of them
 * are stored than were rolled up: of one whose trades have expired since, the rollup is the only memory.
 */
const inconsistentMinutes = async (
  { warehouse, chain }: RollupCheck,
  from: number,
  to: number,
): Promise<readonly number[]> => {
  if (to <= from) return []
  const { rows: wrong } = await warehouse.query<RollupCountsRow>({
    sql: rollupCountsSql(chain, from, to),
  })
  const [first, last] = [wrong[0], wrong.at(-1)]
  if (first === undefined || last === undefined) return []
  const range = [first.minute, last.minute + MINUTE_SECONDS] as const
  const counted = await warehouse.query<{ readonly minute: number; readonly open: number }>(
    minuteCompletenessQuery(chain, ...range, MAX_CHECKED_MINUTES),
  )
  const open = new Map(counted.rows.map((row) => [row.minute, row.open > 0]))
  return wrong.flatMap(({ minute, trades, priced, rolled, candles }) => {
    const grew = trades > rolled && priced >= candles
    return open.get(minute) === false || grew ? [minute] : []
  })
}

/** The view's own SELECT, over the given rows instead of those that pass through. */
const materializedViewSelect = async (
  { warehouse, chain }: RollupCheck,
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
 * statistics go first and come back last, so that whatever interrupts this leaves a minute that the next check finds wrong.
 */
const rebuildMinute = async (check: RollupCheck, minute: number): Promise<void> => {
  const { warehouse, chain } = check
  const stats = `${chain}_token_trade_stats_1m`
  const source = canonicalTradesSql(chain, minute, minute + MINUTE_SECONDS)
  // Rows that are equal to rows that were there before are not a repeated insert.
  const insert = (table: string, select: string): Promise<void> =>
    warehouse.command(`INSERT INTO ${table} ${select}`, { token: `repair:${randomUUID()}` })
  const remove = (table: string, from: number, seconds: number): Promise<void> =>
    warehouse.command(
      `DELETE FROM ${table} WHERE bucket >= toDateTime(${from}, 'UTC') AND bucket < toDateTime(${from + seconds}, 'UTC')`,
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
    const select = await materializedViewSelect(check, `ohlc_${name}_mv`, source)
    await insert(`${chain}_ohlc_${name}`, select)
  }
  await coarser('1h', '1m', HOUR_SECONDS)
  await coarser('1d', '1h', DAY_SECONDS)
  await insert(stats, await materializedViewSelect(check, 'token_trade_stats_1m_mv', source))
}

/** Start of the first minute whose trades are kept for another day at least. */
const firstRetainedMinute = async ({ warehouse, chain, nowMs }: RollupCheck): Promise<number> => {
  const days = await tradeRetentionDays(warehouse, chain)
  return days === null ? 0 : startOfMinute(nowMs / 1_000 - (days - 1) * DAY_SECONDS)
}

/**
 * Compares the rollups of minutes in `[from, to)`, and of minutes before `to` that were closed without all of their trades, with the
 * trades that are stored now, and repairs what differs: at most `MOST_REPAIRS` minutes. Returns the repaired minutes. Nothing
 * else may write rollups of the chain meanwhile.
 */
export const checkAndRepairRollups = async (check: RollupCheck): Promise<readonly number[]> => {
  const { warehouse, chain, to, nowMs, isGivenUp } = check
  const kept = await firstRetainedMinute(check)
  const from = Math.max(check.from, kept, to - MAX_CHECKED_MINUTES * MINUTE_SECONDS)
  const gaps = (await gapsSince(warehouse, chain, kept)).filter((minute) => minute < to)
  const wrong = [...(await inconsistentMinutes(check, from, to))]
  for (const minute of gaps.filter((each) => each < from)) {
    wrong.push(...(await inconsistentMinutes(check, minute, minute + MINUTE_SECONDS)))
  }
  const repaired = wrong.filter((minute) => isGivenUp?.(minute) !== true).slice(0, MAX_REPAIRS)
  for (const minute of repaired) {
    await rebuildMinute(check, minute)
    if (!gaps.includes(minute)) continue
    const query = minuteCompletenessQuery(chain, minute, minute + MINUTE_SECONDS, 1)
    const { rows } = await warehouse.query<{ readonly open: number }>(query)
    if (rows.every(({ open }) => open === 0)) await clearGap(warehouse, chain, { minute, nowMs })
  }
  return repaired
}
