import { Fault } from '../../../core/errors.ts'
import type { QueryCaller } from '../../queries/limited-reads.ts'
import type { BlockScope } from '../block-scope.ts'
import {
  type BlockFeed,
  type FeedPosition,
  MAX_BLOCKS_PER_STEP,
  reorgDepth,
  toScope,
} from './block-feed.ts'
import type { BlockHistory, BlockOperation } from './block-reader.ts'
import { type BlockTip, blockTip, isEmptyTip, isTip } from './resume-cursor.ts'

/** What a position is continued with: the blocks after it, absent where there are none, and whether they are all that is stored. */
export interface CatchUpStep extends FeedPosition {
  readonly scope?: BlockScope
  readonly isLast: boolean
}

/** The store does not show what stood at the position before all rows of an operation are there. */
export interface NotYet {
  readonly untilSeq: number
}

/**
 * The next blocks of a chain after a position, oldest first and bounded, in the state in which the store has all of their rows:
 * blocks that stood at the position and stand no longer, then those that stand since. Throws `Fault` INVALID_CURSOR for a
 * position that the store does not know, and CURSOR_EXPIRED for one that is more than `maxSlots` behind the newest.
 */
export type CatchUp = (
  feed: Pick<BlockFeed, 'chain' | 'stored'>,
  tip: BlockTip,
  caller: QueryCaller,
) => Promise<CatchUpStep | NotYet>

/** Slots of one reading back to where a fork began. */
const SLOTS_PER_READING = 256

/** Where the chain of a position meets the chain that stands. */
interface Fork {
  /** Blocks of the position's chain that stand no longer, newest first. */
  readonly removed: readonly BlockOperation[]
  /** Their last common block. */
  readonly tip: BlockTip
  /** The last operation on it: what came after the position came behind it. */
  readonly seq: number
}

const unknownBlock = (): Fault =>
  new Fault(
    'INVALID_CURSOR',
    `The cursor of 'extensions.resume' names a block that is not stored here: query the rows that are missing and subscribe without it`,
    { parameter: 'resume' },
  )

const expired = (maxSlots: number): Fault =>
  new Fault(
    'CURSOR_EXPIRED',
    `The cursor of 'extensions.resume' is more than ${maxSlots} slots behind the newest block: query the rows that are missing and subscribe without it`,
    { parameter: 'resume' },
  )

/** Goes from a block to its parents until one stands. */
const findFork = async (
  history: BlockHistory,
  { chain, seq }: { readonly chain: string; readonly seq: number },
  tip: BlockTip,
  caller: QueryCaller,
): Promise<Fork | NotYet> => {
  const removed: BlockOperation[] = []
  const lowestSlot = Math.max(0, tip.slot - reorgDepth(chain))
  let wanted = tip
  // The position's own slot first: as a rule its block stands.
  let [fromSlot, toSlot] = [tip.slot, tip.slot]
  for (;;) {
    for (const block of await history.inSlots(chain, { fromSlot, toSlot }, caller)) {
      if (!isTip(wanted, block)) continue
      // A later operation hides whether it stood: once that one is stored, it tells.
      if (block.seq > seq) return { untilSeq: block.seq }
      if (!block.removed) return { removed, tip: wanted, seq: block.seq }
      removed.push(block)
      wanted = blockTip({ slot: block.parentSlot, hash: block.parentHash })
    }
    // A block that should have been among those that were read is not there.
    if (wanted.slot >= fromSlot || fromSlot <= lowestSlot) throw unknownBlock()
    toSlot = fromSlot - 1
    fromSlot = Math.max(lowestSlot, fromSlot - SLOTS_PER_READING)
  }
}

/** Catches up by what the store has. */
export const createCatchUp =
  (history: BlockHistory, { maxSlots }: { readonly maxSlots: number }): CatchUp =>
  async (feed, tip, caller) => {
    const { chain } = feed
    const { seq, slot: newestSlot } = feed.stored()
    if (newestSlot - tip.slot > maxSlots) throw expired(maxSlots)
    const isEmpty = isEmptyTip(tip)
    const fork = isEmpty
      ? { removed: [], tip, seq: 0 }
      : await findFork(history, { chain, seq }, tip, caller)
    if ('untilSeq' in fork) return fork
    const range = { fromSlot: isEmpty ? 0 : fork.tip.slot + 1, upToSeq: seq }
    const limit = MAX_BLOCKS_PER_STEP
    const added = await history.standing(chain, { ...range, limit }, caller)
    const last = added.at(-1)
    const blocks = [...fork.removed, ...added]
    const scope = toScope(chain, blocks)
    return {
      seq,
      tip: last ? blockTip(last) : fork.tip,
      isLast: added.length < limit,
      // States that a block changed which came and went in between have versions of its operations.
      ...(blocks.length > 0 && {
        scope: { ...scope, fromSeq: Math.min(scope.fromSeq, fork.seq + 1) },
      }),
    }
  }
