import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
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
const WINDOW_MS = 1_000
/** Addresses that are counted; beyond that the one that was not seen for the longest time is forgotten. */
const MAX_ADDRESSES = 100_000

/** A limit of wrong signatures per address and second of the clock. Good ones are not counted, however many come at once. */
export const createSignatureLimit = (
  wrongPerSecond: number,
  nowMs: () => number,
): SignatureLimit => {
  const failures = createWindows(nowMs)
  const limit = pLimit(CHECKS_AT_ONCE)
  return {
    check: async (address, { local, remote }) => {
      const bucket = rateLimitAddress(address)
      const first = await limit(async () => {
        const { count, endsAtMs } = failures.of(bucket)
        if (count >= wrongPerSecond) return tooManyWrongSignatures(wrongPerSecond, endsAtMs)
        const answer = await local()
        if (answer === 'wrong') failures.add(bucket)
        return answer
      })
      if (first !== 'unknown') return first
      const answer = (await remote?.()) ?? 'wrong'
      if (answer === 'wrong') failures.add(bucket)
      return answer
    },
  }
}

interface Window {
  readonly count: number
  readonly endsAtMs: number
}

/** Counts per address, each over a window that begins with its first. A clock that goes back begins a new one. */
const createWindows = (nowMs: () => number) => {
  const windows = new LRUCache<string, Window>({ max: MAX_ADDRESSES })
  const windowOf = (bucket: string): Window => {
    const now = nowMs()
    const known = windows.get(bucket)
    const isOpen = known && now < known.endsAtMs && now >= known.endsAtMs - WINDOW_MS
    return isOpen ? known : { count: 0, endsAtMs: now + WINDOW_MS }
  }
  return {
    of: windowOf,
    add: (bucket: string): void => {
      const { count, endsAtMs } = windowOf(bucket)
      windows.set(bucket, { count: count + 1, endsAtMs })
    },
  }
}

const tooManyWrongSignatures = (limit: number, endsAtMs: number): Fault =>
  new Fault('RATE_LIMIT', 'Too many wrong signatures from this address', {
    limit,
    remaining: 0,
    reset_at: Math.ceil(endsAtMs / 1_000),
  })
