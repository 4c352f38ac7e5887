import { appendFileSync } from 'node:fs'

/** What a test needs that not every machine has; undefined = it could not be had, and the run says so in its last line. */
export const tryStart = async <T>(
  what: string,
  start: () => Promise<T>,
): Promise<T | undefined> => {
  try {
    return await start()
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    console.error(`!!! NOT TESTED: ${what} could not be started: ${why} !!!`)
    const missing = process.env.SLUICE_TEST_MISSING
    if (missing !== undefined) appendFileSync(missing, `${what}\n`)
    if (process.env.CI === 'true') throw error
    return undefined
  }
}
