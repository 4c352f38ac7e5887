import { clearGap, gapsBetween, interruptedRepairs, recordGap } from './gaps.ts'
import { type RollupTables, rebuildMinute } from './rebuild-minute.ts'
import {
  blockTimeRangeSql,
  canonicalTradesSql,
  MINUTE_SECONDS,
  type MinuteRow,
  minuteCompletenessQuery,
  startOfMinute,
  tradeRetentionDays,
} from './trade-queries.ts'

/** Whose minute is repaired, and when. */
interface MinuteRepair extends RollupTables {
  readonly nowMs: number
}

/** What a check works with. */
export interface RollupCheck extends MinuteRepair {
  /** First minute that no check has compared, epoch seconds. */
  readonly from: number
  /** First minute that is not rolled up. */
  readonly to: number
  /** The gap that the check before ended with; absent or null: begins with the oldest. */
  readonly gapsAfter?: number | null
  /** Minutes whose repair did not help so often that it is given up. */
  readonly isGivenUp?: (minute: number) => boolean
}

/** What a check found and did. Minutes in epoch seconds. */
export interface RollupCheckResult {
  /** Minutes that were rebuilt and are right now. */
  readonly repaired: readonly number[]
  /** Minutes that still differ after they were rebuilt. */
  readonly failed: readonly number[]
  /** Everything before was compared, and what differed was rebuilt or is given up. */
  readonly checkedTo: number
  /** Where the next check continues with gaps; null: with the oldest. */
  readonly gapsCheckedTo: number | null
  /** Whether another check finds work at once. */
  readonly hasMore: boolean
}

/** Minutes that one check repairs. The others are left to the next check. */
const MAX_REPAIRS = 5
/** Minutes that one read compares. */
const MAX_CHECKED_MINUTES = 500
const MAX_CHECKED_SECONDS = MAX_CHECKED_MINUTES * MINUTE_SECONDS
/** Reads that one check spends on gaps. */
const MAX_GAP_READS = 10
/** The newest minutes, which every check compares again: a late insert shows there first. */
const RECHECKED_SECONDS = 30 * MINUTE_SECONDS
const DAY_SECONDS = 86_400

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
  { warehouse, chain }: RollupTables,
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

/** Start of the first minute whose trades are kept for another day at least. */
const firstRetainedMinute = async ({ warehouse, chain, nowMs }: RollupCheck): Promise<number> => {
  const days = await tradeRetentionDays(warehouse, chain)
  return days === null ? 0 : startOfMinute(nowMs / 1_000 - (days - 1) * DAY_SECONDS)
}

/** Gap minutes in groups that one read covers each, at most `MAX_GAP_READS` of them. */
const gapGroups = (minutes: readonly number[]): readonly (readonly number[])[] => {
  const groups: number[][] = []
  for (const minute of minutes) {
    const group = groups.at(-1)
    const first = group?.[0]
    if (group && first !== undefined && minute - first < MAX_CHECKED_SECONDS) group.push(minute)
    else groups.push([minute])
  }
  return groups.slice(0, MAX_GAP_READS)
}

interface CheckedGaps {
  readonly wrong: readonly number[]
  /** The last gap that was looked at; null: that was the last there is. */
  readonly to: number | null
}

const inconsistentGaps = async (check: RollupCheck, kept: number): Promise<CheckedGaps> => {
  const { warehouse, chain, to, gapsAfter } = check
  const after = Math.max(gapsAfter ?? 0, kept - 1)
  const gaps = await gapsBetween(warehouse, chain, { after, to })
  const wrong: number[] = []
  let last: number | null = null
  for (const group of gapGroups(gaps)) {
    const [first = 0, end = first] = [group[0], group.at(-1)]
    const found = new Set(await inconsistentMinutes(check, first, end + MINUTE_SECONDS))
    wrong.push(...group.filter((minute) => found.has(minute)))
    last = end
  }
  return { wrong, to: last }
}

/** Rebuilds one minute under a mark that outlives this process, then says whether its rollups are right. */
const repairMinute = async (check: MinuteRepair, minute: number): Promise<boolean> => {
  const { warehouse, chain, nowMs } = check
  const range = [minute, minute + MINUTE_SECONDS] as const
  const row = async (): Promise<MinuteRow> => {
    const { rows } = await warehouse.query<MinuteRow>(minuteCompletenessQuery(chain, ...range, 1))
    return rows[0] ?? { minute, announced: 0, stored: 0, open: 0 }
  }
  await recordGap(warehouse, chain, { row: await row(), reason: 'rebuilding', nowMs })
  await rebuildMinute(check, minute)
  const differs = (await inconsistentMinutes(check, ...range)).length > 0
  const after = await row()
  if (after.open === 0 && !differs) await clearGap(warehouse, chain, { minute, nowMs })
  else {
    const reason = after.open > 0 ? 'trades-missing' : 'differs'
    await recordGap(warehouse, chain, { row: after, reason, nowMs })
  }
  return !differs
}

/** The first minute from `from` on that has trades; minutes without any hold nothing to compare. */
const firstTradedMinute = async (
  { warehouse, chain, to }: RollupCheck,
  from: number,
): Promise<number> => {
  const { rows } = await warehouse.query<{ readonly minute: number }>({
    sql: `SELECT toUnixTimestamp(toStartOfMinute(min(block_time))) AS minute FROM ${chain}_dex_trades_enriched
  WHERE ${blockTimeRangeSql(from, to)}`,
  })
  return rows[0]?.minute || to
}

/**
 * Compares rollups with the trades that are stored now: of minutes from `from` on, of the newest before `to`, of minutes that were
 * closed without all of their trades, and of those whose repair was interrupted. Repairs what differs, at most `MAX_REPAIRS`
 * minutes. Nothing else may write rollups of the chain meanwhile.
 */
export const checkAndRepairRollups = async (check: RollupCheck): Promise<RollupCheckResult> => {
  const { warehouse, chain, to, isGivenUp } = check
  const kept = await firstRetainedMinute(check)
  const interrupted = await interruptedRepairs(warehouse, chain, { from: kept, limit: MAX_REPAIRS })
  const from = await firstTradedMinute(check, Math.max(check.from, kept))
  const end = Math.min(to, from + MAX_CHECKED_SECONDS)
  const newest = Math.max(kept, to - RECHECKED_SECONDS)
  const inOrder = await inconsistentMinutes(check, from, end)
  const gaps = await inconsistentGaps(check, kept)
  const isCovered = from <= newest && end === to
  const rechecked = isCovered ? [] : await inconsistentMinutes(check, newest, to)
  const wrong = [...new Set([...inOrder, ...gaps.wrong, ...rechecked])]
  const hopeful = wrong.filter((minute) => isGivenUp?.(minute) !== true)
  const chosen = [...new Set([...interrupted, ...hopeful])].slice(0, MAX_REPAIRS)
  const repaired: number[] = []
  const failed: number[] = []
  for (const minute of chosen) {
    const helped = await repairMinute(check, minute)
    ;(helped ? repaired : failed).push(minute)
  }
  const left = new Set(hopeful.filter((minute) => !chosen.includes(minute)))
  const gapsLeft = gaps.wrong.some((minute) => left.has(minute))
  return {
    repaired,
    failed,
    checkedTo: inOrder.find((minute) => left.has(minute)) ?? end,
    gapsCheckedTo: gapsLeft ? (check.gapsAfter ?? null) : gaps.to,
    hasMore: left.size > 0 || end < to,
  }
}
