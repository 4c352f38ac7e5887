import type { Warehouse } from '../../core/clickhouse/client.ts'
import type { GapReason } from './incomplete-minutes.ts'
import type { MinuteRow } from './trade-queries.ts'

/** Minutes that are looked at again at a time. */
const MAX_GAPS = 100

/** Why a minute is marked: `rebuilding` while a repair is under way, `differs` when one did not help. */
type MarkReason = GapReason | 'rebuilding' | 'differs'

/**
 * Notes that a minute is rolled up without all of its trades, or that its rollups are being rebuilt. Before the rollup: a crash in
 * between repeats both.
 */
export const recordGap = async (
  warehouse: Warehouse,
  chain: string,
  { row, reason, nowMs }: { row: MinuteRow; reason: MarkReason; nowMs: number },
): Promise<void> => {
  const { minute, announced, stored } = row
  const mark = { minute, announced_trades: announced, stored_trades: stored, reason, _ver: nowMs }
  await warehouse.insert(`${chain}_rollup_gaps`, [mark], {
    token: `gap:${chain}:${minute}:${reason}:${announced}:${stored}:${nowMs}`,
  })
}

/** Takes the mark of a minute away: its trades came, and its rollups are whole. */
export const clearGap = async (
  warehouse: Warehouse,
  chain: string,
  { minute, nowMs }: { minute: number; nowMs: number },
): Promise<void> => {
  const mark = { minute, announced_trades: 0, stored_trades: 0, reason: '', _ver: nowMs, _del: 1 }
  await warehouse.insert(`${chain}_rollup_gaps`, [mark], {
    token: `gap:${chain}:${minute}:cleared:${nowMs}`,
  })
}

/** Marked minutes in `(after, to)`, epoch seconds, oldest first. */
export const gapsBetween = async (
  warehouse: Warehouse,
  chain: string,
  { after, to }: { readonly after: number; readonly to: number },
): Promise<readonly number[]> => {
  const { rows } = await warehouse.query<{ readonly minute: number }>({
    sql: `SELECT toUnixTimestamp(minute) AS minute FROM ${chain}_rollup_gaps FINAL
  WHERE minute > toDateTime({after:UInt32}, 'UTC') AND minute < toDateTime({to:UInt32}, 'UTC') ORDER BY minute LIMIT ${MAX_GAPS}`,
    params: { after: Math.max(0, after), to },
  })
  return rows.map(({ minute }) => minute)
}

/** Minutes from `from` on whose repair began and did not end, epoch seconds. */
export const interruptedRepairs = async (
  warehouse: Warehouse,
  chain: string,
  { from, limit }: { readonly from: number; readonly limit: number },
): Promise<readonly number[]> => {
  const { rows } = await warehouse.query<{ readonly minute: number }>({
    sql: `SELECT toUnixTimestamp(minute) AS minute FROM ${chain}_rollup_gaps FINAL
  WHERE reason = 'rebuilding' AND minute >= toDateTime({from:UInt32}, 'UTC') ORDER BY minute LIMIT ${Math.trunc(limit)}`,
    params: { from },
  })
  return rows.map(({ minute }) => minute)
}
