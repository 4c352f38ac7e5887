import { seedWord } from './random.ts'

/** Blocks that lose: whoever watches while the head is among them sees others in their place. */
export interface Orphaned {
  readonly from: number
  readonly to: number
}

/** Reorgs come after the chain has found its feet. */
const FIRST_HEIGHT = 10
const DEEPEST = 5

/**
 * The scheduled fork whose blocks are on show while the head is at `height`. One per `every` blocks, at a place and
 * with a depth that only the seed decides; forks never touch.
 */
export const orphanedAt = (seed: number, every: number, height: number): Orphaned | undefined => {
  if (every <= 0 || height < FIRST_HEIGHT) return undefined
  const window = Math.floor((height - FIRST_HEIGHT) / every)
  const at = seedWord(seed, 77, window) % every
  const roll = seedWord(seed, 78, window) % 16
  const wished = roll < 9 ? 1 : roll < 13 ? 2 : roll < 15 ? 3 : DEEPEST
  const to = FIRST_HEIGHT + window * every + at
  const from = to - Math.min(wished, at + 1) + 1
  return height >= from && height <= to ? { from, to } : undefined
}
