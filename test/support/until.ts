import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until the condition gives something and returns that; throws its last error, or says `what`, after `limitMs`. */
export const until = async <T>(
  condition: () => T | Promise<T>,
  what = 'the condition',
  limitMs = 10_000,
): Promise<NonNullable<Exclude<T, false>>> => {
  const endMs = Date.now() + limitMs
  for (;;) {
    const outcome = await attempt(condition)
    if (outcome.value !== undefined && outcome.value !== null && outcome.value !== false) {
      return outcome.value as NonNullable<Exclude<T, false>>
    }
    if (Date.now() > endMs) {
      throw outcome.error ?? new Error(`${what}: not true within ${limitMs} ms`)
    }
    await sleep(10)
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
