import { seedWord } from '../node/random.ts'

/** Time from slot to slot. */
export const SLOT_MS = 400

/** Of every 32 slots two have no block. */
const WINDOW = 32
const SKIPPED = 2

/** Slots of a window that have no block, in order: never its first one, so that slot 0 is a block; now and then two in a row. */
const skippedIn = (seed: number, window: number): readonly [number, number] => {
  const first = 1 + (seedWord(seed, 71, window) % (WINDOW - 1))
  const roll = seedWord(seed, 72, window)
  const second = roll % 3 === 0 ? first + 1 : 1 + (roll % (WINDOW - 1))
  if (second === first || second >= WINDOW) return first === 1 ? [1, 2] : [1, first]
  return first < second ? [first, second] : [second, first]
}

/** True when no block of the canonical chain has this slot. */
export const isSkipped = (seed: number, slot: number): boolean =>
  skippedIn(seed, Math.floor(slot / WINDOW)).includes(slot % WINDOW)

/** Slot of the canonical block at a height. */
export const slotAt = (seed: number, height: number): number => {
  const window = Math.floor(height / (WINDOW - SKIPPED))
  let within = height % (WINDOW - SKIPPED)
  for (const skipped of skippedIn(seed, window)) if (within >= skipped) within += 1
  return window * WINDOW + within
}

/** Height of the newest canonical block at or below a slot; -1 before slot 0. */
export const heightAt = (seed: number, slot: number): number => {
  if (slot < 0) return -1
  const window = Math.floor(slot / WINDOW)
  const within = slot % WINDOW
  const skipped = skippedIn(seed, window).filter((one) => one <= within).length
  return window * (WINDOW - SKIPPED) + within - skipped
}

/**
 * Slot of a block of a fork at a height. Forks on Solana are blocks of other slots: where the slot before the canonical
 * one was skipped, the fork has its block there.
 */
export const forkSlotAt = (seed: number, height: number): number => {
  const slot = slotAt(seed, height)
  return isSkipped(seed, slot - 1) ? slot - 1 : slot
}
