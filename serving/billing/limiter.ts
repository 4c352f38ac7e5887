import { BurstyRateLimiter, RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import type { RateState } from '../interfaces.ts'

/** Seconds after which a used burst is whole again. */
const BURST_SECONDS = 10

/** One request of `key`, which may make `perSecond` requests a second and as many again once in ten seconds. */
export type Take = (key: string, perSecond: number) => Promise<RateState>

interface Bucket {
  readonly steady: RateLimiterMemory
  readonly burst: RateLimiterMemory
  readonly both: BurstyRateLimiter
}

const makeBucket = (perSecond: number): Bucket => {
  const steady = new RateLimiterMemory({ keyPrefix: 's', points: perSecond, duration: 1 })
  const burst = new RateLimiterMemory({
    keyPrefix: 'b',
    points: perSecond,
    duration: BURST_SECONDS,
  })
  return { steady, burst, both: new BurstyRateLimiter(steady, burst) }
}

const left = (state: RateLimiterRes | null, points: number): number =>
  state ? Math.max(0, points - state.consumedPoints) : points

/**
 * Rate limits in process; an entry leaves memory when its window ends. A process behind a balancer counts for itself:
 * a shared store is not built yet.
 */
export const makeTake = (nowMs: () => number): Take => {
  const buckets = new Map<number, Bucket>()
  return async (key, perSecond) => {
    const bucket = buckets.get(perSecond) ?? makeBucket(perSecond)
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
      remaining: allowed ? left(steady, perSecond) + left(burst, perSecond) : 0,
      resetAt: Math.ceil((nowMs() + fullInMs) / 1_000),
      retryAfterSeconds: Math.max(1, Math.ceil((steady?.msBeforeNext ?? 0) / 1_000)),
    }
  }
}
