import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PreparedChain } from './chain.ts'
import { type Cpu, cpuBetween, cpuOf, type Run, stopChild } from './run.ts'
import type { SluiceOrder, SluiceWord } from './sluice-child.ts'

const CHILD = fileURLToPath(new URL('./sluice-child.ts', import.meta.url))
const LIMIT_MS = 300_000

/** How the product did, and when every table had everything that hangs on the trades. */
export interface SluiceRun extends Run {
  readonly settledSeconds: number
}

/** Throws where it ends, or has not stored everything in time. */
const watch = (child: ChildProcess, nodePid: number): Promise<SluiceRun> =>
  new Promise((resolve, reject) => {
    let startMs: number | undefined
    let before: Cpu | undefined
    let stored: Omit<Run, 'found'> | undefined
    const fail = (what: string) => reject(new Error(`Sluice ${what}`))
    const timer = setTimeout(() => fail('has not stored everything in time'), LIMIT_MS)
    child.once('error', reject)
    child.once('exit', (code) => fail(`ended with ${code}`))
    child.on('message', (word: SluiceWord) => {
      const secondsSince = (fromMs: number): number => (word.atMs - fromMs) / 1_000
      if (word.kind === 'reading') {
        startMs ??= word.atMs
        before ??= cpuOf(child, nodePid)
      } else if (startMs === undefined || before === undefined) {
        fail('stored what it has not read')
      } else if (word.kind === 'stored') {
        const cpu = cpuBetween(before, cpuOf(child, nodePid))
        stored = { seconds: secondsSince(startMs), cpu }
      } else if (stored) {
        clearTimeout(timer)
        resolve({ ...stored, found: word.found, settledSeconds: secondsSince(startMs) })
      }
    })
  })

/** Runs the product over the chain until everything is in its tables. */
export const runSluice = async (chain: PreparedChain): Promise<SluiceRun> => {
  const { anvil, tokens, probe, lastHeight, extra, truth } = chain
  const { swaps, transfers } = truth
  const folder = mkdtempSync(join(tmpdir(), 'sluice-versus-'))
  const order: SluiceOrder = {
    ...{ folder, rpcUrl: anvil.httpUrl, tokens, probe, lastHeight, extra, swaps, transfers },
  }
  const execArgv = ['--max-semi-space-size=32', '--import', import.meta.resolve('tsx')]
  const child = fork(CHILD, [JSON.stringify(order)], { execArgv })
  try {
    return await watch(child, anvil.pid)
  } finally {
    await stopChild(child)
    rmSync(folder, { recursive: true, force: true })
  }
}
