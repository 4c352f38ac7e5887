import { BurstyRateLimiter, RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import type { RateLimitState } from '../interfaces.ts'

/** Seconds after which a used burst is whole again. */
const BURST_SECONDS = 10

/** One request of `key`, which may make `perSecond` requests a second and as many again once in ten seconds. */
export type TakeRequest = (key: string, perSecond: number) => Promise<RateLimitState>

interface RateBucket {
  readonly steady: RateLimiterMemory
  readonly burst: RateLimiterMemory
  readonly both: BurstyRateLimiter
}

const createBucket = (perSecond: number): RateBucket => {
  const steady = new RateLimiterMemory({ keyPrefix: 's', points: perSecond, duration: 1 })
  const burst = new RateLimiterMemory({
    keyPrefix: 'b',
    points: perSecond,
    duration: BURST_SECONDS,
  })
  return { steady, burst, both: new BurstyRateLimiter(steady, burst) }
}

const remainingPoints = (state: RateLimiterRes | null, points: number): number =>
  state ? Math.max(0, points - state.consumedPoints) : points

/**
 * Rate limits in process; an entry leaves memory when its window ends. A process behind a balancer counts for itself:
 * a shared store is not built yet.
 */
export const createRateLimiter = (nowMs: () => number): TakeRequest => {
  const buckets = new Map<number, RateBucket>()
  return async (key, perSecond) => {
    const bucket = buckets.get(perSecond) ?? createBucket(perSecond)
    buckets.set(perSecond, bucket)
    const allowed = await bucket.both.consume(key).then(
      () => true,
      (refusal: unknown) => {
        if (refusal instanceof Error) throw refusal
        return false
      },
    )
    const [steady, burst] = await Promise.all([bucket.steady.get(key), bucket.burst.get(key)])
    const fullInMs = Math.max(steady?.msBeforeNext ?? 0, burst?.msBeforeNext ?? 0)
    return {
      allowed,
      limit: perSecond,
      remaining: allowed
        ? remainingPoints(steady, perSecond) + remainingPoints(burst, perSecond)
        : 0,
      resetAt: Math.ceil((nowMs() + fullInMs) / 1_000),
      retryAfterSeconds: Math.max(1, Math.ceil((steady?.msBeforeNext ?? 0) / 1_000)),
    }
  }
}
