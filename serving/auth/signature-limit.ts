import pLimit from 'p-limit'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { Fault } from '../../core/errors.ts'
import { rateLimitAddress } from '../../core/http/network-address.ts'
import type { SignatureAnswer } from './contract-signatures.ts'
import type { KeyAnswer } from './wallet-signature.ts'

/** A good signature of a client without an account: counted as a wrong one, since it costs as much and strangers can make any number. */
type StrangerAnswer = 'stranger'

/** How one signature is checked. */
export interface SignatureCheck {
  /** Computes here, in turn with the checks of others. */
  readonly local: () => Promise<KeyAnswer | StrangerAnswer>
  /** Asks elsewhere for what is `unknown` here, beside the turns: a slow answer holds up no other check. Default: that is wrong. */
  readonly remote?: () => Promise<SignatureAnswer | StrangerAnswer>
}

/** Bounds what callers without a good credential can make a process compute. */
export interface SignatureLimit {
  /**
   * Checks one signature; a wrong one and a good one of a stranger are counted, an undecided one is not. Answers `Fault` RATE_LIMIT, without a
   * check, where the address (IPv6: its /64) has shown too many of them since the first, less than a second ago.
   */
  check(address: string, check: SignatureCheck): Promise<SignatureAnswer>
}

/**
 * Signatures that are checked here at the same time: what counted ones of an address exceed its limit by is less than this and what is
 * asked elsewhere for the address at that moment.
 */
const CHECKS_AT_ONCE = 4
/** Signatures are counted for this long from the first of them. */
const WINDOW_SECONDS = 1

/** A limit of counted signatures per address and second. Good ones of accounts are not counted, however many come at once. */
export const createSignatureLimit = (countedPerSecond: number): SignatureLimit => {
  const counts = new RateLimiterMemory({ points: countedPerSecond, duration: WINDOW_SECONDS })
  const limit = pLimit(CHECKS_AT_ONCE)
  const count = async <Answer>(
    bucket: string,
    answer: Answer | StrangerAnswer,
  ): Promise<Answer | 'good'> => {
    if (answer === 'wrong' || answer === 'stranger') await counts.penalty(bucket)
    return answer === 'stranger' ? 'good' : answer
  }
  return {
    check: async (address, { local, remote }) => {
      const bucket = rateLimitAddress(address)
      const first = await limit(async () => {
        const counted = (await counts.get(bucket))?.consumedPoints ?? 0
        if (counted >= countedPerSecond) return tooManySignatures(countedPerSecond)
        return count(bucket, await local())
      })
      if (first !== 'unknown') return first
      return count(bucket, (await remote?.()) ?? 'wrong')
    },
  }
}

const tooManySignatures = (limit: number): Fault =>
  new Fault('RATE_LIMIT', 'Too many wrong or unknown signatures from this address', {
    limit,
    remaining: 0,
    reset_at: Math.ceil(Date.now() / 1_000) + WINDOW_SECONDS,
  })
