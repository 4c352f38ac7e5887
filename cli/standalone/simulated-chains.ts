import type { Config } from '../../core/config/settings.ts'
import { unsupportedSimulationText } from '../../core/config/unknown-chain.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { type ChainRow, canSimulate } from '../../schemas/chains.ts'
import type { DataFolder, DataFolderIdentity } from '../app/data-folder.ts'
import { nodeSource } from '../app/node-source.ts'
import type { DataSource, DataSourceChain } from './run-standalone.ts'
import { ingestedHeight } from './simulation-clock.ts'
import type { SimulatedChainPlan } from './simulator-thread.ts'
import { type SimulatedNodes, startSimulatorThread } from './start-simulator-thread.ts'

/** Simulated chains of one process; what is not given is what the folder holds, else a default. */
export interface SimulationPlan {
  readonly config: Config
  readonly chains: readonly ChainRow[]
  readonly seed: number | undefined
  readonly ratePerSecond: number | undefined
  readonly genesisMs: number | undefined
  readonly untilMs: number | undefined
}

/** What the origin of every chain works with. */
export interface DataSourceDeps {
  readonly folder: DataFolder
  readonly metrics: Metrics
  readonly log: Logger
}

/** How far in the past a new chain starts: enough to look at, little enough to be live within seconds. */
const DEFAULT_HISTORY_MS = 20 * 60_000
const DEFAULTS = { seed: 1, ratePerSecond: 5 } as const
/** A chain with an end has a block or two beyond it, so that the end is passed. */
const PAST_END_MARGIN_MS = 24_000
/** Steps of the genesis time, so that a simulated chain reads well. */
const GENESIS_STEP_MS = 60_000

interface SimulationParams {
  readonly seed: number
  readonly ratePerSecond: number
  readonly genesisMs: number
}

/** Starts a simulated chain with its node for each row, and the sources that follow them. */
export const openSimulatedChains = async (
  plan: SimulationPlan,
  parts: DataSourceDeps,
): Promise<DataSource> => {
  const { folder } = parts
  const held = folder.origin
  const fresh = Math.floor((Date.now() - DEFAULT_HISTORY_MS) / GENESIS_STEP_MS) * GENESIS_STEP_MS
  const params: SimulationParams = {
    seed: plan.seed ?? held?.seed ?? DEFAULTS.seed,
    ratePerSecond: plan.ratePerSecond ?? held?.ratePerSecond ?? DEFAULTS.ratePerSecond,
    genesisMs: plan.genesisMs ?? held?.genesisMs ?? fresh,
  }
  const chain = plan.chains.map(({ id }) => id).join(',')
  folder.claim({ kind: 'simulated', chain, ...params } satisfies DataFolderIdentity)
  const closing = new AbortController()
  const made: SimulatedChainPlan[] = []
  for (const row of plan.chains) made.push(await simulatedChain(row, params, plan, folder))
  const thread = await startSimulatorThread({ chains: made, logLevel: parts.log.level })
  const stop = async (): Promise<void> => {
    closing.abort(new Error('the nodes stop'))
    await thread.stop()
  }
  try {
    const { opened, chainExtra } = await openNodeSources(
      thread,
      params,
      plan,
      parts,
      closing.signal,
    )
    const nodePorts = thread.nodes.map(({ wsUrl }) => Number(new URL(wsUrl).port))
    return {
      chains: opened,
      chainExtra,
      label: simulationLabel(params, plan),
      progress: false,
      isSimulated: true,
      nodePorts,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The sources that follow the nodes. */
const openNodeSources = async (
  { nodes }: SimulatedNodes,
  { genesisMs }: SimulationParams,
  { chains, config, untilMs }: SimulationPlan,
  { metrics, log }: DataSourceDeps,
  signal: AbortSignal,
): Promise<{ opened: readonly DataSourceChain[]; chainExtra: Config['chainExtra'] }> => {
  const opened: DataSourceChain[] = []
  const chainExtra = { ...config.chainExtra }
  const until = untilMs === undefined ? {} : { until: genesisMs + untilMs }
  for (const [index, row] of chains.entries()) {
    const node = nodes[index]
    if (node === undefined) throw new Error(`${row.id} has no node`)
    const { wsUrl, extra, examples } = node
    chainExtra[row.id] = extra
    const source = await nodeSource({
      chain: row,
      urls: [wsUrl],
      from: 0,
      config: { ...config, chainExtra },
      metrics,
      log: log.child({ role: 'ingest', chain: row.id }),
      signal,
    })
    opened.push({ chain: { row, source, extra, ...until }, examples })
  }
  return { opened, chainExtra }
}

const simulationLabel = (
  { seed, ratePerSecond }: SimulationParams,
  { chains }: SimulationPlan,
): string => {
  const names = chains.map(({ name }) => name).join(' and ')
  return `SIMULATED ${names} (seed ${seed}, ${ratePerSecond} trades/s each)`
}

const simulatedChain = async (
  { id, blockTimeMs }: ChainRow,
  { seed, ratePerSecond, genesisMs }: SimulationParams,
  { untilMs }: SimulationPlan,
  { logPath, simulatorPath }: DataFolder,
): Promise<SimulatedChainPlan> => {
  if (!canSimulate(id)) throw new RangeError(unsupportedSimulationText(id))
  const ingested = await ingestedHeight(logPath, id)
  const endMs = untilMs === undefined ? {} : { endMs: genesisMs + untilMs + PAST_END_MARGIN_MS }
  return {
    chain: id,
    seed,
    ratePerSecond,
    genesisMs,
    clock: { genesisMs, ratePerSecond, ingested, blockTimeMs, ...endMs },
    checkpointDir: simulatorPath,
  }
}
