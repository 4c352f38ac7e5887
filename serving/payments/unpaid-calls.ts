import { Fault } from '../../core/errors.ts'
import { rateLimitAddress } from '../../core/http/network-address.ts'
import { createRateLimiter } from '../billing/rate-limiter.ts'

/** Calls without a charge that a payer, and all payers of an address (IPv6: its /64), may make after a pause of a minute. */
const MAX_PER_PAYER = 30
const MAX_PER_ADDRESS = 120
const REFILL_SECONDS = 60

/** Who a call is counted to. */
export interface UnpaidCaller {
  readonly payer: string
  readonly address: string
}

/** Bounds calls that are worked for and not paid: their answer is a failure, their client leaves, or their settlement fails. */
export interface UnpaidCalls {
  /** Counts a call that is not paid yet. Throws `Fault` RATE_LIMIT where its payer or address has no call left. */
  take(caller: UnpaidCaller): void
  /** A counted call is paid, or was not worked for. */
  giveBack(caller: UnpaidCaller): void
}

/** Counts in memory of this process. */
export const createUnpaidCalls = (nowMs: () => number): UnpaidCalls => {
  const limiter = createRateLimiter(nowMs, REFILL_SECONDS)
  return {
    take: (caller) => {
      const limits = limitsOf(caller)
      for (const [key, most] of limits) {
        const { allowed, retryAfterSeconds } = limiter.peek(key, most / REFILL_SECONDS)
        if (!allowed) throw tooManyUnpaidCalls(most, Math.ceil(nowMs() / 1_000) + retryAfterSeconds)
      }
      for (const [key, most] of limits) limiter.take(key, most / REFILL_SECONDS)
    },
    giveBack: (caller) => {
      for (const [key] of limitsOf(caller)) limiter.refund(key)
    },
  }
}

const limitsOf = ({ payer, address }: UnpaidCaller) =>
  [
    [`payer:${payer}`, MAX_PER_PAYER],
    [`address:${rateLimitAddress(address)}`, MAX_PER_ADDRESS],
  ] as const

const tooManyUnpaidCalls = (limit: number, resetAt: number): Fault =>
  new Fault('RATE_LIMIT', 'Too many calls were not paid: their payment was given back', {
    limit,
    remaining: 0,
    reset_at: resetAt,
  })
