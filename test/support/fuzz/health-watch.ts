/** A process of its own that asks one address for its health again and again, so that no work of the cases delays it. */
import { fork } from 'node:child_process'
import { get } from 'node:http'
import { fileURLToPath } from 'node:url'

/** The slowest answers since the last look. */
export interface HealthWatch {
  /**
   * Longest time of an answer since the last call, milliseconds, less what the machine kept this process waiting meanwhile;
   * Infinity where one did not come at all.
   */
  slowestMs(): Promise<number>
  stop(): Promise<void>
}

/** How often the watch looks at its own clock. */
const TICK_MS = 5
/** Between two questions. */
const PAUSE_MS = 10
const LIMIT_MS = 5_000

/** Marks the process that watches. */
const CHILD_ARGUMENT = 'watch-health'

/** Watches until it is stopped. */
export const watchHealth = (url: string): HealthWatch => {
  const child = fork(fileURLToPath(import.meta.url), [CHILD_ARGUMENT, url], {
    execArgv: ['--import', 'tsx'],
  })
  const ended = new Promise<never>((_, reject) => {
    child.once('exit', () => reject(new Error('the watch on the health has ended')))
  })
  ended.catch(() => undefined)
  return {
    slowestMs: () => {
      const answered = new Promise<number>((resolve) => {
        child.once('message', (text) => resolve(Number(text)))
      })
      child.send('slowest')
      return Promise.race([answered, ended])
    },
    stop: async () => {
      child.kill('SIGKILL')
      await ended.catch(() => undefined)
    },
  }
}

const askHealth = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const request = get(url, { timeout: LIMIT_MS }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode === 200))
      response.on('error', () => resolve(false))
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
  })

const watch = (url: string): void => {
  let slowest = 0
  let begunMs: number | undefined
  let keptMs = 0
  let tickedMs = performance.now()
  setInterval(() => {
    const now = performance.now()
    keptMs += Math.max(0, now - tickedMs - 2 * TICK_MS)
    tickedMs = now
  }, TICK_MS)
  const ask = async (): Promise<void> => {
    keptMs = 0
    begunMs = performance.now()
    const isGood = await askHealth(url)
    const tookMs = performance.now() - begunMs - keptMs
    slowest = Math.max(slowest, isGood ? tookMs : Number.POSITIVE_INFINITY)
    begunMs = undefined
    setTimeout(ask, PAUSE_MS)
  }
  ask()
  process.on('message', () => {
    const waitedMs = begunMs === undefined ? 0 : performance.now() - begunMs - keptMs
    // As text: JSON has no Infinity.
    process.send?.(String(Math.max(slowest, waitedMs)))
    slowest = 0
  })
}

const [, , word, address] = process.argv
if (word === CHILD_ARGUMENT && address !== undefined && process.send !== undefined) watch(address)
