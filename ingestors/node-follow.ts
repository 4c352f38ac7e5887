import { Malformed } from '../core/fault.ts'
import type { Block } from '../schemas/events.ts'
import { applied, finalizable, finalized, judge, reverted, type Spacing, tipOf } from './follow.ts'
import type { Head, HeadWatch } from './heads.ts'
import type { BlockRef, ChainOp, Position } from './source.ts'

/** A finality step while catching up covers at most this many blocks. */
const FINAL_STEP = 32
/** Times a candidate may not fit a tip that the node still calls canonical, before that counts as an outage. */
const MAX_MISFITS = 5
/** Longest wait for a pushed head before one is asked for. */
const MAX_WAIT_MS = 3_000

/** A node as the follower asks it. Every question may throw `Outage` or `Malformed`. */
export interface FollowedNode {
  readonly heads: HeadWatch
  readonly spacing: Exclude<Spacing, 'recorded'>
  readonly blockTimeMs: number
  /** The next block above the tip, or from height `from` on where nothing is applied; undefined = not there yet. */
  next(tip: BlockRef | null, from: number, head: Head): Promise<Block | undefined>
  /** Blocks that were fetched ahead are of another branch. */
  forget(): void
  /** Whether the node's own chain holds this block; undefined = it cannot tell now. */
  isCanonical(ref: BlockRef): Promise<boolean | undefined>
  /** Height of the newest final block. */
  finalHeight(head: Head): Promise<number>
  /** Told of what a node said and is not taken. */
  refuse(error: Malformed): void
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
  let first = from
  let misfits = 0
  while (!stop.aborted) {
    for await (const op of settle(node, position)) {
      if (position)
        position = op.op === 'finalize' ? finalized(position, op.ref) : reverted(position).next
      if (op.op === 'revert') first = op.ref.height
      yield op
    }
    const tip = tipOf(position)
    const head = node.heads.newest()
    const block = head === null ? undefined : await node.next(tip, first ?? head.height, head)
    if (block === undefined) {
      await node.heads.after(head, Math.min(node.blockTimeMs * 1.5, MAX_WAIT_MS))
    } else if (judge(position, block, node.spacing) === 'apply') {
      misfits = 0
      position = applied(position, refOf(block))
      yield { op: 'apply', block }
    } else {
      node.forget()
      misfits += 1
      if (tip === null || position === null || (await node.isCanonical(tip)) !== false) {
        const error = new Malformed('misfit', `no block fits above ${tip?.height}: ${block.hash}`)
        if (misfits >= MAX_MISFITS) throw error
        if (misfits === 1) node.refuse(error)
        continue
      }
      const { ref, next: under } = reverted(position)
      position = under
      first = ref.height
      yield { op: 'revert', ref }
    }
  }
}

const refOf = ({ height, hash, parentHash, timeMs }: BlockRef): BlockRef => ({
  height,
  hash,
  parentHash,
  timeMs,
})

/**
 * What finality and the canonical chain say of the blocks we hold: FINALIZE operations, and REVERT of a tip that another
 * block has replaced at its height. Asked once per head and every `FINAL_STEP` blocks while catching up.
 */
async function* settle(node: FollowedNode, position: Position | null): AsyncGenerator<ChainOp> {
  const tip = tipOf(position)
  const head = node.heads.newest()
  if (position === null || tip === null || head === null) return
  const live = head.height <= tip.height
  if (!live && position.stack.length < FINAL_STEP) return
  let held: Position = position
  while (live && head.hash !== null && head.hash !== tip.hash) {
    const top = tipOf(held)
    if (top === null || (await node.isCanonical(top)) !== false) break
    const { ref, next } = reverted(held)
    held = next
    yield { op: 'revert', ref }
  }
  const candidate = finalizable(held, await node.finalHeight(head))
  if (candidate !== null && (await node.isCanonical(candidate)) === true) {
    yield { op: 'finalize', ref: candidate }
  }
}
