import { InvalidInput } from '../../core/errors.ts'
import type { Block } from '../../schemas/events.ts'
import { type CanonicalNode, replacedBlocks } from './canonical-branch.ts'
import {
  applied,
  finalizable,
  finalized,
  judge,
  reverted,
  type Spacing,
  tipOf,
} from './chain-position.ts'
import type { BlockRef, ChainOp, Position } from './contract.ts'
import type { Head, HeadWatch } from './head-tracker.ts'

/** A finality step while catching up covers at most this many blocks. */
const FINAL_STEP = 32
/** Times a candidate may not fit a tip that the node still calls canonical, before that counts as an outage. */
const MAX_MISFITS = 5
/** Wait before a place in the chain is asked for again where no block fits. */
const MISFIT_WAIT_MS = 200
/** Block times beyond our clock by more than this are believed only when no endpoint says otherwise. */
const MAX_AHEAD_MS = 600_000
/** Longest wait for a pushed head before one is asked for. */
const MAX_WAIT_MS = 3_000

/** A node as the follower asks it. Every question may throw `Outage` or `InvalidInput`. */
export interface FollowedNode extends CanonicalNode {
  readonly heads: HeadWatch
  readonly spacing: Exclude<Spacing, 'recorded'>
  readonly blockTimeMs: number
  /** Most blocks that can be taken back. */
  readonly reorgBound: number
  readonly nowMs: () => number
  /** Block times of the chain may fall: one that does is set to that of the block below it. */
  readonly fallingTimes?: boolean
  /** The next block above the tip, or from height `from` on where nothing is applied; undefined = not there yet. */
  next(tip: BlockRef | null, from: number, head: Head): Promise<Block | undefined>
  /**
   * The next block above the tip that `fits`, from whichever endpoint has it; undefined = none has. One that gives another is blamed
   * with what `fits` throws.
   */
  above(tip: BlockRef, fits: (block: Block) => Block, head: Head): Promise<Block | undefined>
  /** Blocks that were fetched ahead are of another branch. */
  forget(): void
  /** Height of the newest final block. */
  finalHeight(head: Head): Promise<number>
  /** Told of what a node said and is not taken. */
  refuse(error: InvalidInput): void
}

/** Where and how long to follow. */
export interface Following {
  /** First height when there is no position; null = the head. */
  readonly from: number | null
  readonly stop: AbortSignal
}

/** Operations of a node's chain after a position, endless until `stop` aborts. Throws as `Source.operations`. */
export async function* followNode(
  node: FollowedNode,
  start: Position | null,
  { from, stop }: Following,
): AsyncGenerator<ChainOp> {
  let position = start
  let misfits = 0
  const settled: Settled = { height: -1 }
  while (!stop.aborted) {
    for await (const op of settle(node, position, settled)) {
      if (position) position = after(position, op)
      yield op
    }
    const tip = tipOf(position)
    const head = node.heads.newest()
    const first = position?.from ?? from ?? head?.height ?? 0
    let block = head === null ? undefined : await node.next(tip, first, head)
    if (block !== undefined && !fitsOn(node, position, block)) {
      node.forget()
      misfits += 1
      if (misfits === 1) node.refuse(misfitOf(tip, block))
      const replaced = position === null ? [] : await replacedBlocks(node, position)
      for (const ref of replaced) {
        if (position) position = reverted(position).next
        yield { op: 'revert', ref }
      }
      if (replaced.length > 0) continue
      const isTriedOut = misfits >= MAX_MISFITS
      const onlyAhead = chains(node, position, block) ? block : undefined
      const isLast = isTriedOut && onlyAhead === undefined
      const { hash } = block
      block = tip && head ? await fittingAbove({ node, tip, head, isLast }) : undefined
      if (block === undefined && isLast) throw misfitOf(tip, { hash })
      if (isTriedOut) block ??= onlyAhead
    }
    if (block === undefined) {
      const waitMs = misfits > 0 ? MISFIT_WAIT_MS : MAX_WAIT_MS
      await node.heads.after(head, Math.min(node.blockTimeMs * 1.5, waitMs))
    } else {
      misfits = 0
      const timed = timedAfter(node, tip, block)
      position = applied(position, refOf(timed), node.reorgBound)
      yield { op: 'apply', block: timed }
    }
  }
}

const refOf = ({ height, hash, parentHash, timeMs }: BlockRef): BlockRef => ({
  height,
  hash,
  parentHash,
  timeMs,
})

