import { LRUCache } from 'lru-cache'
import type { RateLimitState } from '../interfaces.ts'

/** Seconds of the rate that may be used at once after a pause, unless a limiter is made with another number. */
export const BURST_SECONDS = 2
/**
 * Longest debt, in seconds of the rate, from requests that other processes report, unless a limiter is made with another one: a late
 * report must not lock an organization out.
 */
const MAX_DEBT_SECONDS = 30
/** Buckets in memory; the least recently used are evicted and start full again. */
const MAX_BUCKETS = 100_000

/** Token buckets of one kind of caller. */
export interface RateLimiter {
  /** One request of `key`, which may make `perSecond` requests a second, and those of the burst's seconds at once after a pause. */
  take(key: string, perSecond: number): RateLimitState
  /** State of `key`, without counting a request. */
  peek(key: string, perSecond: number): RateLimitState
  /** Counts requests that other processes allowed. A key without a bucket here is skipped. */
  charge(key: string, requests: number): void
  /** Takes back one request of `key`. */
  refund(key: string): void
}

interface Bucket {
  /** Requests that the rate has not refilled yet; more than the burst = requests are rejected. */
  spent: number
  atMs: number
  perSecond: number
}

/** Refills by the time since the last refill. A clock that goes back refills nothing. */
const refill = (bucket: Bucket, nowMs: number): void => {
  const seconds = Math.max(0, nowMs - bucket.atMs) / 1_000
  bucket.spent = Math.max(0, bucket.spent - seconds * bucket.perSecond)
  bucket.atMs = nowMs
}

const toState = (
  { spent, perSecond }: Bucket,
  {
    allowed,
    most,
    nowMs,
  }: { readonly allowed: boolean; readonly most: number; readonly nowMs: number },
): RateLimitState => {
  const left = most - spent
  return {
    allowed,
    limit: perSecond,
    remaining: Math.max(0, Math.floor(left)),
    resetAt: Math.ceil(nowMs / 1_000 + spent / perSecond),
    retryAfterSeconds: Math.max(1, Math.ceil((1 - left) / perSecond)),
  }
}

/** Token buckets in memory. */
export const createRateLimiter = (
  nowMs: () => number,
  burstSeconds = BURST_SECONDS,
  maxDebtSeconds = MAX_DEBT_SECONDS,
): RateLimiter => {
  const buckets = new LRUCache<string, Bucket>({ maxSize: MAX_BUCKETS, sizeCalculation: () => 1 })
  const bucketOf = (key: string, perSecond: number): Bucket => {
    const bucket = buckets.get(key) ?? { spent: 0, atMs: nowMs(), perSecond }
    refill(bucket, nowMs())
    bucket.perSecond = perSecond
    return bucket
  }
  return {
    take: (key, perSecond) => {
      const bucket = bucketOf(key, perSecond)
      const most = perSecond * burstSeconds
      const allowed = bucket.spent + 1 <= most
      if (allowed) bucket.spent += 1
      buckets.set(key, bucket)
      return toState(bucket, { allowed, most, nowMs: nowMs() })
    },
    peek: (key, perSecond) => {
      const bucket = bucketOf(key, perSecond)
      const most = perSecond * burstSeconds
      return toState(bucket, { allowed: bucket.spent + 1 <= most, most, nowMs: nowMs() })
    },
    charge: (key, requests) => {
      const bucket = buckets.peek(key)
      if (bucket === undefined) return
      refill(bucket, nowMs())
      const maxSpent = bucket.perSecond * (burstSeconds + maxDebtSeconds)
      bucket.spent = Math.max(bucket.spent, Math.min(maxSpent, bucket.spent + requests))
    },
    refund: (key) => {
      const bucket = buckets.peek(key)
      if (bucket === undefined) return
      refill(bucket, nowMs())
      bucket.spent = Math.max(0, bucket.spent - 1)
    },
  }
}
