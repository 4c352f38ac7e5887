import { setTimeout as sleep } from 'node:timers/promises'

/** How long to wait between tries. */
export interface RetryOptions {
  readonly firstMs: number
  readonly maxMs: number
  /** Tries in all; Infinity = until the signal aborts. */
  readonly tries: number
  readonly signal?: AbortSignal
  /** False = give up at once. Default: always try again. */
  readonly again?: (error: unknown, attempt: number) => boolean
  /** A try that lasted as long worked for a while: what fails then counts as the first again. Default: none does. */
  readonly steadyMs?: number
  readonly onRetry?: (error: unknown, attempt: number, waitMs: number) => void
  /** 0 to 1, full jitter. Default Math.random. */
  readonly random?: () => number
}

/** Runs `work` until it succeeds; doubles the pause with full jitter. Throws the last error, or the signal's reason. */
export const retry = async <T>(
  work: (attempt: number) => Promise<T>,
  { firstMs, maxMs, tries, signal, again, steadyMs, onRetry, random = Math.random }: RetryOptions,
): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted()
    const beganMs = performance.now()
    try {
      return await work(attempt)
    } catch (error) {
      if (steadyMs !== undefined && performance.now() - beganMs >= steadyMs) attempt = 1
      if (attempt >= tries || signal?.aborted || again?.(error, attempt) === false) throw error
      const ceilingMs = Math.min(maxMs, firstMs * 2 ** (attempt - 1))
      const waitMs = ceilingMs / 2 + (random() * ceilingMs) / 2
      onRetry?.(error, attempt, waitMs)
      await pause(waitMs, signal)
    }
  }
}

/** Waits; an aborted signal ends it at once with the signal's reason. */
export const pause = async (ms: number, signal?: AbortSignal): Promise<void> => {
  await sleep(ms, undefined, { ...(signal && { signal }) }).catch(() => signal?.throwIfAborted())
}
