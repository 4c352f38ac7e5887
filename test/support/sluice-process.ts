import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MAX_OUTPUT_CHARACTERS = 20_000

/** A `sluice` command as a process of its own. */
export interface SluiceProcess {
  readonly pid: number
  /** What it printed; the errors' end only. */
  readonly out: { text: string; errors: string }
  /** Exit code, null when a signal ended it. */
  readonly exit: Promise<number | null>
  isRunning(): boolean
  kill(signal: NodeJS.Signals): Promise<number | null>
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Runs `sluice WORDS` with nothing of this process' environment but PATH and HOME, and how a test run loads modules. */
export const startSluice = (
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): SluiceProcess => {
  const { PATH = '', HOME = '', NODE_OPTIONS = '' } = process.env
  const child = spawn(process.execPath, ['cli/bin.js', ...words], {
    cwd: ROOT,
    env: { PATH, HOME, NODE_OPTIONS, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  const out = { text: '', errors: '' }
  child.stdout.on('data', (chunk) => {
    out.text += chunk
  })
  child.stderr.on('data', (chunk) => {
    out.errors = (out.errors + chunk).slice(-MAX_OUTPUT_CHARACTERS)
  })
  const exit = new Promise<number | null>((resolve) =>
    child.once('close', (code) => {
      running.delete(child)
      resolve(code)
    }),
  )
  return {
    pid: child.pid ?? -1,
    out,
    exit,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    kill: (signal) => {
      child.kill(signal)
      return exit
    },
  }
}

/** Runs a command to its end and gives what it printed; throws for any exit code but 0. */
export const runSluice = async (
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<string> => {
  const run = startSluice(words, environment)
  const code = await run.exit
  if (code !== 0) throw new Error(`sluice ${words.join(' ')}: ${code}: ${run.out.errors}`)
  return run.out.text
}
