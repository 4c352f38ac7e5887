import { LRUCache } from 'lru-cache'
import { Fault } from '../../core/errors.ts'

/** Wrong passwords of one caller at one packet within any minute. */
const MAX_ATTEMPTS = 5
const WINDOW_MS = 60_000
/** Callers that are remembered; the ones that did not try for longest are forgotten. */
const MAX_CALLERS = 100_000

/** Counts wrong passwords. */
export interface PasswordAttempts {
  /**
   * Runs a check that says whether a password was right, unless one of the callers has no attempt left. Throws `Fault` RATE_LIMIT.
   * A check counts from its beginning, so that many at once are as many attempts; one that was right counts no more.
   */
  attempt(callers: readonly string[], check: () => Promise<boolean>): Promise<boolean>
}

/** Attempts in the memory of this process. */
export const createPasswordAttempts = (nowMs: () => number): PasswordAttempts => {
  /** When each of the newest attempts began, by caller. */
  const times = new LRUCache<string, readonly number[]>({
    maxSize: MAX_CALLERS,
    sizeCalculation: () => 1,
  })
  const recent = (caller: string): readonly number[] =>
    (times.get(caller) ?? []).filter((atMs) => nowMs() - atMs < WINDOW_MS)
  return {
    attempt: async (callers, check) => {
      if (callers.some((caller) => recent(caller).length >= MAX_ATTEMPTS)) {
        throw new Fault('RATE_LIMIT', 'Too many wrong passwords', { limit: MAX_ATTEMPTS })
      }
      const atMs = nowMs()
      for (const caller of callers) times.set(caller, [...recent(caller), atMs])
      const isCorrect = await check()
      if (isCorrect) for (const caller of callers) times.set(caller, without(recent(caller), atMs))
      return isCorrect
    },
  }
}

const without = (all: readonly number[], one: number): readonly number[] => {
  const at = all.indexOf(one)
  return at < 0 ? all : all.toSpliced(at, 1)
}
