import type { Query } from '../../core/clickhouse/client.ts'
import { type ChainRow, maxReorgBlocks } from '../../schemas/chains.ts'

/** A block's identity. */
export interface BlockRow {
  readonly hash: string
  readonly height: string
}

/** A chain as its blocks are read. */
export type BlocksOf = Pick<ChainRow, 'id' | 'reorgWindow'>

/** The newest blocks of a chain, one that was not taken back among them: `FINAL` merges no others. */
export const newestBlocksSql = (chain: BlocksOf): string =>
  `block_slot + ${maxReorgBlocks(chain)} >= (SELECT max(block_slot) FROM ${chain.id}_blocks)`

/** The newest block of a chain. */
export const latestBlockQuery = (chain: BlocksOf): Query => ({
  sql: `SELECT block_hash AS hash, toString(block_height) AS height FROM ${chain.id}_blocks FINAL
WHERE ${newestBlocksSql(chain)} ORDER BY block_slot DESC LIMIT 1`,
})

/** The newest time that the chain has reached: windows end there, not at a wall clock. */
export const headTimeSql = (chain: string): string =>
  `(SELECT max(block_time) FROM ${chain}_blocks)`
