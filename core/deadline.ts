/** What a limited piece of work is ended with when its time is over. */
export class DeadlinePassed extends Error {
  readonly limitMs: number

  constructor(limitMs: number) {
    super(`no result within ${limitMs} ms`)
    this.name = 'DeadlinePassed'
    this.limitMs = limitMs
  }
}

/** True for a signal that ended because the time was over, and for no other reason. */
export const hasPassed = (signal: AbortSignal): boolean => signal.reason instanceof DeadlinePassed

/**
 * Runs `work` with a signal that aborts with `outer`, or with `DeadlinePassed` after `limitMs`. Rejects as `work` does: work that ignores
 * its signal is not ended. `AbortSignal.any` over `AbortSignal.timeout` does not do the same: Node 20 holds the timeout weakly there, so
 * that garbage collection ends it and the signal never aborts.
 */
export const withDeadline = async <T>(
  outer: AbortSignal,
  limitMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  outer.throwIfAborted()
  const limited = new AbortController()
  const follow = (): void => limited.abort(outer.reason)
  const timer = setTimeout(() => limited.abort(new DeadlinePassed(limitMs)), limitMs)
  outer.addEventListener('abort', follow, { once: true })
  try {
    return await work(limited.signal)
  } finally {
    clearTimeout(timer)
    outer.removeEventListener('abort', follow)
  }
}
