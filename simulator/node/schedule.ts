import { hashToUint32 } from './random.ts'

/** Blocks that lose: whoever watches while the head is among them sees others in their place. */
export interface OrphanedRange {
  readonly from: number
  readonly to: number
}

/** Reorgs come after the chain has found its feet. */
const FIRST_REORG_HEIGHT = 10
const MAX_SCHEDULED_DEPTH = 5

/**
 * The scheduled fork whose blocks are on show while the head is at `height`. One per `every` blocks, at a place and
 * with a depth that only the seed decides; forks never touch.
 */
export const orphanedRangeAt = (
  seed: number,
  every: number,
  height: number,
): OrphanedRange | undefined => {
  if (every <= 0 || height < FIRST_REORG_HEIGHT) return undefined
  const window = Math.floor((height - FIRST_REORG_HEIGHT) / every)
  const at = hashToUint32(seed, 77, window) % every
  const roll = hashToUint32(seed, 78, window) % 16
  const wished = roll < 9 ? 1 : roll < 13 ? 2 : roll < 15 ? 3 : MAX_SCHEDULED_DEPTH
  const to = FIRST_REORG_HEIGHT + window * every + at
  const from = to - Math.min(wished, at + 1) + 1
  return height >= from && height <= to ? { from, to } : undefined
}
