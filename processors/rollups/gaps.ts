import type { Warehouse } from '../../core/clickhouse/client.ts'
import type { GapReason } from './incomplete-minutes.ts'
import type { MinuteRow } from './trade-queries.ts'

/** Minutes that are looked at again at a time, newest first. */
const MAX_GAPS = 100

/** Notes that a minute is rolled up without all of its trades. Before its rollup: a crash in between repeats both. */
export const recordGap = async (
  warehouse: Warehouse,
  chain: string,
  { row, reason, nowMs }: { row: MinuteRow; reason: GapReason; nowMs: number },
): Promise<void> => {
  const { minute, announced, stored } = row
  const mark = { minute, announced_trades: announced, stored_trades: stored, reason, _ver: nowMs }
  await warehouse.insert(`${chain}_rollup_gaps`, [mark], {
    token: `gap:${chain}:${minute}:${announced}:${stored}`,
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

/** Marked minutes from `from` on, epoch seconds, newest first. */
export const gapsSince = async (
  warehouse: Warehouse,
  chain: string,
  from: number,
): Promise<readonly number[]> => {
  const { rows } = await warehouse.query<{ readonly minute: number }>({
    sql: `SELECT toUnixTimestamp(minute) AS minute FROM ${chain}_rollup_gaps FINAL
  WHERE minute >= toDateTime({from:UInt32}, 'UTC') ORDER BY minute DESC LIMIT ${MAX_GAPS}`,
    params: { from },
  })
  return rows.map(({ minute }) => minute)
}
