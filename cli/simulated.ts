import type { Config } from '../core/config.ts'
import type { Logger } from '../core/log.ts'
import type { Metrics } from '../core/metrics.ts'
import type { ChainRow } from '../schemas/chains.ts'
import { type Simulator, startSimulator } from '../simulator/start.ts'
import { chainClock, ingestedHeight } from './chain-clock.ts'
import type { DataFolder, FolderOrigin } from './data-folder.ts'
import { nodeSource } from './node-source.ts'
import type { Origin, OriginChain } from './serve-origin.ts'

/** Made-up chains of one process; what is not given is what the folder holds, else a default. */
export interface SimulatedPlan {
  readonly config: Config
  readonly chains: readonly ChainRow[]
  readonly seed: number | undefined
  readonly ratePerSecond: number | undefined
  readonly genesisMs: number | undefined
  readonly untilMs: number | undefined
}

/** What the origin of every chain works with. */
export interface OriginParts {
  readonly folder: DataFolder
  readonly metrics: Metrics
  readonly log: Logger
}

/** How far in the past a new chain starts: enough to look at, little enough to be live within seconds. */
const DEFAULT_HISTORY_MS = 20 * 60_000
const DEFAULTS = { seed: 1, ratePerSecond: 5 } as const
/** A chain with an end has a block or two beyond it, so that the end is passed. */
const END_MARGIN_MS = 24_000
/** Steps of the genesis time, so that a simulated chain reads well. */
const GENESIS_STEP_MS = 60_000

/** Chains that the simulator makes, by internal id. */
const MADE = { sol: 'sol', eth: 'eth' } as const

/** True for chains that can be made up. */
export const isMade = (id: string): id is keyof typeof MADE => Object.hasOwn(MADE, id)

interface Course {
  readonly seed: number
  readonly ratePerSecond: number
  readonly genesisMs: number
}

/** Starts a made-up chain with its node for each row, and the sources that follow them. */
export const simulated = async (plan: SimulatedPlan, parts: OriginParts): Promise<Origin> => {
  const { folder } = parts
  const held = folder.origin
  const fresh = Math.floor((Date.now() - DEFAULT_HISTORY_MS) / GENESIS_STEP_MS) * GENESIS_STEP_MS
  const course: Course = {
    seed: plan.seed ?? held?.seed ?? DEFAULTS.seed,
    ratePerSecond: plan.ratePerSecond ?? held?.ratePerSecond ?? DEFAULTS.ratePerSecond,
    genesisMs: plan.genesisMs ?? held?.genesisMs ?? fresh,
  }
  const chain = plan.chains.map(({ id }) => id).join(',')
  folder.claim({ kind: 'simulated', chain, ...course } satisfies FolderOrigin)
  const closing = new AbortController()
  const simulators: Simulator[] = []
  const stop = async (): Promise<void> => {
    closing.abort(new Error('the nodes stop'))
    await Promise.all(simulators.map((simulator) => simulator.stop()))
  }
  const opened: OriginChain[] = []
  const chainExtra = { ...plan.config.chainExtra }
  try {
    for (const row of plan.chains) {
      const simulator = await makeChain(row, course, plan, parts)
      simulators.push(simulator)
      chainExtra[row.id] = simulator.extra
      const config = { ...plan.config, chainExtra }
      const source = await nodeSource({
        ...{ chain: row, urls: [simulator.wsUrl], from: 0, config, metrics: parts.metrics },
        ...{ log: parts.log.child({ role: 'ingest', chain: row.id }), signal: closing.signal },
      })
      const until = plan.untilMs === undefined ? {} : { until: course.genesisMs + plan.untilMs }
      opened.push({
        chain: { row, source, extra: simulator.extra, ...until },
        examples: simulator.examples,
      })
    }
  } catch (error) {
    await stop()
    throw error
  }
  const names = plan.chains.map(({ name }) => name).join(' and ')
  const { seed, ratePerSecond } = course
  return {
    chains: opened,
    chainExtra,
    label: `SIMULATED ${names}: made up (seed ${seed}, ${ratePerSecond} trades/s each)`,
    progress: false,
    stop,
  }
}

const makeChain = async (
  { id, blockTimeMs }: ChainRow,
  { seed, ratePerSecond, genesisMs }: Course,
  { untilMs }: SimulatedPlan,
  { folder, log }: OriginParts,
): Promise<Simulator> => {
  if (!isMade(id)) throw new RangeError(`${id} cannot be made up`)
  const ingested = await ingestedHeight(folder.logPath, id)
  const endMs = untilMs === undefined ? {} : { endMs: genesisMs + untilMs + END_MARGIN_MS }
  return startSimulator({
    ...{ chain: MADE[id], seed, ratePerSecond, genesisMs },
    nowMs: chainClock({
      ...{ genesisMs, ratePerSecond, ingested, blockTimeMs, ...endMs, nowMs: Date.now },
    }),
    checkpointDir: folder.simulatorPath,
    log: log.child({ role: 'simulator', chain: id }),
  })
}
