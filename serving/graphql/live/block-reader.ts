import { type ChainRow, chainRow } from '../../../schemas/chains.ts'
import { emptyWork, type LimitedReads, type QueryCaller } from '../../queries/limited-reads.ts'
import {
  blocksInSlotsQuery,
  lastBlockQuery,
  newBlocksQuery,
  type StoredBlockRow,
  standingBlocksQuery,
  standingTipQuery,
} from '../../queries/new-blocks.ts'
import { type BlockTip, blockTip, EMPTY_TIP } from './resume-cursor.ts'

/** One operation on a chain's blocks. */
export interface BlockOperation {
  readonly seq: number
  readonly removed: boolean
  readonly slot: number
  readonly height: number
  readonly hash: string
  readonly parentSlot: number
  readonly parentHash: string
  readonly timeMs: number
}

/** Reads a chain's blocks from the store. */
export interface BlockReader {
  /** Operations after one, oldest first, bounded. */
  after(
    chain: string,
    from: { readonly afterSeq: number; readonly fromSlot: number },
  ): Promise<readonly BlockOperation[]>
  /** The last operation and the newest slot. */
  last(chain: string): Promise<{ readonly seq: number; readonly slot: number }>
  /** The newest block that stood after an operation; `EMPTY_TIP` where none did. */
  tipAfter(chain: string, seq: number): Promise<BlockTip>
  /** The last operation of each block of a range of slots, both ends included. */
  inSlots(
    chain: string,
    range: { readonly fromSlot: number; readonly toSlot: number },
  ): Promise<readonly BlockOperation[]>
}

/** Reads blocks that came long ago, each with its last operation, on behalf of who resumes. */
export interface BlockHistory {
  /** Blocks of a range of slots, both ends included, newest slot first; those that were removed among them. */
  inSlots(
    chain: string,
    range: { readonly fromSlot: number; readonly toSlot: number },
    caller: QueryCaller,
  ): Promise<readonly BlockOperation[]>
  /** The first blocks from a slot on that stood after the operation `upToSeq`, oldest first. */
  standing(
    chain: string,
    range: { readonly fromSlot: number; readonly upToSeq: number; readonly limit: number },
    caller: QueryCaller,
  ): Promise<readonly BlockOperation[]>
}

/** Whose statements these are among those of the organizations. */
const READER_ORG = 'graphql-subscriptions'

const rowOf = (id: string): ChainRow => {
  const row = chainRow(id)
  if (row === undefined) throw new Error(`not a chain: ${id}`)
  return row
}

const toOperation = (row: StoredBlockRow): BlockOperation => ({
  seq: Number(row.seq),
  removed: row.removed === 1,
  slot: Number(row.slot),
  height: Number(row.height),
  hash: row.hash,
  parentSlot: Number(row.parent_slot),
  parentHash: row.parent_hash,
  timeMs: Number(row.time_ms),
})

/** Reads within the share of the surface; the signal ends what is under way. */
export const createBlockReader = (
  reads: Pick<LimitedReads, 'query'>,
  signal: AbortSignal,
): BlockReader => {
  const caller = () => ({ orgId: READER_ORG, plan: 'selfhost', signal, work: emptyWork() }) as const
  return {
    after: async (chain, from) => {
      const query = newBlocksQuery(rowOf(chain), from)
      const { rows } = await reads.query<StoredBlockRow>(query, caller())
      return rows.map(toOperation)
    },
    last: async (chain) => {
      const query = lastBlockQuery(rowOf(chain))
      const { rows } = await reads.query<Pick<StoredBlockRow, 'seq' | 'slot'>>(query, caller())
      return { seq: Number(rows[0]?.seq ?? 0), slot: Number(rows[0]?.slot ?? 0) }
    },
    tipAfter: async (chain, seq) => {
      const query = standingTipQuery(rowOf(chain), seq)
      const { rows } = await reads.query<Pick<StoredBlockRow, 'slot' | 'hash'>>(query, caller())
      const [row] = rows
      return row === undefined ? EMPTY_TIP : blockTip({ slot: Number(row.slot), hash: row.hash })
    },
    inSlots: async (chain, range) => {
      const query = blocksInSlotsQuery(rowOf(chain), range)
      return (await reads.query<StoredBlockRow>(query, caller())).rows.map(toOperation)
    },
  }
}

/** Reads as one statement of the caller. */
export const createBlockHistory = (reads: Pick<LimitedReads, 'query'>): BlockHistory => ({
  inSlots: async (chain, range, caller) => {
    const query = blocksInSlotsQuery(rowOf(chain), range)
    return (await reads.query<StoredBlockRow>(query, caller)).rows.map(toOperation)
  },
  standing: async (chain, range, caller) => {
    const query = standingBlocksQuery(rowOf(chain), range)
    return (await reads.query<StoredBlockRow>(query, caller)).rows.map(toOperation)
  },
})
