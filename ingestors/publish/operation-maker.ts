import { LRUCache } from 'lru-cache'
import type { Bus } from '../../core/bus/contract.ts'
import { type ChainRow, maxReorgBlocks } from '../../schemas/chains.ts'
import type { BlockEvent } from '../../schemas/wire.ts'
import { refOf, reverted } from '../follow/chain-position.ts'
import type { BlockRef, Position } from '../follow/contract.ts'
import {
  applyOperation,
  type ChainContext,
  finalizeOperation,
  type Prepared,
  type ReadBlock,
  revertOperation,
} from './block-operation.ts'
import type { Cursor } from './block-record.ts'
import type { Ledger } from './metadata-store.ts'
import type { EventBatch } from './record-batches.ts'
import { batchesAt } from './reread-block.ts'
import { type Applied, parentRef, positionOf, type Recovered } from './resume.ts'

/** The newest blocks' records are held for a reorg, as many as have so many events; older ones are read again from the log. */
const MAX_CACHED_EVENTS = 20_000

/**
 * Makes the operations of a chain one after the other, each on what the ones before it leave behind, committed or not. What it
 * throws leaves nothing behind.
 */
export interface OperationMaker {
  /** Behind the newest operation that was made. */
  readonly position: () => Position | null
  /** Newest applied block there, or the parent of the only one that was reverted. */
  readonly tip: () => BlockRef | null
  readonly apply: (read: Omit<ReadBlock, 'expired'>) => Prepared
  /** Throws `InvalidInput` for a block that cannot be taken back. */
  readonly revert: (ref: BlockRef) => Promise<Prepared>
  readonly finalize: (ref: BlockRef) => Prepared
  /** Operations are committed, and these are their block records. */
  readonly committed: (operations: readonly Prepared[], events: readonly BlockEvent[]) => void
}

/** What operations are made with. */
export interface MakerOptions {
  readonly bus: Bus
  readonly chainContext: ChainContext
  readonly ledger: Ledger
}

/** Goes on where a log ends. */
export const makeOperations = (
  { bus, chainContext, ledger }: MakerOptions,
  recovered: Recovered,
): OperationMaker => {
  const bound = maxReorgBlocks(chainContext.chain)
  const records = recordCache(bus, chainContext)
  let { seq, cursor, stack, truncated } = recovered
  const enter = (prepared: Prepared): Prepared => {
    ledger.take(prepared.pending)
    records.made(prepared)
    seq = prepared.seq
    cursor = prepared.cursor
    return prepared
  }
  return {
    position: () => positionOf({ cursor, stack, truncated }),
    tip: () => cursor.tip,
    apply: (read) => {
      const ref = refOf(read.block)
      const expired = stack.slice(0, Math.max(stack.length + 1 - bound, 0))
      const operation = { seq: seq + 1, cursor: { ...cursor, tip: ref } }
      const seqs = expired.map((applied) => applied.seq)
      const prepared = applyOperation(chainContext, ledger, operation, { ...read, expired: seqs })
      const applied = { ref, seq: prepared.seq, header: prepared.header, spans: null }
      stack = [...stack.slice(expired.length), applied]
      truncated ||= expired.length > 0
      return enter(prepared)
    },
    revert: async (ref) => {
      const newest = stack.at(-1)
      if (newest === undefined || newest.ref.hash !== ref.hash) {
        throw new Error(`reorg reverts ${ref.hash}, which is not the current tip`)
      }
      // Throws before anything is written for a block that cannot be taken back.
      reverted({ stack: stack.map((each) => each.ref), final: cursor.final, truncated })
      const batches = await records.of(newest)
      // Read after the wait: a commit may have told meanwhile where records lie.
      const below = stack.slice(0, -1)
      const next: Cursor = { ...cursor, tip: below.at(-1)?.ref ?? parentRef(ref) }
      const operation = { seq: seq + 1, cursor: next }
      const prepared = revertOperation(chainContext, ledger, operation, newest, batches)
      stack = below
      return enter(prepared)
    },
    finalize: (ref) => {
      const finalOperations = stack.filter((applied) => applied.ref.height <= ref.height)
      const finalSeq = finalOperations.at(-1)?.seq ?? cursor.finalSeq
      const operation = { seq: seq + 1, cursor: { ...cursor, final: ref, finalSeq } }
      const seqs = finalOperations.map((applied) => applied.seq)
      const prepared = finalizeOperation(chainContext, ledger, operation, ref, seqs)
      stack = stack.filter((applied) => applied.ref.height >= ref.height)
      truncated = false
      return enter(prepared)
    },
    committed: (operations, events) => {
      for (const prepared of operations) {
        ledger.markCommitted(prepared.pending)
        records.committed(prepared)
      }
      const spans = new Map(events.map((event) => [event.meta.seq, event.spans]))
      stack = stack.map((applied) => {
        const written = spans.get(applied.seq)
        return written === undefined ? applied : { ...applied, spans: written }
      })
    },
  }
}

/** Where the records of applied blocks are found again. */
const recordCache = (
  bus: Bus,
  { codec, chain }: { readonly codec: ChainContext['codec']; readonly chain: Pick<ChainRow, 'id'> },
) => {
  const cache = new LRUCache<number, readonly EventBatch[]>({
    maxSize: MAX_CACHED_EVENTS,
    // Those of a block that is larger than all room are not held.
    sizeCalculation: (batches) => 1 + batches.reduce((sum, { events }) => sum + events.length, 0),
  })
  /** Those that the log does not have yet. */
  const uncommitted = new Map<number, readonly EventBatch[]>()
  return {
    made: ({ op, seq, batches }: Prepared): void => {
      if (op !== 'OP_APPLY') return
      uncommitted.set(seq, batches)
      cache.set(seq, batches)
    },
    committed: ({ seq }: Prepared): void => {
      uncommitted.delete(seq)
    },
    of: async ({ seq, spans }: Applied): Promise<readonly EventBatch[]> => {
      const known = uncommitted.get(seq) ?? cache.get(seq)
      if (known !== undefined) return known
      if (spans === null)
        throw new Error(`no offsets are known for the records of operation ${seq}`)
      return batchesAt({ bus, codec, chain: chain.id }, { seq, spans })
    },
  }
}
