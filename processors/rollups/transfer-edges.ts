import type { Warehouse } from '../../core/clickhouse/client.ts'
import { burnAddressesOf, EVM_ZERO_ADDRESS } from '../../schemas/burn-addresses.ts'
import { blockTimeRangeSql, MINUTE_SECONDS, startOfMinute } from './trade-queries.ts'

/** Minutes before the newest whose transfers are compared in each round with what was summed: a lane that lags stores them late. */
const RECHECKED_MINUTES = 120
/** The same once in an hour of blocks. */
const RECHECKED_DAY_MINUTES = 1_440
/** Minutes of one statement that compares. */
const COMPARED_MINUTES = 120
/** Most minutes of one round. */
const MINUTES_PER_ROUND = 1_440
/** How far behind final blocks sums wait for transfers where none come: they may be late, or there may be none. */
const MAX_WAIT_MINUTES = 30
const HOUR_SECONDS = 3_600

interface EdgeWatermark {
  readonly summed: number
  readonly final_time: number
  readonly first_transfer: number
  readonly last_transfer: number
}

/** A minute whose stored transfers are not those that were summed. */
interface ChangedMinute {
  readonly minute: number
  readonly fingerprint: string
}

const watermarkSql = (chain: string): string => `SELECT
  toUInt32(argMaxIf(hot_from, _ver, key = 'edges')) AS summed,
  toUInt32(intDiv(toUnixTimestamp64Milli(argMaxIf(final_time, _ver, key = 'final')), 1000)) AS final_time,
  (SELECT toUInt32(toUnixTimestamp(min(block_time))) FROM ${chain}_transfers) AS first_transfer,
  (SELECT toUInt32(toUnixTimestamp(max(block_time))) FROM ${chain}_transfers) AS last_transfer
FROM ${chain}_chain_state WHERE key IN ('edges', 'final')`

/** Stored transfers of `[from, to)`, epoch seconds, that are summed: priced, between two addresses that are neither one nor none. */
const summedTransfersSql = (chain: string, from: number, to: number): string => {
  const excluded = ['', EVM_ZERO_ADDRESS, ...burnAddressesOf(chain)]
    .map((each) => `'${each}'`)
    .join(', ')
  return `${blockTimeRangeSql(from, to)}
  AND success = 1 AND amount_usd > 0 AND sender != receiver AND sender NOT IN (${excluded}) AND receiver NOT IN (${excluded})`
}

const changedMinutesSql = (
  chain: string,
  from: number,
  to: number,
): string => `SELECT minute, toString(stored) AS fingerprint FROM (
  SELECT toUInt32(toUnixTimestamp(toStartOfMinute(block_time))) AS minute, groupBitXor(cityHash64(tx_hash, event_index, amount_usd)) AS stored
  FROM ${chain}_transfers FINAL WHERE ${summedTransfersSql(chain, from, to)} GROUP BY minute
) AS stored_minutes LEFT JOIN (
  SELECT toUInt32(toUnixTimestamp(minute)) AS minute, fingerprint AS summed
  FROM ${chain}_edge_minutes FINAL WHERE minute >= fromUnixTimestamp(${from}) AND minute < fromUnixTimestamp(${to})
) AS summed_minutes USING (minute) WHERE stored != summed ORDER BY minute`

/** Sums the transfers of some minutes, oldest first, once for each end. */
const sumEdgesSql = (chain: string, minutes: readonly number[], version: number): string => {
  const [from = 0, to = 0] = [minutes[0], (minutes.at(-1) ?? 0) + MINUTE_SECONDS]
  return `INSERT INTO ${chain}_transfer_edges (side, address, counterparty, minute, usd, transfers, _ver)
SELECT edge.1, edge.2, edge.3, toStartOfMinute(block_time) AS minute, sum(assumeNotNull(amount_usd)), count(), ${version}
FROM ${chain}_transfers FINAL
ARRAY JOIN [('received', receiver, sender), ('sent', sender, receiver)] AS edge
WHERE ${summedTransfersSql(chain, from, to)} AND toUInt32(toUnixTimestamp(toStartOfMinute(block_time))) IN (${minutes.join(', ')})
GROUP BY edge.1, edge.2, edge.3, minute`
}

/** Sums the minutes of `[from, to)` whose stored transfers are not those that were summed before; all of them the first time. */
const sumChangedMinutes = async (
  warehouse: Warehouse,
  chain: string,
  { from, to, version }: { readonly from: number; readonly to: number; readonly version: number },
): Promise<void> => {
  for (let at = from; at < to; at += COMPARED_MINUTES * MINUTE_SECONDS) {
    const end = Math.min(to, at + COMPARED_MINUTES * MINUTE_SECONDS)
    const { rows } = await warehouse.query<ChangedMinute>({
      sql: changedMinutesSql(chain, at, end),
    })
    if (rows.length === 0) continue
    const minutes = rows.map(({ minute }) => minute)
    await warehouse.command(sumEdgesSql(chain, minutes, version))
    // What was stored between the two statements is not in the hash, and makes the minute differ again.
    await warehouse.insert(
      `${chain}_edge_minutes`,
      rows.map(({ minute, fingerprint }) => ({ minute, fingerprint, _ver: version })),
    )
  }
}

/** Where the sums of a round end: at final blocks, behind them as long as transfers that were to come are waited for. */
const endOfRound = (summed: number, { final_time, last_transfer }: EdgeWatermark): number => {
  const final = startOfMinute(final_time)
  const stored = startOfMinute(last_transfer) + MINUTE_SECONDS
  const complete = Math.min(final, Math.max(stored, final - MAX_WAIT_MINUTES * MINUTE_SECONDS))
  return Math.min(complete, summed + MINUTES_PER_ROUND * MINUTE_SECONDS)
}

const isNewHour = (before: number, now: number): boolean =>
  Math.floor(before / HOUR_SECONDS) !== Math.floor(now / HOUR_SECONDS)

/**
 * One round of transfer edges: minutes of final blocks that are new, and those before them into which transfers came later. Safe to
 * repeat and to interrupt: a minute that is summed again replaces itself. Answers how far the sums reach, epoch seconds; null before
 * the first transfer.
 */
export const runTransferEdges = async (
  warehouse: Warehouse,
  chain: string,
  nowMs: number,
): Promise<number | null> => {
  const [ends] = (await warehouse.query<EdgeWatermark>({ sql: watermarkSql(chain) })).rows
  if (ends === undefined || ends.first_transfer === 0) return null
  const summed = ends.summed || startOfMinute(ends.first_transfer)
  const to = endOfRound(summed, ends)
  if (to <= summed) return summed
  const again = isNewHour(summed, to) ? RECHECKED_DAY_MINUTES : RECHECKED_MINUTES
  const from = summed - again * MINUTE_SECONDS
  await sumChangedMinutes(warehouse, chain, { from, to, version: nowMs })
  const row = { key: 'edges', final_slot: 0, final_time: 0, hot_from: to, seq: 0, _ver: to }
  await warehouse.insert(`${chain}_chain_state`, [row], { token: `edges:${chain}:${to}` })
  return to
}
