import pLimit from 'p-limit'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { Fault } from '../../core/errors.ts'
import { rateLimitAddress } from '../../core/http/network-address.ts'

/** Bounds what callers without a good credential can make a process compute. */
export interface SignatureLimit {
  /**
   * Runs the check of one signature in its turn; `false` counts as wrong. Answers `Fault` RATE_LIMIT, without a check, where the address
   * (IPv6: its /64) has shown too many wrong ones since the first of them, less than a second ago.
   */
  check(address: string, isGood: () => Promise<boolean>): Promise<Fault | undefined>
}

/** Signatures that are checked at the same time: what wrong ones of an address exceed its limit by is less than this. */
const CHECKS_AT_ONCE = 4
/** Wrong signatures are counted for this long from the first of them. */
const WINDOW_SECONDS = 1

/** A limit of wrong signatures per address and second. Good ones are not counted, however many come at once. */
export const createSignatureLimit = (wrongPerSecond: number): SignatureLimit => {
  const wrong = new RateLimiterMemory({ points: wrongPerSecond, duration: WINDOW_SECONDS })
  const turn = pLimit(CHECKS_AT_ONCE)
  return {
    check: (address, isGood) =>
      turn(async () => {
        const bucket = rateLimitAddress(address)
        const counted = (await wrong.get(bucket))?.consumedPoints ?? 0
        if (counted >= wrongPerSecond) return tooManyWrongSignatures(wrongPerSecond)
        if (!(await isGood())) await wrong.penalty(bucket)
        return undefined
      }),
  }
}

const tooManyWrongSignatures = (limit: number): Fault =>
  new Fault('RATE_LIMIT', 'Too many wrong signatures from this address', {
    limit,
    remaining: 0,
    reset_at: Math.ceil(Date.now() / 1_000) + WINDOW_SECONDS,
  })
