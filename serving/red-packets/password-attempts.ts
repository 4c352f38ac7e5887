import { LRUCache } from 'lru-cache'
import { Fault } from '../../core/errors.ts'
import { createRateLimiter } from '../billing/rate-limiter.ts'
import type { SharedCounts } from '../billing/usage-totals.ts'

/** Wrong passwords of one caller at one packet within any minute. */
const MAX_ATTEMPTS = 5
const WINDOW_MS = 60_000
/** Callers that are remembered; the ones that did not try for longest are forgotten. */
const MAX_CALLERS = 100_000

/** Wrong passwords of all callers at one packet: one a second, and those of a minute at once after a pause. */
const PACKET_ATTEMPTS_PER_SECOND = 1
const PACKET_BURST_SECONDS = 60
/** What several processes let pass before they knew of each other keeps the packet closed, for an hour at most. */
const MAX_PACKET_DEBT_SECONDS = 3_600
/** Begins the keys of packets among the counts that processes share. */
const PACKET_KEY = 'packet '

/** At what a password is tried, and by whom. */
interface Attempt {
  /** Chain and id of the packet. */
  readonly packet: string
  /** Each of them has attempts of its own at the packet. */
  readonly callers: readonly string[]
}

/** Counts wrong passwords. */
export interface PasswordAttempts {
  /**
   * Runs a check that says whether a password was right, unless the packet or one of the callers has no attempt left. Throws `Fault`
   * RATE_LIMIT. A check counts from its beginning, so that many at once are as many attempts; one that was right counts no more.
   */
  attempt(attempt: Attempt, check: () => Promise<boolean>): Promise<boolean>
}

const tooMany = (limit: number, waitMs: number): Fault => {
  const retry_after = Math.max(1, Math.ceil(waitMs / 1_000))
  return new Fault('RATE_LIMIT', 'Too many wrong passwords', { limit, retry_after })
}

/** Wrong passwords of each packet over all processes that share the counts. */
const createPacketLimit = (nowMs: () => number, counts: SharedCounts) => {
  const limiter = createRateLimiter(nowMs, PACKET_BURST_SECONDS, MAX_PACKET_DEBT_SECONDS)
  const take = (key: string): boolean => limiter.take(key, PACKET_ATTEMPTS_PER_SECOND).allowed
  counts.onRequests((key, wrong) => {
    if (!key.startsWith(PACKET_KEY)) return
    limiter.charge(key, take(key) ? wrong - 1 : wrong)
  })
  return {
    run: async (packet: string, check: () => Promise<boolean>): Promise<boolean> => {
      const key = PACKET_KEY + packet
      if (!take(key)) throw tooMany(PACKET_ATTEMPTS_PER_SECOND * PACKET_BURST_SECONDS, 1_000)
      let isWrong = false
      try {
        isWrong = !(await check())
      } finally {
        if (!isWrong) limiter.refund(key)
      }
      if (isWrong) counts.countRequest(key, nowMs())
      return !isWrong
    },
  }
}

/** Attempts of callers in the memory of this process, those at a packet also of the processes that share the counts. */
export const createPasswordAttempts = (
  nowMs: () => number,
  counts: SharedCounts,
): PasswordAttempts => {
  const packets = createPacketLimit(nowMs, counts)
  /** When each of the newest attempts began, by caller and packet. */
  const times = new LRUCache<string, readonly number[]>({
    maxSize: MAX_CALLERS,
    sizeCalculation: () => 1,
  })
  const recent = (caller: string): readonly number[] =>
    (times.get(caller) ?? []).filter((atMs) => nowMs() - atMs < WINDOW_MS)
  return {
    attempt: async ({ packet, callers: names }, check) => {
      const callers = names.map((name) => `${name} ${packet}`)
      for (const caller of callers) {
        const before = recent(caller)
        if (before.length < MAX_ATTEMPTS) continue
        const [oldest = nowMs()] = before
        throw tooMany(MAX_ATTEMPTS, oldest + WINDOW_MS - nowMs())
      }
      return packets.run(packet, async () => {
        const atMs = nowMs()
        for (const caller of callers) times.set(caller, [...recent(caller), atMs])
        const isCorrect = await check()
        if (isCorrect) {
          for (const caller of callers) times.set(caller, without(recent(caller), atMs))
        }
        return isCorrect
      })
    },
  }
}

const without = (all: readonly number[], one: number): readonly number[] => {
  const at = all.indexOf(one)
  return at < 0 ? all : all.toSpliced(at, 1)
}
