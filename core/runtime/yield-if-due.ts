import { setImmediate as turn } from 'node:timers/promises'

/** How long work may hold the event loop before others get a turn. */
const MAX_BLOCKING_MS = 20

/** Gives others a turn when the work since the last one has held the event loop for long; else returns at once. */
export type YieldIfDue = () => Promise<void> | undefined

/** Begins to measure now. */
export const makeYieldIfDue = (): YieldIfDue => {
  let sinceMs = performance.now()
  return () => {
    if (performance.now() - sinceMs < MAX_BLOCKING_MS) return undefined
    return turn().then(() => {
      sinceMs = performance.now()
    })
  }
}
