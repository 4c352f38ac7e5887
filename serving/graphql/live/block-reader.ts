import { type ChainRow, chainRow } from '../../../schemas/chains.ts'
import { emptyWork, type LimitedReads } from '../../queries/limited-reads.ts'
import {
  type BlockOperationRow,
  lastBlockQuery,
  newBlocksQuery,
  newestSlotQuery,
} from '../../queries/new-blocks.ts'

/** One operation on a chain's blocks. */
export interface BlockOperation {
  readonly seq: number
  readonly removed: boolean
  readonly slot: number
  readonly height: number
  readonly hash: string
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
  /** The newest slot of the operations up to one; 0 without any. */
  newestSlot(chain: string, upToSeq: number): Promise<number>
}

/** Whose statements these are among those of the organizations. */
const READER_ORG = 'graphql-subscriptions'

const rowOf = (id: string): ChainRow => {
  const row = chainRow(id)
  if (row === undefined) throw new Error(`not a chain: ${id}`)
  return row
}

/** Reads within the share of the surface; the signal ends what is under way. */
export const createBlockReader = (
  reads: Pick<LimitedReads, 'query'>,
  signal: AbortSignal,
): BlockReader => {
  const caller = () => ({ orgId: READER_ORG, plan: 'selfhost', signal, work: emptyWork() }) as const
  return {
    after: async (chain, from) => {
      const { rows } = await reads.query<BlockOperationRow>(
        newBlocksQuery(rowOf(chain), from),
        caller(),
      )
      return rows.map(({ seq, removed, slot, height, hash, time_ms }) => ({
        seq: Number(seq),
        removed: removed === 1,
        slot: Number(slot),
        height: Number(height),
        hash,
        timeMs: Number(time_ms),
      }))
    },
    last: async (chain) => {
      const query = lastBlockQuery(rowOf(chain))
      const { rows } = await reads.query<Pick<BlockOperationRow, 'seq' | 'slot'>>(query, caller())
      return { seq: Number(rows[0]?.seq ?? 0), slot: Number(rows[0]?.slot ?? 0) }
    },
    newestSlot: async (chain, upToSeq) => {
      const query = newestSlotQuery(rowOf(chain), upToSeq)
      const { rows } = await reads.query<Pick<BlockOperationRow, 'slot'>>(query, caller())
      return Number(rows[0]?.slot ?? 0)
    },
  }
}
