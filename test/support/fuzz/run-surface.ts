import { createRandom, hashToUint32, type Random } from '../../../simulator/node/random.ts'
import { until } from '../until.ts'
import { configSurface } from './config.ts'
import { graphqlSurface } from './graphql.ts'
import { type HealthWatch, watchHealth } from './health-watch.ts'
import { type FuzzInstance, startFuzzInstance } from './instance.ts'
import { nodeBlocks } from './nodes-blocks.ts'
import { grpcNodes } from './nodes-grpc.ts'
import { jsonNodes } from './nodes-json.ts'
import { rawHttpSurface } from './raw-http.ts'
import { restBodies, restQueries } from './rest.ts'
import { FuzzFailure, type FuzzRunner, type FuzzSurface, type FuzzTarget } from './surface.ts'
import { socketSurface } from './websockets.ts'

/** Every surface that is attacked; another one is a file and a row. */
export const SURFACES: readonly FuzzSurface[] = [
  rawHttpSurface,
  restQueries,
  restBodies,
  graphqlSurface,
  socketSurface,
  jsonNodes,
  grpcNodes,
  nodeBlocks,
  configSurface,
]

/** No answer of `/health` takes longer, whatever is asked meanwhile. */
const HEALTH_LIMIT_MS = 250
/** Cases between two looks at the instance. */
export const CASES_PER_ROUND = 64
/** A pause of the machine is told apart from a slow case by trying the round again. */
const TRIES = 3
/** A case that has not ended after so long hangs. */
const CASE_LIMIT_MS = 30_000

/** A stop in order takes no longer. */
const STOP_LIMIT_MS = 25_000

/** What a run of one surface came to. */
export interface FuzzReport {
  readonly surface: string
  readonly cases: number
  /** Slowest answer of `/health` in rounds that stand, milliseconds. */
  readonly slowestMs: number
  /** By index of the case. */
  readonly failures: readonly { readonly index: number; readonly message: string }[]
}

/** How many cases of `total` each surface gets. */
export const caseCounts = (total: number): ReadonlyMap<FuzzSurface, number> => {
  const whole = SURFACES.reduce((sum, { share }) => sum + share, 0)
  return new Map(SURFACES.map((each) => [each, Math.ceil((total * each.share) / whole)]))
}

/** All that case `index` of a surface does follows from this. */
const caseRandom = (seed: number, surface: FuzzSurface, index: number): Random =>
  createRandom(seed, hashToUint32(...Buffer.from(surface.name)), index)

/** The target of surfaces that need none. */
const NO_TARGET = Object.freeze({}) as FuzzTarget

const runCase = async (runner: FuzzRunner, random: Random): Promise<string | undefined> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new FuzzFailure(`no end within ${CASE_LIMIT_MS} ms`)),
      CASE_LIMIT_MS,
    )
  })
  try {
    await Promise.race([runner.run(random), late])
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    clearTimeout(timer)
  }
}

const waitForExit = (place: FuzzEnvironment | undefined): Promise<unknown> =>
  until(() => place?.instance.isRunning() !== true, 'the process has ended', STOP_LIMIT_MS).catch(
    () => undefined,
  )

interface Round {
  readonly from: number
  readonly below: number
  readonly width: number
}

type Failures = Map<number, string>

/** Runs the cases of a round, `width` at a time. */
const runRound = async (
  runner: FuzzRunner,
  random: (index: number) => Random,
  { from, below, width }: Round,
): Promise<Failures> => {
  const failures: Failures = new Map()
  let next = from
  const work = async (): Promise<void> => {
    while (next < below) {
      const index = next++
      const message = await runCase(runner, random(index))
      if (message !== undefined) failures.set(index, message)
    }
  }
  await Promise.all(Array.from({ length: width }, work))
  return failures
}

/** A running instance and who watches it. */
export interface FuzzEnvironment {
  readonly instance: FuzzInstance
  readonly health: HealthWatch
  stop(): Promise<void>
}

/** Starts an instance with a watch on its health. */
export const startFuzzEnvironment = async (): Promise<FuzzEnvironment> => {
  const instance = await startFuzzInstance()
  const health = watchHealth(instance.healthUrl)
  const stop = async (): Promise<void> => {
    await health.stop()
    await instance.stop()
  }
  return { instance, health, stop }
}

/** What to run of a surface. */
export interface FuzzRunOptions {
  readonly seed: number
  readonly from?: number
  readonly count: number
}

/** Runs cases of one surface, round after round, until they are through or the instance is gone. */
export const runFuzzSurface = async (
  surface: FuzzSurface,
  { seed, from = 0, count }: FuzzRunOptions,
  place?: FuzzEnvironment,
): Promise<FuzzReport> => {
  const runner = await surface.open(place?.instance.target ?? NO_TARGET)
  const random = (index: number): Random => caseRandom(seed, surface, index)
  const failures: Failures = new Map()
  let slowestMs = 0
  let at = from
  try {
    while (at < from + count && place?.instance.isRunning() !== false) {
      const below = Math.min(at + CASES_PER_ROUND, from + count)
      let slowest = 0
      for (let attempt = 1; attempt <= TRIES; attempt++) {
        await place?.health.slowestMs()
        // The last try is one case after the other: it tells which one is slow by itself.
        const width = attempt === TRIES ? 1 : (surface.width ?? 8)
        for (const [index, message] of await runRound(runner, random, { from: at, below, width })) {
          failures.set(index, message)
        }
        slowest = (await place?.health.slowestMs()) ?? 0
        // A process that ends in order answers nothing any more and is still there for a while.
        if (slowest === Number.POSITIVE_INFINITY) await waitForExit(place)
        if (slowest <= HEALTH_LIMIT_MS || place?.instance.isRunning() === false) break
      }
      if (slowest > HEALTH_LIMIT_MS)
        failures.set(at, `/health took ${slowest} ms in cases ${at} to ${below - 1}`)
      else slowestMs = Math.max(slowestMs, slowest)
      if (place?.instance.isRunning() === false) {
        failures.set(
          at,
          `the process ended in cases ${at} to ${below - 1}: ${place.instance.errors().slice(-2_000)}`,
        )
      }
      at = below
    }
  } finally {
    await runner.close()
  }
  const told = [...failures].map(([index, message]) => ({ index, message }))
  return { surface: surface.name, cases: at - from, slowestMs, failures: told }
}

/** How to see one failure again. */
export const replayCommand = (seed: number, surface: string, index: number): string =>
  `npm run drill -- fuzz ${seed} ${surface} ${index}`
