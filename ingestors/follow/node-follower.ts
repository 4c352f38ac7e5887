import { InvalidInput } from '../../core/errors.ts'
import type { Block } from '../../schemas/events.ts'
import { type CanonicalNode, replacedBlocks } from './canonical-branch.ts'
import {
  applied,
  candidateAction,
  finalizable,
  finalized,
  floorOf,
  refOf,
  reverted,
  type Spacing,
  tipOf,
} from './chain-position.ts'
import type { BlockRef, ChainOp, Position } from './contract.ts'
import type { Head, HeadWatch } from './head-tracker.ts'

/** A finality step while catching up covers at most this many blocks. */
const FINAL_STEP = 32
/** Times a candidate may not fit a tip that the node still calls canonical, before that counts as an outage. */
const MAX_REJECTED_CANDIDATES = 5
/** Wait before a height is asked for again where no block fits. */
const REJECTED_WAIT_MS = 200
/**
 * A block whose time is beyond our clock by more is not taken: every later one would seem to fall behind it. Nodes accept seconds, so
 * what this leaves room for is our own clock.
 */
const MAX_AHEAD_MS = 900_000
/** Longest wait for a pushed head before one is asked for. */
const MAX_WAIT_MS = 3_000

/** A node as the follower queries it. Every call may throw `Outage` or `InvalidInput`. */
export interface FollowedNode extends CanonicalNode {
  readonly heads: HeadWatch
  readonly spacing: Exclude<Spacing, 'recorded'>
  readonly blockTimeMs: number
  /** Most blocks that can be taken back. */
  readonly reorgBound: number
  readonly nowMs: () => number
  /** Block times of the chain may fall: one that does is set to that of the block below it. */
  readonly fallingTimes?: boolean
  /** Whether most endpoints show this block with another time. Absent: a block that was applied is not taken back for that. */
  hasOtherTime?(ref: BlockRef): Promise<boolean>
  /** The next block above the tip, or from height `from` on where nothing is applied; undefined = not there yet. */
  next(tip: BlockRef | null, from: number, head: Head): Promise<Block | undefined>
  /**
   * The next block above the tip that `fits`, from whichever endpoint has it; undefined = none has. One that gives another is blamed
   * with what `fits` throws.
   */
  above(tip: BlockRef, fits: (block: Block) => Block, head: Head): Promise<Block | undefined>
  /** Blocks that were fetched ahead are of another branch. */
  clearCache(): void
  /** Height of the newest final block. */
  finalHeight(head: Head): Promise<number>
  /** Called with what a node answered and is rejected. */
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
  let rejectedCandidates = 0
  const lastCheck: FinalityCheck = { height: -1 }
  while (!stop.aborted) {
    for await (const op of reconcileWithHead(node, position, lastCheck)) {
      if (position) position = after(position, op)
      yield op
    }
    const tip = tipOf(position)
    const head = node.heads.newest()
    const first = position?.from ?? from ?? head?.height ?? 0
    let block = head === null ? undefined : await node.next(tip, first, head)
    const rejection = block && rejectCandidate(node, position, block)
    if (rejection !== undefined) {
      node.clearCache()
      rejectedCandidates += 1
      if (rejectedCandidates === 1) node.refuse(rejection)
      const wrong = position === null ? [] : await wrongBlocks(node, position, rejection)
      for (const ref of wrong) {
        if (position) position = reverted(position).next
        yield { op: 'revert', ref }
      }
      if (wrong.length > 0) continue
      const isLast = rejectedCandidates >= MAX_REJECTED_CANDIDATES
      block =
        position && tip && head
          ? await fittingAbove({ node, position, tip, head, isLast })
          : undefined
      if (block === undefined && isLast) throw rejection
    }
    if (block === undefined) {
      const waitMs = rejectedCandidates > 0 ? REJECTED_WAIT_MS : MAX_WAIT_MS
      await node.heads.after(head, Math.min(node.blockTimeMs * 1.5, waitMs))
    } else {
      rejectedCandidates = 0
      const timed = timedAfter(node, tip, block)
      position = applied(position, refOf(timed), node.reorgBound)
      yield { op: 'apply', block: timed }
    }
  }
}

