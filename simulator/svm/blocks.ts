import type { BlockHeader } from '../node/producer.ts'
import type { SealedTransaction } from './transactions.ts'

/** Header of a block. */
export interface Header extends BlockHeader {
  readonly slot: number
  readonly parentSlot: number
  readonly parentHash: string
  /** Index of the validator whose slot it is. */
  readonly leader: number
  readonly rewardRaw: bigint
  /** Lamports of the leader after its reward. */
  readonly leaderRaw: bigint
}

/** A block as it stands on the chain; `writes` are the places of the state that it changed. */
export interface SealedBlock extends Header {
  readonly transactions: readonly SealedTransaction[]
  readonly writes: ReadonlyMap<number, bigint>
}

/** The header alone, without what makes a block heavy. */
export const headerOnly = (block: Header): Header => {
  const { height, hash, timeMs, slot, parentSlot, parentHash, leader, rewardRaw, leaderRaw } = block
  return { height, hash, timeMs, slot, parentSlot, parentHash, leader, rewardRaw, leaderRaw }
}
