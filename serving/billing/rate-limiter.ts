import { LRUCache } from 'lru-cache'
import type { RateLimitState } from '../interfaces.ts'

/** Seconds of the rate that may be used at once after a pause. */
export const BURST_SECONDS = 2
/** Seconds of the rate that what others used may cost here at most: a late report must not lock an organization out. */
const MAX_DEBT_SECONDS = 30
/** Buckets held; the ones that were not used for longest are forgotten, so a caller among more than these starts anew. */
const MAX_BUCKETS = 100_000

/** Token buckets of one kind of caller. */
export interface RateLimiter {
  /** One request of `key`, which may make `perSecond` requests a second and as many again after a pause. */
  take(key: string, perSecond: number): RateLimitState
  /** Where `key` stands, without a request. */
  look(key: string, perSecond: number): RateLimitState
  /** Takes off what other processes let pass. A key that was not seen here has nothing to take it from. */
  charge(key: string, requests: number): void
}

interface Bucket {
  /** Requests that the rate has not paid off yet; more than the burst = nothing passes. */
  spent: number
  atMs: number
  perSecond: number
}

/** Pays off what the time since the last look allows. A clock that goes back pays off nothing. */
const payOff = (bucket: Bucket, nowMs: number): void => {
  const seconds = Math.max(0, nowMs - bucket.atMs) / 1_000
  bucket.spent = Math.max(0, bucket.spent - seconds * bucket.perSecond)
  bucket.atMs = nowMs
}

const toState = ({ spent, perSecond }: Bucket, allowed: boolean, nowMs: number): RateLimitState => {
  const left = perSecond * BURST_SECONDS - spent
  return {
    allowed,
    limit: perSecond,
    remaining: Math.max(0, Math.floor(left)),
    resetAt: Math.ceil(nowMs / 1_000 + spent / perSecond),
    retryAfterSeconds: Math.max(1, Math.ceil((1 - left) / perSecond)),
  }
}

/** Token buckets in memory. */
export const createRateLimiter = (nowMs: () => number): RateLimiter => {
  const buckets = new LRUCache<string, Bucket>({ max: MAX_BUCKETS })
  const bucketOf = (key: string, perSecond: number): Bucket => {
    const bucket = buckets.get(key) ?? { spent: 0, atMs: nowMs(), perSecond }
    payOff(bucket, nowMs())
    bucket.perSecond = perSecond
    return bucket
  }
  return {
    take: (key, perSecond) => {
      const bucket = bucketOf(key, perSecond)
      const allowed = bucket.spent + 1 <= perSecond * BURST_SECONDS
      if (allowed) bucket.spent += 1
      buckets.set(key, bucket)
      return toState(bucket, allowed, nowMs())
    },
    look: (key, perSecond) => toState(bucketOf(key, perSecond), true, nowMs()),
    charge: (key, requests) => {
      const bucket = buckets.peek(key)
      if (bucket === undefined) return
      payOff(bucket, nowMs())
      const most = bucket.perSecond * (BURST_SECONDS + MAX_DEBT_SECONDS)
      bucket.spent = Math.max(bucket.spent, Math.min(most, bucket.spent + requests))
    },
  }
}
