import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { until } from './until.ts'

const CHILD = fileURLToPath(new URL('./clickhouse-bridge-child.ts', import.meta.url))

/** A ClickHouse that speaks HTTP: the embedded engine behind a bridge, in a process that outlives those who use it. */
export interface ClickHouseBridge {
  readonly url: string
  stop(): Promise<void>
}

/** Starts the engine over a folder; it holds a database named `sluice` beside `default`. */
export const startClickHouse = async (folder: string): Promise<ClickHouseBridge> => {
  const child = spawn(process.execPath, ['--import', 'tsx', CHILD, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // A statement holds a thread of Node's pool: a server answers more than four at a time.
    env: { ...process.env, UV_THREADPOOL_SIZE: '24' },
  })
  process.once('exit', () => child.kill('SIGKILL'))
  let printed = ''
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  const url = await until(
    () => {
      if (child.exitCode !== null) throw new Error(`the bridge ended with ${child.exitCode}`)
      return /^http:\S+/.exec(printed)?.[0]
    },
    'the bridge listens',
    60_000,
  )
  return {
    url,
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve())
        child.kill('SIGKILL')
      }),
  }
}
