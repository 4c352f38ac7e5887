import { hashToUint32 } from '../node/random.ts'

/** Time from slot to slot. */
export const SLOT_MS = 400

/** Of every 32 slots two have no block. */
const SKIP_WINDOW_SLOTS = 32
const SKIPPED_PER_WINDOW = 2

/** Slots of a window that have no block, in order: never its first one, so that slot 0 is a block; now and then two in a row. */
const skippedSlots = (seed: number, window: number): readonly [number, number] => {
  const first = 1 + (hashToUint32(seed, 71, window) % (SKIP_WINDOW_SLOTS - 1))
  const roll = hashToUint32(seed, 72, window)
  const second = roll % 3 === 0 ? first + 1 : 1 + (roll % (SKIP_WINDOW_SLOTS - 1))
  if (second === first || second >= SKIP_WINDOW_SLOTS) return first === 1 ? [1, 2] : [1, first]
  return first < second ? [first, second] : [second, first]
}

/** True when no block of the canonical chain has this slot. */
export const isSkipped = (seed: number, slot: number): boolean =>
  skippedSlots(seed, Math.floor(slot / SKIP_WINDOW_SLOTS)).includes(slot % SKIP_WINDOW_SLOTS)

/** Slot of the canonical block at a height. */
export const slotAt = (seed: number, height: number): number => {
  const window = Math.floor(height / (SKIP_WINDOW_SLOTS - SKIPPED_PER_WINDOW))
  let within = height % (SKIP_WINDOW_SLOTS - SKIPPED_PER_WINDOW)
  for (const skipped of skippedSlots(seed, window)) if (within >= skipped) within += 1
  return window * SKIP_WINDOW_SLOTS + within
}

/** Height of the newest canonical block at or below a slot; -1 before slot 0. */
export const heightAt = (seed: number, slot: number): number => {
  if (slot < 0) return -1
  const window = Math.floor(slot / SKIP_WINDOW_SLOTS)
  const within = slot % SKIP_WINDOW_SLOTS
  const skipped = skippedSlots(seed, window).filter((one) => one <= within).length
  return window * (SKIP_WINDOW_SLOTS - SKIPPED_PER_WINDOW) + within - skipped
}

/**
 * Slot of a block of a fork at a height. Forks on Solana are blocks of other slots: where the slot before the canonical
 * one was skipped, the fork has its block there.
 */
export const forkSlotAt = (seed: number, height: number): number => {
  const slot = slotAt(seed, height)
  return isSkipped(seed, slot - 1) ? slot - 1 : slot
}
