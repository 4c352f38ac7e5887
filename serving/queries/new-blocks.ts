import type { Query } from '../../core/clickhouse/client.ts'
import { maxReorgBlocks } from '../../schemas/chains.ts'
import { type BlocksOf, newestBlocksSql } from './latest-block.ts'

/** One operation on a chain's blocks: a block was added, or removed by a reorg. */
export interface BlockOperationRow {
  readonly seq: string
  readonly removed: number
  readonly slot: string
  readonly height: string
  readonly hash: string
  readonly time_ms: string
}

/** Operations of one reading. */
const MAX_BLOCK_OPERATIONS = 2_000

/**
 * Operations after `afterSeq`, oldest first. Without `FINAL`: a removal is a row of its own until the parts of the table are
 * merged, and of a block that was added and removed only the removal may be left. `fromSlot` is the newest slot that was read.
 */
export const newBlocksQuery = (
  chain: BlocksOf,
  { afterSeq, fromSlot }: { readonly afterSeq: number; readonly fromSlot: number },
): Query => ({
  sql: `SELECT toString(seq) AS seq, max(_del) AS removed, toString(any(block_slot)) AS slot, toString(any(block_height)) AS height,
  any(block_hash) AS hash, toString(any(toUnixTimestamp64Milli(block_time))) AS time_ms
FROM ${chain.id}_blocks WHERE ${chain.id}_blocks.seq > {after:UInt64} AND block_slot + ${maxReorgBlocks(chain)} >= {slot:UInt64}
GROUP BY ${chain.id}_blocks.seq ORDER BY ${chain.id}_blocks.seq LIMIT ${MAX_BLOCK_OPERATIONS}`,
  params: { after: String(afterSeq), slot: String(fromSlot) },
})

/** The last operation in the store and the newest slot; zeros before the first block. */
export const lastBlockQuery = (chain: BlocksOf): Query => ({
  sql: `SELECT toString(max(seq)) AS seq, toString(max(block_slot)) AS slot FROM ${chain.id}_blocks
WHERE ${newestBlocksSql(chain)}`,
})

/** The newest slot of the operations up to one. The table is read from its end. */
export const newestSlotQuery = ({ id }: BlocksOf, upToSeq: number): Query => ({
  sql: `SELECT toString(block_slot) AS slot FROM ${id}_blocks WHERE seq <= {seq:UInt64} ORDER BY block_slot DESC LIMIT 1`,
  params: { seq: String(upToSeq) },
})
