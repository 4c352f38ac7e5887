import type { Query } from '../../core/clickhouse/client.ts'
import { type BlocksOf, newestBlocksSql } from './latest-block.ts'

/** Fees of a block, wei per gas as text. */
export interface BlockFeeRow {
  readonly base_fee: string
  /** Median above the base fee; null: no transaction reported what it paid. */
  readonly priority_fee: string | null
}

/** Blocks that a gas price is made of: four minutes of Ethereum. As many as go-ethereum's oracle samples ("gpo.blocks"). */
const SAMPLED_BLOCKS = 20

/** Fees of the newest blocks of a chain, newest first. */
export const blockFeesQuery = (chain: BlocksOf): Query => ({
  sql: `SELECT toString(base_fee) AS base_fee, toString(priority_fee) AS priority_fee FROM ${chain.id}_blocks FINAL
WHERE ${newestBlocksSql(chain)} ORDER BY block_slot DESC LIMIT ${SAMPLED_BLOCKS}`,
})

/**
 * The newest base fee and the lower median of the blocks' priority fees, wei per gas; undefined where no block says what its
 * transactions paid, because a base fee alone gets no transaction taken.
 */
export const gasPriceOf = (blocks: readonly BlockFeeRow[]): bigint | undefined => {
  const fees = blocks
    .flatMap(({ priority_fee }) => (priority_fee === null ? [] : [BigInt(priority_fee)]))
    .toSorted((one, other) => (one < other ? -1 : one > other ? 1 : 0))
  const median = fees[(fees.length - 1) >> 1]
  return median === undefined ? undefined : BigInt(blocks[0]?.base_fee ?? 0) + median
}
