import pLimit from 'p-limit'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { Fault } from '../../core/errors.ts'
import { rateLimitAddress } from '../../core/http/network-address.ts'
import type { SignatureAnswer } from './contract-signatures.ts'
import type { KeyAnswer } from './wallet-signature.ts'

/** How one signature is checked. */
export interface SignatureCheck {
  /** Computes here, in turn with the checks of others. */
  readonly local: () => Promise<KeyAnswer>
  /** Asks elsewhere for what is `unknown` here, beside the turns: a slow answer holds up no other check. Default: that is wrong. */
  readonly remote?: () => Promise<SignatureAnswer>
}

/** Bounds what callers without a good credential can make a process compute. */
export interface SignatureLimit {
  /**
   * Checks one signature; a wrong one is counted, an undecided one is not. Answers `Fault` RATE_LIMIT, without a check, where the address
   * (IPv6: its /64) has shown too many wrong ones since the first of them, less than a second ago.
   */
  check(address: string, check: SignatureCheck): Promise<SignatureAnswer>
}

/**
 * Signatures that are checked here at the same time: what wrong ones of an address exceed its limit by is less than this and what is
 * asked elsewhere for the address at that moment.
 */
const CHECKS_AT_ONCE = 4
/** Wrong signatures are counted for this long from the first of them. */
const WINDOW_SECONDS = 1

/** A limit of wrong signatures per address and second. Good ones are not counted, however many come at once. */
export const createSignatureLimit = (wrongPerSecond: number): SignatureLimit => {
  const failures = new RateLimiterMemory({ points: wrongPerSecond, duration: WINDOW_SECONDS })
  const limit = pLimit(CHECKS_AT_ONCE)
  return {
    check: async (address, { local, remote }) => {
      const bucket = rateLimitAddress(address)
      const first = await limit(async () => {
        const counted = (await failures.get(bucket))?.consumedPoints ?? 0
        if (counted >= wrongPerSecond) return tooManyWrongSignatures(wrongPerSecond)
        const answer = await local()
        if (answer === 'wrong') await failures.penalty(bucket)
        return answer
      })
      if (first !== 'unknown') return first
      const answer = (await remote?.()) ?? 'wrong'
      if (answer === 'wrong') await failures.penalty(bucket)
      return answer
    },
  }
}

const tooManyWrongSignatures = (limit: number): Fault =>
  new Fault('RATE_LIMIT', 'Too many wrong signatures from this address', {
    limit,
    remaining: 0,
    reset_at: Math.ceil(Date.now() / 1_000) + WINDOW_SECONDS,
  })
