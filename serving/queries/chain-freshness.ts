import type { Query } from '../../core/clickhouse/client.ts'

/** First and newest block of a chain as the warehouse answers them. */
export interface FreshnessRow {
  readonly position: string
  readonly time_ms: string
}

/** Blocks at either end that may be removed ones: the true end lies among them. */
const REORG_WINDOW = 512

/**
 * Newest block, then the first: at most two rows. `FINAL` sees only the ends of the table; removed blocks there are
 * fewer than the deepest reorg that is followed. Solana counts slots, the others heights.
 */
export const freshnessQuery = (chain: string, counts: 'slot' | 'height'): Query => {
  const end = (bound: string, order: string): string =>
    `SELECT block_${counts} AS position, toUnixTimestamp64Milli(block_time) AS time_ms FROM ${chain}_blocks FINAL
  WHERE ${bound} ORDER BY block_slot ${order} LIMIT 1`
  return {
    sql: `SELECT * FROM (
  SELECT 0 AS place, * FROM (${end(`block_slot + ${REORG_WINDOW} >= (SELECT max(block_slot) FROM ${chain}_blocks)`, 'DESC')})
  UNION ALL SELECT 1 AS place, * FROM (${end(`block_slot <= (SELECT min(block_slot) FROM ${chain}_blocks) + ${REORG_WINDOW}`, 'ASC')})
) ORDER BY place`,
  }
}
