/** A process of its own that asks one address for its health again and again, so that no work of the cases delays it. */
import { fork } from 'node:child_process'
import { get } from 'node:http'
import { fileURLToPath } from 'node:url'

/** The slowest answers since the last look, one per address. */
export interface HealthWatch {
  /** Longest time of an answer since the last call, milliseconds; Infinity where one did not come at all. */
  slowestMs(): Promise<number>
  stop(): Promise<void>
}

/** Between two questions. */
const PAUSE_MS = 10
const LIMIT_MS = 5_000

/** Marks the process that watches. */
const CHILD = 'watch-health'

/** Watches until it is stopped. */
export const watchHealth = (url: string): HealthWatch => {
  const child = fork(fileURLToPath(import.meta.url), [CHILD, url], {
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

const asked = (url: string): Promise<boolean> =>
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
  const ask = async (): Promise<void> => {
    begunMs = performance.now()
    const isGood = await asked(url)
    slowest = Math.max(slowest, isGood ? performance.now() - begunMs : Number.POSITIVE_INFINITY)
    begunMs = undefined
    setTimeout(ask, PAUSE_MS)
  }
  ask()
  process.on('message', () => {
    const waitedMs = begunMs === undefined ? 0 : performance.now() - begunMs
    // As text: JSON has no Infinity.
    process.send?.(String(Math.max(slowest, waitedMs)))
    slowest = 0
  })
}

const [, , word, address] = process.argv
if (word === CHILD && address !== undefined && process.send !== undefined) watch(address)
