import type { Bus, Lane } from '../../core/bus/contract.ts'
import { makeYieldIfDue } from '../../core/runtime/yield-if-due.ts'
import type { BlockRef, ChainOp, Position } from '../follow/contract.ts'
import type { ChainContext, Prepared } from './block-operation.ts'
import { type CommitGroups, type GroupLimits, makeCommitGroups } from './commit-groups.ts'
import { mergedCommit, sizeOfOperation } from './merge-operations.ts'
import { type Ledger, openLedger } from './metadata-store.ts'
import { countDecoded } from './metrics.ts'
import { makeOperations } from './operation-maker.ts'
import { type BlockReading, readBlock } from './read-block.ts'
import { recover } from './resume.ts'

/** What a session needs beside its lane. */
export interface SessionOptions extends BlockReading {
  readonly bus: Bus
  readonly chainContext: Omit<ChainContext, 'partition'>
  readonly limits: GroupLimits
}

/** Where a chain stands in the log. */
export interface CommittedHead {
  readonly seq: number
  readonly tip: BlockRef | null
}

/** An operation whose commit is to come, and what is counted then. */
interface Taken {
  readonly prepared: Prepared
  readonly count: () => void
}

/**
 * One ownership of a chain: recovered from the log, it commits operation after operation, several in one commit, until a commit
 * throws. The session is over then, and the next one reads what was committed.
 */
export interface Session extends Pick<CommitGroups<Taken>, 'flush' | 'pending'> {
  /** Behind what was taken, committed or not. */
  readonly position: () => Position | null
  /** Newest block there. */
  readonly tip: () => BlockRef | null
  /** What is committed. */
  readonly head: () => CommittedHead
  /** Metadata and prices as of the newest block that was taken. */
  readonly known: Pick<Ledger, 'token' | 'pool' | 'quotes'>
  /**
   * Makes the records of an operation and puts them into a commit, which `flush` waits for. When it throws, everything that was
   * taken before is committed, unless it is an `Outage` of a commit: the outcome of that is not known.
   */
  readonly take: (op: ChainOp, signal: AbortSignal) => Promise<void>
}

/**
 * Recovers a chain from its topic and the lane's state. The lane's writer has fenced every earlier one. `onCommitted` is called
 * after each commit.
 */
export const openSession = async (
  options: SessionOptions,
  lane: Lane,
  onCommitted: (head: CommittedHead) => void,
): Promise<Session> => {
  const { bus, metrics, limits } = options
  const chainContext: ChainContext = { ...options.chainContext, partition: lane.partition }
  const { chain, codec, store } = chainContext
  const ledger = openLedger(await lane.state(store))
  const recovered = await recover(bus, codec, chain)
  const maker = makeOperations({ bus, chainContext, ledger }, recovered)
  let head: CommittedHead = { seq: recovered.seq, tip: recovered.cursor.tip }
  const rest = makeYieldIfDue()
  const groups = makeCommitGroups<Taken>({
    limits,
    sizeOf: ({ prepared }) => sizeOfOperation(prepared),
    commit: async (group) => {
      const operations = group.map(({ prepared }) => prepared)
      const { commit, events } = mergedCommit(operations, chainContext)
      await lane.writer.commit(commit)
      maker.committed(operations, events())
      for (const { count } of group) count()
      const last = operations.at(-1)
      if (last !== undefined) head = { seq: last.seq, tip: last.cursor.tip }
      onCommitted(head)
    },
  })
  const prepare = async (op: ChainOp, signal: AbortSignal): Promise<Taken> => {
    const count = (): void => metrics.blocksIngested.inc({ chain: chain.id, op: op.op })
    if (op.op === 'revert') return { prepared: await maker.revert(op.ref), count }
    if (op.op === 'finalize') return { prepared: maker.finalize(op.ref), count }
    const { block } = op
    const read = await readBlock(options, ledger, block, signal)
    await rest()
    const countAll = (): void => {
      countDecoded(metrics, read.decoded, block)
      count()
    }
    return { prepared: maker.apply(read), count: countAll }
  }
  return {
    position: maker.position,
    tip: maker.tip,
    head: () => head,
    known: ledger,
    flush: groups.flush,
    pending: groups.pending,
    take: async (op, signal) => {
      await rest()
      const taken = await prepare(op, signal).catch(async (error: unknown) => {
        await groups.flush()
        throw error
      })
      await groups.add(taken)
    },
  }
}
