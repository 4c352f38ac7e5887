import { InvalidInput } from '../../core/errors.ts'
import type { Block } from '../../schemas/events.ts'
import type { BlockRef, Position } from './contract.ts'

/**
 * The chain follower as pure functions: continuity, reorg, finality. It holds applied blocks that are not final; the shell
 * asks it what a block, a canonical hash or a finality notice means and carries the answer out.
 */

/** Newest applied block; null before the first. */
export const tipOf = (position: Position | null): BlockRef | null => position?.stack.at(-1) ?? null

/** What a candidate for the height above the tip means. */
export type CandidateAction = 'apply' | 'revert'

/**
 * How heights of a chain's blocks follow one another: without gaps, with skipped slots between them (Solana), or as they
 * happened to be recorded, when nothing says which block follows which.
 */
export type Spacing = 'dense' | 'sparse' | 'recorded'

/**
 * The candidate extends the tip, or the tip is no longer canonical. Of a recording any higher block extends it. Throws
 * `InvalidInput` for a candidate of the wrong height.
 */
export const candidateAction = (
  position: Position | null,
  candidate: BlockRef,
  spacing: Spacing = 'dense',
): CandidateAction => {
  const tip = tipOf(position)
  if (tip === null) return 'apply'
  const above = candidate.height > tip.height
  if (spacing === 'recorded' && above) return 'apply'
  if (spacing === 'sparse' ? !above : candidate.height !== tip.height + 1) {
    const expected =
      spacing === 'sparse' ? `a block above ${tip.height}` : `block ${tip.height + 1}`
    throw new InvalidInput('wrong-height', `expected ${expected}, got ${candidate.height}`)
  }
  return candidate.parentHash === tip.hash ? 'apply' : 'revert'
}

/** Height of the block under this one: one less, on Solana the slot that the block names. */
export const parentHeightOf = (block: Block): number =>
  block.vm === 'svm' ? block.parentSlot : block.height - 1

/** Position with the block on top; of the blocks below it the newest `bound` are held, itself included. */
export const applied = (
  position: Position | null,
  { ...ref }: BlockRef,
  bound = Number.POSITIVE_INFINITY,
): Position => {
  const stack = [...(position?.stack ?? []), ref]
  const truncated = position?.truncated === true || stack.length > bound
  return {
    stack: stack.length > bound ? stack.slice(-bound) : stack,
    final: position?.final ?? null,
    ...(truncated && { truncated }),
  }
}

/** Index in the stack of the newest block that cannot be taken back: final, or the oldest that is held. -1: all can. */
export const floorOf = (position: Position): number => {
  const final = position.stack.findLastIndex((ref) => isFinal(position, ref))
  return final === -1 && position.truncated === true ? 0 : final
}

/**
 * Position without its tip. Throws `InvalidInput` for a block that cannot be taken back: `reorg-below-finality`, because what was
 * published as final would have to be, or `reorg-beyond-window`, because how to is no longer known.
 */
export const reverted = (
  position: Position,
): { readonly ref: BlockRef; readonly next: Position } => {
  const { stack, final, truncated } = position
  const ref = stack.at(-1)
  if (ref === undefined || stack.length - 1 <= floorOf(position)) throw tooDeep(position, ref)
  const next: Position = { stack: stack.slice(0, -1), final, ...(truncated && { truncated }) }
  return { ref, next: next.stack.length === 0 ? { ...next, from: ref.height } : next }
}

/** Why this block cannot be taken back. */
export const tooDeep = (position: Position, ref: BlockRef | undefined): InvalidInput => {
  const isBelowFinal = ref === undefined || isFinal(position, ref)
  return new InvalidInput(
    isBelowFinal ? 'reorg-below-finality' : 'reorg-beyond-window',
    `the node's chain leaves ours ${isBelowFinal ? 'below its own finality' : 'below the reorg window'}, at height ${ref?.height ?? 'unknown'}`,
  )
}

const isFinal = ({ final }: Position, ref: BlockRef): boolean =>
  final !== null && ref.height <= final.height

/**
 * The block that a finality notice makes final for us: the highest applied one not above `height`; null when there is
 * nothing new. Whether our block at that height is the canonical one is the shell's to ask before.
 */
export const finalizable = (position: Position | null, height: number): BlockRef | null => {
  const candidate = position?.stack.findLast((ref) => ref.height <= height)
  if (position === null || candidate === undefined || isFinal(position, candidate)) return null
  return candidate
}

/** Position after FINALIZE: final blocks leave the stack, but for the newest of them, which the next block may have to extend. */
export const finalized = (position: Position, ref: BlockRef): Position => ({
  stack: position.stack.filter(({ height }) => height >= ref.height),
  final: ref,
})

/** The reference of a block without the rest of it. */
export const refOf = ({ height, hash, parentHash, timeMs }: BlockRef): BlockRef => ({
  height,
  hash,
  parentHash,
  timeMs,
})
