import type { Query } from '../../core/clickhouse/client.ts'

/** A block's identity. */
export interface BlockRow {
  readonly hash: string
  readonly height: string
}

/** Blocks at the end of the table that may have been taken back. */
const REORG_WINDOW = 512

/** The newest block of a chain. */
export const latestBlockQuery = (chain: string): Query => ({
  sql: `SELECT block_hash AS hash, toString(block_height) AS height FROM ${chain}_blocks FINAL
WHERE block_slot + ${REORG_WINDOW} >= (SELECT max(block_slot) FROM ${chain}_blocks) ORDER BY block_slot DESC LIMIT 1`,
})