const after = (position: Position, op: ChainOp): Position =>
  op.op === 'finalize' ? finalized(position, op.ref) : reverted(position).next

/** Why the block cannot be applied: `parent-mismatch`, `falling-time`, `future-time`; undefined where it can. */
const rejectCandidate = (
  node: FollowedNode,
  position: Position | null,
  block: Block,
): InvalidInput | undefined => {
  const tip = tipOf(position)
  if (candidateAction(position, block, node.spacing) !== 'apply') {
    const where = `block ${block.height} ${block.hash} does not extend our ${tip?.height}`
    return new InvalidInput('parent-mismatch', where)
  }
  if (tip !== null && node.fallingTimes !== true && fallsBehind(tip, block)) {
    return fallingTime(tip, block)
  }
  const aheadMs = block.timeMs - node.nowMs()
  if (aheadMs <= MAX_AHEAD_MS) return undefined
  const when = `block ${block.height} is ${Math.round(aheadMs / 1_000)} s ahead of our clock`
  return new InvalidInput('future-time', when)
}

/** Blocks of ours to take back, newest first: replaced ones, or a tip that nodes now show with another time than it had when applied. */
const wrongBlocks = async (
  node: FollowedNode,
  position: Position,
  { reason }: InvalidInput,
): Promise<readonly BlockRef[]> => {
  const replaced = await replacedBlocks(node, position)
  const tip = tipOf(position)
  if (replaced.length > 0 || tip === null || reason !== 'falling-time') return replaced
  const canRevert = position.stack.length - 1 > floorOf(position)
  return canRevert && (await node.hasOtherTime?.(tip)) === true ? [tip] : []
}

const fallsBehind = (tip: BlockRef, { timeMs }: Block): boolean => timeMs < tip.timeMs

interface Above {
  readonly node: FollowedNode
  readonly position: Position
  readonly tip: BlockRef
  readonly head: Head
  /** What endpoints say instead is thrown: it was asked for often enough. */
  readonly isLast: boolean
}

/** A block that fits above the tip, from whichever endpoint has one. */
const fittingAbove = ({ node, position, tip, head, isLast }: Above): Promise<Block | undefined> =>
  node
    .above(
      tip,
      (block) => {
        const rejection = rejectCandidate(node, position, block)
        if (rejection !== undefined) throw rejection
        return block
      },
      head,
    )
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
interface FinalityCheck {
  height: number
}

/**
 * What finality and the canonical chain say of the blocks we hold: FINALIZE operations, and REVERT of blocks that others have
 * replaced. Asked once per head and every `FINAL_STEP` blocks while catching up.
 */
async function* reconcileWithHead(
  node: FollowedNode,
  position: Position | null,
  lastCheck: FinalityCheck,
): AsyncGenerator<ChainOp> {
  const tip = tipOf(position)
  const head = node.heads.newest()
  if (position === null || tip === null || head === null) return
  const live = head.height <= tip.height
  if (!live && Math.abs(tip.height - lastCheck.height) < FINAL_STEP) return
  let held: Position = position
  if (live && head.hash !== null && !holds(position, head.hash)) {
    for (const ref of await replacedBlocks(node, position)) {
      held = reverted(held).next
      yield { op: 'revert', ref }
    }
  }
  lastCheck.height = tip.height
  const candidate = finalizable(held, await node.finalHeight(head))
  if (candidate !== null && (await node.isCanonical(candidate)) === true) {
    yield { op: 'finalize', ref: candidate }
  }
}

/** Whether the block is one of ours: a head behind our tip is only late. */
const holds = ({ stack }: Position, hash: string): boolean =>
  stack.findLastIndex((ref) => ref.hash === hash) !== -1
