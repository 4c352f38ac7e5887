import { setTimeout as sleep } from 'node:timers/promises'

/** How long a whole process may take for its start or for a step, on a machine that does much else beside it. */
export const PROCESS_LIMIT_MS = 300_000

const DEFAULT_LIMIT_MS = 120_000

/**
 * Waits until the condition gives something and returns that; throws its last error, or says `what`, after `limitMs`, also
 * when an attempt never ends.
 */
export const until = async <T>(
  condition: () => T | Promise<T>,
  what = 'the condition',
  limitMs = DEFAULT_LIMIT_MS,
): Promise<NonNullable<Exclude<T, false>>> => {
  const endMs = Date.now() + limitMs
  for (;;) {
    const outcome = await attempt(() => withTimeout(condition(), what, endMs - Date.now() + 1_000))
    if (outcome.value !== undefined && outcome.value !== null && outcome.value !== false) {
      return outcome.value as NonNullable<Exclude<T, false>>
    }
    if (Date.now() > endMs) {
      throw outcome.error ?? new Error(`${what}: not true within ${limitMs} ms`)
    }
    await sleep(10)
  }
}

/** What the promise gives; an error that says `what` when it has given nothing after `limitMs`. */
export const withTimeout = async <T>(
  work: T | Promise<T>,
  what: string,
  limitMs: number,
): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: no answer within ${limitMs} ms`)), limitMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

const attempt = async <T>(
  condition: () => T | Promise<T>,
): Promise<{ readonly value?: T; readonly error?: unknown }> => {
  try {
    return { value: await condition() }
  } catch (error) {
    return { error }
  }
}