const after = (position: Position, op: ChainOp): Position =>
  op.op === 'finalize' ? finalized(position, op.ref) : reverted(position).next

const misfitOf = (tip: BlockRef | null, { hash }: Pick<BlockRef, 'hash'>): InvalidInput =>
  new InvalidInput(
    'parent-mismatch',
    `block ${hash} does not extend the chain at height ${tip?.height}`,
  )

/** Whether the block extends the tip, and its time does not fall where times of the chain cannot. */
const chains = (node: FollowedNode, position: Position | null, block: Block): boolean =>
  judge(position, block, node.spacing) === 'apply' &&
  (node.fallingTimes === true || !fallsBehind(tipOf(position), block))

/** Whether the block can be applied at once: one from the future would make every later one fall. */
const fitsOn = (node: FollowedNode, position: Position | null, block: Block): boolean =>
  chains(node, position, block) && !isAhead(node, block)

const isAhead = ({ nowMs }: FollowedNode, { timeMs }: Block): boolean =>
  timeMs > nowMs() + MAX_AHEAD_MS

const fallsBehind = (tip: BlockRef | null, { timeMs }: Block): boolean =>
  tip !== null && timeMs < tip.timeMs

/** The block, if it can be applied above the tip. Throws `InvalidInput`: `parent-mismatch`, `falling-time`, `future-time`. */
const fitting = (node: FollowedNode, tip: BlockRef, block: Block): Block => {
  if (block.parentHash !== tip.hash) {
    throw new InvalidInput(
      'parent-mismatch',
      `block ${block.height} is not on top of our ${tip.height}`,
    )
  }
  if (node.fallingTimes !== true && fallsBehind(tip, block)) throw fallingTime(tip, block)
  if (isAhead(node, block)) {
    throw new InvalidInput(
      'future-time',
      `block ${block.height} is of ${block.timeMs}, which our clock has not reached`,
    )
  }
  return block
}

interface Above {
  readonly node: FollowedNode
  readonly tip: BlockRef
  readonly head: Head
  /** What endpoints say instead is thrown: it was asked for often enough. */
  readonly isLast: boolean
}

/** A block that fits above the tip, from whichever endpoint has one. */
const fittingAbove = ({ node, tip, head, isLast }: Above): Promise<Block | undefined> =>
  node
    .above(tip, (block) => fitting(node, tip, block), head)
    .catch((error: unknown) => {
      if (isLast || !(error instanceof InvalidInput)) throw error
      return undefined
    })

const fallingTime = (tip: BlockRef, { height, timeMs }: Block): InvalidInput =>
  new InvalidInput(
    'falling-time',
    `the time of block ${height} is ${tip.timeMs - timeMs} ms before that of ${tip.height}`,
  )

/** The block; where times of the chain may fall, at the time of the block below it at least, which is counted. */
const timedAfter = (node: FollowedNode, tip: BlockRef | null, block: Block): Block => {
  if (tip === null || !fallsBehind(tip, block)) return block
  node.refuse(fallingTime(tip, block))
  return { ...block, timeMs: tip.timeMs }
}

/** Where finality was asked for last. */
interface Settled {
  height: number
}

/**
 * What finality and the canonical chain say of the blocks we hold: FINALIZE operations, and REVERT of blocks that others have
 * replaced. Asked once per head and every `FINAL_STEP` blocks while catching up.
 */
async function* settle(
  node: FollowedNode,
  position: Position | null,
  settled: Settled,
): AsyncGenerator<ChainOp> {
  const tip = tipOf(position)
  const head = node.heads.newest()
  if (position === null || tip === null || head === null) return
  const live = head.height <= tip.height
  if (!live && Math.abs(tip.height - settled.height) < FINAL_STEP) return
  let held: Position = position
  if (live && head.hash !== null && !holds(position, head.hash)) {
    for (const ref of await replacedBlocks(node, position)) {
      held = reverted(held).next
      yield { op: 'revert', ref }
    }
  }
  settled.height = tip.height
  const candidate = finalizable(held, await node.finalHeight(head))
  if (candidate !== null && (await node.isCanonical(candidate)) === true) {
    yield { op: 'finalize', ref: candidate }
  }
}

/** Whether the block is one of ours: a head behind our tip is only late. */
const holds = ({ stack }: Position, hash: string): boolean =>
  stack.findLastIndex((ref) => ref.hash === hash) !== -1
