import { LRUCache } from 'lru-cache'
import pLimit, { type LimitFunction } from 'p-limit'
import { pause } from '../../core/retry.ts'

/**
 * Plans requests, or computes something else for them, one at a time, for each organization one after the other. Planning runs on the thread that answers everybody,
 * so an organization whose request took long to plan waits a multiple of that time before its next one. `name`: the
 * organization; `plan` tells what it computed, in milliseconds.
 */
export type PlanningQueue = <T>(
  name: string,
  plan: (computed: (ms: number) => void) => Promise<T>,
) => Promise<T>

/** What a plan may compute without a rest after it: ten times what an ordinary query takes. */
const FREE_PLANNING_MS = 20
/** A rest is so many times what was computed beyond that: an organization has a fifth of the thread at most. */
const REST_FACTOR = 4
const MAX_REST_MS = 1_000
/** Organizations that are remembered. */
const MAX_ORGS = 10_000

interface OrgQueue {
  readonly limit: LimitFunction
  pausedUntilMs: number
}

/** Turns of one process. */
export const createPlanningQueue = (): PlanningQueue => {
  const one = pLimit(1)
  const names = new LRUCache<string, OrgQueue>({ max: MAX_ORGS })
  const queueOf = (name: string): OrgQueue => {
    const queue = names.get(name) ?? { limit: pLimit(1), pausedUntilMs: 0 }
    names.set(name, queue)
    return queue
  }
  return (name, plan) => {
    const queue = queueOf(name)
    return queue.limit(async () => {
      const pauseMs = queue.pausedUntilMs - performance.now()
      if (pauseMs > 0) await pause(pauseMs)
      let computedMs = 0
      const computed = (ms: number): void => {
        computedMs += ms
      }
      try {
        return await one(() => plan(computed))
      } finally {
        const pauseAfterMs = Math.min(
          MAX_REST_MS,
          Math.max(0, computedMs - FREE_PLANNING_MS) * REST_FACTOR,
        )
        queue.pausedUntilMs = performance.now() + pauseAfterMs
      }
    })
  }
}
