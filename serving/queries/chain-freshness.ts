import type { Query } from '../../core/clickhouse/client.ts'
import { type ChainRow, maxReorgBlocks } from '../../schemas/chains.ts'
import { type BlocksOf, newestBlocksSql } from './latest-block.ts'

/** First and newest block of a chain as the warehouse answers them. */
export interface FreshnessRow {
  readonly position: string
  readonly slot: string
  readonly time_ms: string
}

/**
 * Newest block, then the first: at most two rows. `FINAL` sees only the ends of the table; removed blocks there are
 * fewer than the deepest reorg that is followed. Solana counts slots, the others heights.
 */
export const freshnessQuery = (chain: BlocksOf & Pick<ChainRow, 'vm'>): Query => {
  const blocks = `${chain.id}_blocks`
  const counts = chain.vm === 'svm' ? 'slot' : 'height'
  const oldest = `block_slot <= (SELECT min(block_slot) FROM ${blocks}) + ${maxReorgBlocks(chain)}`
  const end = (bound: string, order: string): string =>
    `SELECT block_${counts} AS position, block_slot AS slot, toUnixTimestamp64Milli(block_time) AS time_ms FROM ${blocks} FINAL
  WHERE ${bound} ORDER BY block_slot ${order} LIMIT 1`
  return {
    sql: `SELECT * FROM (
  SELECT 0 AS place, * FROM (${end(newestBlocksSql(chain), 'DESC')})
  UNION ALL SELECT 1 AS place, * FROM (${end(oldest, 'ASC')})
) ORDER BY place`,
  }
}
