import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../test/support/ports.ts'
import { NotInstalled } from '../not-installed.ts'
import type { Found, PreparedChain } from './chain.ts'
import { type Cpu, cpuBetween, cpuOf, type Run, stopChild } from './run.ts'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const APP = join(FOLDER, 'app')
const PONDER = join(FOLDER, 'node_modules', 'ponder', 'dist', 'esm', 'bin', 'ponder.js')
const LIMIT_MS = 180_000

/** Installs Ponder where it is missing. Throws, in one line, where that fails. */
export const installPonder = (): void => {
  if (existsSync(PONDER)) return
  console.error('# versus: installing Ponder into bench/versus/node_modules')
  const { status, stderr, error } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: FOLDER,
    encoding: 'utf8',
  })
  if (status === 0 && existsSync(PONDER)) return
  const why =
    /^npm error (?!code )(\S.*)$/m.exec(stderr)?.[1] ?? error?.message ?? `npm ci: ${status}`
  throw new NotInstalled(`Ponder could not be installed: ${why}`)
}

/** A line of Ponder's log. */
interface LogLine {
  readonly time: number
  readonly msg: string
  readonly endpoint?: string
}

const lineOf = (text: string): LogLine | undefined => {
  try {
    return JSON.parse(text) as LogLine
  } catch {
    return undefined
  }
}

/** Its first words when it begins to read, and the last when `/ready` answers 200. */
const isStart = ({ msg }: LogLine): boolean =>
  msg === 'Started backfill indexing' || msg === 'Started fetching backfill JSON-RPC data'
const isReady = ({ msg, endpoint }: LogLine): boolean =>
  msg === 'Started returning 200 responses' && endpoint === '/ready'

/** What it used, by its own log. Throws where it ends, or is not ready in time. */
const watch = (child: ChildProcess, nodePid: number): Promise<Omit<Run, 'found'>> =>
  new Promise((resolve, reject) => {
    const tail: string[] = []
    let start: { readonly ms: number; readonly cpu: Cpu } | undefined
    const fail = (what: string) => reject(new Error(`Ponder ${what}:\n${tail.join('\n')}`))
    const timer = setTimeout(() => fail('was not ready in time'), LIMIT_MS)
    child.once('error', reject)
    child.once('exit', (code) => fail(`ended with ${code}`))
    const hear = (text: string): void => {
      tail.push(text)
      if (tail.length > 20) tail.shift()
      const line = lineOf(text)
      if (line === undefined) return
      if (start === undefined && isStart(line)) {
        start = { ms: line.time, cpu: cpuOf(child, nodePid) }
      }
      if (start === undefined || !isReady(line)) return
      clearTimeout(timer)
      const cpu = cpuBetween(start.cpu, cpuOf(child, nodePid))
      resolve({ seconds: (line.time - start.ms) / 1_000, cpu })
    }
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', hear)
    }
  })

/**
 * Runs the app of this folder over the chain until it is ready. Ponder starts with 20 calls per second for each address of a node
 * that it is given; `nodes` is how often the one address is listed, so 1 is what a plain configuration gets.
 */
export const runPonder = async (
  { anvil, tokens, pairs, probe }: PreparedChain,
  nodes: number,
): Promise<Run> => {
  const databaseFolder = mkdtempSync(join(tmpdir(), 'sluice-versus-ponder-'))
  const port = await freePort()
  const plan = {
    rpcUrl: anvil.httpUrl,
    databaseFolder,
    nodes,
    tokens,
    pairs: pairs.map(({ pair, base, quote }) => ({ pair, isQuoteFirst: quote < base })),
  }
  const words = ['--root', APP, '--log-format', 'json']
  const options = ['--schema', 'versus', '--port', String(port), '--hostname', '127.0.0.1']
  const child = spawn(process.execPath, [PONDER, ...words, 'start', ...options], {
    cwd: APP,
    env: { ...process.env, PONDER_TELEMETRY_DISABLED: 'true', VERSUS_PLAN: JSON.stringify(plan) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  try {
    const used = await watch(child, anvil.pid)
    const { token, owner, pair } = probe
    const url = `http://127.0.0.1:${port}`
    const ready = await fetch(`${url}/ready`)
    if (ready.status !== 200) throw new Error(`Ponder answers /ready with ${ready.status}`)
    const found = await fetch(`${url}/found/${token}/${owner}/${pair}`)
    if (!found.ok) throw new Error(`Ponder: ${found.status} ${await found.text()}`)
    return { ...used, found: (await found.json()) as Found }
  } finally {
    await stopChild(child)
    rmSync(databaseFolder, { recursive: true, force: true })
  }
}
