import type { Query } from '../../core/clickhouse/client.ts'
import { maxReorgBlocks } from '../../schemas/chains.ts'
import { type BlocksOf, newestBlocksSql } from './latest-block.ts'

/** A block as the store has it, or one operation on it: it was added, or removed by a reorg. */
export interface StoredBlockRow {
  readonly seq: string
  readonly removed: number
  readonly slot: string
  readonly height: string
  readonly hash: string
  readonly parent_slot: string
  readonly parent_hash: string
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
  any(block_hash) AS hash, toString(any(${chain.id}_blocks.parent_slot)) AS parent_slot, any(${chain.id}_blocks.parent_hash) AS parent_hash,
  toString(any(toUnixTimestamp64Milli(block_time))) AS time_ms
FROM ${chain.id}_blocks WHERE ${chain.id}_blocks.seq > {after:UInt64} AND block_slot + ${maxReorgBlocks(chain)} >= {slot:UInt64}
GROUP BY ${chain.id}_blocks.seq ORDER BY ${chain.id}_blocks.seq LIMIT ${MAX_BLOCK_OPERATIONS}`,
  params: { after: String(afterSeq), slot: String(fromSlot) },
})

/** The last operation in the store and the newest slot; zeros before the first block. */
export const lastBlockQuery = (chain: BlocksOf): Query => ({
  sql: `SELECT toString(max(seq)) AS seq, toString(max(block_slot)) AS slot FROM ${chain.id}_blocks
WHERE ${newestBlocksSql(chain)}`,
})

/** The newest version of each block; whether it stands says `removed`. */
const newestVersionsSql = (table: string): string =>
  `SELECT toString(max(${table}.seq)) AS seq, argMax(_del, _ver) AS removed, toString(block_slot) AS slot, toString(any(block_height)) AS height,
  block_hash AS hash, toString(any(${table}.parent_slot)) AS parent_slot, any(${table}.parent_hash) AS parent_hash,
  toString(any(toUnixTimestamp64Milli(block_time))) AS time_ms`

/** Blocks of a range of slots, both ends included, those that were removed among them. */
export const blocksInSlotsQuery = (
  { id }: BlocksOf,
  { fromSlot, toSlot }: { readonly fromSlot: number; readonly toSlot: number },
): Query => ({
  sql: `${newestVersionsSql(`${id}_blocks`)}
FROM ${id}_blocks WHERE block_slot BETWEEN {from:UInt64} AND {to:UInt64}
GROUP BY block_slot, block_hash ORDER BY block_slot DESC`,
  params: { from: String(fromSlot), to: String(toSlot) },
})

/** The first blocks from a slot on that stood once the operation `upToSeq` was done, oldest first. */
export const standingBlocksQuery = (
  { id }: BlocksOf,
  range: { readonly fromSlot: number; readonly upToSeq: number; readonly limit: number },
): Query => ({
  sql: `${newestVersionsSql(`${id}_blocks`)}
FROM ${id}_blocks WHERE block_slot >= {from:UInt64} AND ${id}_blocks.seq <= {seq:UInt64}
GROUP BY block_slot, block_hash HAVING removed = 0 ORDER BY block_slot LIMIT {limit:UInt32}`,
  params: {
    from: String(range.fromSlot),
    seq: String(range.upToSeq),
    limit: String(range.limit),
  },
})

/** Versions of blocks at the end of a chain among which one stands: a reorg may have removed as many as it can, each with both of its versions. */
const newestVersions = (chain: BlocksOf): number => 2 * maxReorgBlocks(chain) + 1_000

/** The newest block that stood once the operation `upToSeq` was done. The table is read from its end. */
export const standingTipQuery = (chain: BlocksOf, upToSeq: number): Query => ({
  sql: `SELECT toString(block_slot) AS slot, block_hash AS hash FROM (
  SELECT block_slot, block_hash, _del, _ver FROM ${chain.id}_blocks WHERE seq <= {seq:UInt64}
  ORDER BY block_slot DESC LIMIT ${newestVersions(chain)})
GROUP BY block_slot, block_hash HAVING argMax(_del, _ver) = 0 ORDER BY block_slot DESC LIMIT 1`,
  params: { seq: String(upToSeq) },
})
