import { syncBuiltinESMExports } from 'node:module'
import { mock } from 'node:test'

/** Time that moves only when it is told to: pauses and clocks of everything in this process follow it. */
export interface SimulatedTime {
  readonly nowMs: () => number
  /** Moves on, lets what is due begin, and returns once nothing is left to do before the next timer. */
  step(ms: number): Promise<void>
  /** Takes over `Math.random`, which pauses between tries are spread with. */
  seed(random: () => number): void
}

const START_TIME_MS = Date.UTC(2026, 0, 1)

/**
 * Puts simulated time in place of `setTimeout`, `Date.now` and `performance.now`, for the rest of this process. Only a process
 * that does no input or output of its own may call it: one turn of the event loop counts as all that can be done at a moment.
 */
export const startSimulatedTime = (): SimulatedTime => {
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: START_TIME_MS })
  // Named imports of `node:timers/promises` follow only now.
  syncBuiltinESMExports()
  const nowMs = (): number => Date.now()
  // Replaced by hand: `mock.method` would keep every call.
  performance.now = () => Date.now() - START_TIME_MS
  let random: () => number = () => 0.5
  Math.random = () => random()
  return {
    nowMs,
    step: async (ms) => {
      mock.timers.tick(ms)
      await turn()
    },
    seed: (next) => {
      random = next
    },
  }
}
