import type { Warehouse } from '../../core/clickhouse/client.ts'
import { burnAddressesOf, EVM_ZERO_ADDRESS } from '../../schemas/burn-addresses.ts'
import { MINUTE_SECONDS, startOfMinute } from './trade-queries.ts'

/** Minutes before the newest that are summed again: transfers of a lane that lags come later than the blocks. */
const RESUMMED_MINUTES = 30
/** Most minutes of one round. */
const MINUTES_PER_ROUND = 1_440

interface EdgeWatermark {
  readonly summed: number
  readonly final_time: number
  readonly first_transfer: number
}

const watermarkSql = (chain: string): string => `SELECT
  toUInt32(argMaxIf(hot_from, _ver, key = 'edges')) AS summed,
  toUInt32(intDiv(toUnixTimestamp64Milli(argMaxIf(final_time, _ver, key = 'final')), 1000)) AS final_time,
  (SELECT toUInt32(toUnixTimestamp(min(block_time))) FROM ${chain}_transfers) AS first_transfer
FROM ${chain}_chain_state WHERE key IN ('edges', 'final')`

/** Sums the priced transfers of `[from, to)`, epoch seconds, between two addresses that are neither one nor none, once for each end. */
const sumEdgesSql = (
  chain: string,
  { from, to, version }: { readonly from: number; readonly to: number; readonly version: number },
): string => {
  const excluded = ['', EVM_ZERO_ADDRESS, ...burnAddressesOf(chain)]
    .map((each) => `'${each}'`)
    .join(', ')
  return `INSERT INTO ${chain}_transfer_edges (side, address, counterparty, minute, usd, transfers, _ver)
SELECT edge.1, edge.2, edge.3, toStartOfMinute(block_time) AS minute, sum(assumeNotNull(amount_usd)), count(), ${version}
FROM ${chain}_transfers FINAL
ARRAY JOIN [('received', receiver, sender), ('sent', sender, receiver)] AS edge
WHERE block_time >= fromUnixTimestamp(${from}) AND block_time < fromUnixTimestamp(${to})
  AND success = 1 AND amount_usd > 0 AND sender != receiver AND sender NOT IN (${excluded}) AND receiver NOT IN (${excluded})
GROUP BY edge.1, edge.2, edge.3, minute`
}

/**
 * One round of transfer edges: minutes of final blocks that are new, and some before them again. Safe to repeat and to interrupt:
 * a minute that is summed again replaces itself. Answers how far the sums reach, epoch seconds; null before the first transfer.
 */
export const runTransferEdges = async (
  warehouse: Warehouse,
  chain: string,
  nowMs: number,
): Promise<number | null> => {
  const [ends] = (await warehouse.query<EdgeWatermark>({ sql: watermarkSql(chain) })).rows
  if (ends === undefined || ends.first_transfer === 0) return null
  const summed = ends.summed || startOfMinute(ends.first_transfer)
  const final = startOfMinute(ends.final_time)
  if (final <= summed) return summed
  const to = Math.min(final, summed + MINUTES_PER_ROUND * MINUTE_SECONDS)
  const from = summed - RESUMMED_MINUTES * MINUTE_SECONDS
  await warehouse.command(sumEdgesSql(chain, { from, to, version: nowMs }))
  const row = { key: 'edges', final_slot: 0, final_time: 0, hot_from: to, seq: 0, _ver: to }
  await warehouse.insert(`${chain}_chain_state`, [row], { token: `edges:${chain}:${to}` })
  return to
}
