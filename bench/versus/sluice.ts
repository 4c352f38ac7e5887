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

/** Throws where it ends, or has not stored everything in time. */
const watch = (child: ChildProcess, nodePid: number): Promise<Run> =>
  new Promise((resolve, reject) => {
    let startMs: number | undefined
    let before: Cpu | undefined
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
      } else {
        const cpu = cpuBetween(before, cpuOf(child, nodePid))
        clearTimeout(timer)
        resolve({ cpu, found: word.found, seconds: secondsSince(startMs) })
      }
    })
  })

/** Runs the product over the chain until everything is in its tables. */
export const runSluice = async (chain: PreparedChain): Promise<Run> => {
  const { anvil, tokens, probe, lastHeight, extra } = chain
  const folder = mkdtempSync(join(tmpdir(), 'sluice-versus-'))
  const order: SluiceOrder = {
    folder,
    rpcUrl: anvil.httpUrl,
    tokens,
    probe,
    lastHeight,
    extra,
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
