import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import type { ChainChecksum, NamedDigest } from '../../../cli/checksum/checksum.ts'
import { ingestedHeight } from '../../../cli/standalone/simulation-clock.ts'
import { freePort } from '../ports.ts'
import { runSluice, startSluice } from '../sluice-process.ts'
import { until } from '../until.ts'

/** One kill: who, when, and what was begun and not finished at that moment. */
export interface Kill {
  readonly role: string
  /** Since the process did something first. */
  readonly afterMs: number
  readonly height: number | null
  readonly inFlight: readonly string[]
}

/** A simulated chain of which every run gives the same. */
export interface DrillChain {
  /** Internal id. */
  readonly id: 'sol' | 'eth'
  readonly seed: number
  readonly ratePerSecond: number
  readonly genesis: string
  /** Chain time, e.g. `30m`. */
  readonly until: string
}

/** A crash drill on the embedded form: `sluice start`, killed whole. */
export interface EmbeddedDrill {
  readonly chain: DrillChain
  /** Folder for everything; the caller removes it. */
  readonly folder: string
  readonly kills: number
  /** Longest life of a process that is going to be killed, from its first commit on. */
  readonly lifeMs: number
  readonly random: () => number
  readonly report: (line: string) => void
}

/** What a drill found. */
export interface DrillResult {
  readonly kills: readonly Kill[]
  readonly clean: ChainChecksum
  readonly killed: ChainChecksum
}

const FIRST_COMMIT_TIMEOUT_MS = 120_000
/** How long a kill waits for something to be in flight: it hits an idle process after that. */
const IN_FLIGHT_WAIT_MS = 3_000

/** The entries of an activity file. */
export const readActivity = (path: string): readonly string[] => {
  const line = readFileSync(path, 'utf8').split('\n')[0]?.trim() ?? ''
  return line === '' ? [] : line.split('; ')
}

/** A line for people about one kill. */
export const formatKill = ({ role, afterMs, height, inFlight }: Kill, index: number): string => {
  const what = inFlight.length === 0 ? 'nothing' : inFlight.join(', ')
  return `kill ${index + 1}: ${role} after ${Math.round(afterMs)} ms, log at ${height ?? '-'}, in flight: ${what}`
}

/** A run with fewer than half of its kills in the middle of something is not a run. */
export const assertEnoughKillsInFlight = (kills: readonly Kill[]): void => {
  const amid = kills.filter(({ inFlight }) => inFlight.length > 0).length
  assert.ok(amid * 2 >= kills.length, `only ${amid} of ${kills.length} kills hit something`)
}

/** Holds two checksums against each other, name by name. */
export const assertSameContent = (killed: ChainChecksum, clean: ChainChecksum): void => {
  const byName = (digests: readonly NamedDigest[] = []) =>
    Object.fromEntries(digests.map(({ name, rows, digest }) => [name, `${rows} ${digest}`]))
  assert.equal(killed.final.height, clean.final.height)
  assert.deepEqual(byName(killed.final.digests), byName(clean.final.digests))
  assert.equal(killed.tip?.hash, clean.tip?.hash, 'the same tip')
  assert.deepEqual(byName(killed.tip?.digests), byName(clean.tip?.digests))
}

/** Runs the chain once undisturbed and once under kills, and takes both checksums at the same height. */
export const runEmbeddedCrashDrill = async (drill: EmbeddedDrill): Promise<DrillResult> => {
  const cleanFolder = join(drill.folder, 'clean')
  const killedFolder = join(drill.folder, 'killed')
  const startedMs = performance.now()
  await runToEnd(drill, cleanFolder)
  drill.report(`clean run: ${seconds(performance.now() - startedMs)} s`)
  const kills: Kill[] = []
  while (kills.length < drill.kills) {
    const kill = await runUntilKilled(drill, killedFolder)
    drill.report(formatKill(kill, kills.length))
    kills.push(kill)
  }
  await runToEnd(drill, killedFolder)
  const clean = await readChecksum(drill, cleanFolder)
  const killed = await readChecksum(drill, killedFolder)
  const height = Math.min(clean.final.height, killed.final.height)
  const at = (folder: string, sum: ChainChecksum): Promise<ChainChecksum> | ChainChecksum =>
    sum.final.height === height ? sum : readChecksum(drill, folder, height)
  return {
    kills,
    clean: await at(cleanFolder, clean),
    killed: await at(killedFolder, killed),
  }
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

const startArguments = async ({ chain }: EmbeddedDrill, folder: string): Promise<string[]> => [
  ...['start', '--data', folder, '--port', String(await freePort())],
  ...['--simulate', chain.id],
  ...['--seed', String(chain.seed), '--rate', String(chain.ratePerSecond)],
  ...['--genesis', chain.genesis, '--until', chain.until],
]

const runToEnd = async (drill: EmbeddedDrill, folder: string): Promise<void> => {
  await runSluice(await startArguments(drill, folder))
}

/** Returns while the process is in the middle of something, or after the wait. */
const waitForInFlight = async (activityFile: string): Promise<void> => {
  const deadlineMs = performance.now() + IN_FLIGHT_WAIT_MS
  while (readActivity(activityFile).length === 0 && performance.now() < deadlineMs) {
    await setImmediate()
  }
}

/** Starts the product, waits for its first commit, lets it live for a random while, kills it in the middle of something. */
const runUntilKilled = async (drill: EmbeddedDrill, folder: string): Promise<Kill> => {
  const activityFile = join(drill.folder, 'activity')
  // What the life before left in it would pass for a sign of this one.
  rmSync(activityFile, { force: true })
  const run = startSluice(await startArguments(drill, folder), { ACTIVITY_FILE: activityFile })
  await until(
    () => {
      if (!run.isRunning()) throw new Error(`ended by itself: ${run.out.errors}`)
      return readActivity(activityFile).some((entry) => entry.startsWith('commit ingest.'))
    },
    'the process commits',
    FIRST_COMMIT_TIMEOUT_MS,
  )
  const lifeMs = drill.random() * drill.lifeMs
  const bornMs = performance.now()
  await sleep(lifeMs)
  await waitForInFlight(activityFile)
  assert.ok(run.isRunning(), `the chain is too short for its kills: ${run.out.errors}`)
  await run.kill('SIGKILL')
  return {
    role: 'start',
    afterMs: performance.now() - bornMs,
    height: await ingestedHeight(join(folder, 'log'), drill.chain.id),
    inFlight: readActivity(activityFile),
  }
}

/** Checksum of a folder that no process holds. */
const readChecksum = async (
  { chain }: EmbeddedDrill,
  folder: string,
  height?: number,
): Promise<ChainChecksum> => {
  const at = height === undefined ? [] : ['--height', String(height)]
  const words = ['checksum', '--data', folder, '--chain', chain.id, '--json', ...at]
  const [sum] = JSON.parse(await runSluice(words)) as readonly ChainChecksum[]
  assert.ok(sum !== undefined, 'a checksum')
  return sum
}
