import { join } from 'node:path'
import type { Bus, Running, TopicSpec } from '../core/bus/contract.ts'
import { deadLetterSpec, stateSpec, topicSpecs } from '../core/bus/topic-specs.ts'
import type { Warehouse } from '../core/clickhouse/client.ts'
import { applyRetention, migrate } from '../core/clickhouse/migrate.ts'
import type { Codec } from '../core/codec/contract.ts'
import { SCHEMAS_FILE } from '../core/codec/local.ts'
import { registryLogin } from '../core/codec/registry.ts'
import type { Config } from '../core/config/config.ts'
import type { Logger } from '../core/ops/logger.ts'
import type { Metrics } from '../core/ops/metrics.ts'
import { type QuoteBook, quoteBook } from '../core/prices/quote-assets.ts'
import { chainRow } from '../schemas/chains.ts'
import { deadLetterTopic, stateTopic } from '../schemas/topics.ts'
import { CANDLES } from './candles/stage.ts'
import { type FinalizeRound, startFinalizer } from './finalizer.ts'
import { BALANCES } from './holders/balances-stage.ts'
import { HOLDERS } from './holders/stage.ts'
import { PNL } from './pnl/stage.ts'
import { POOLS } from './pools/stage.ts'
import { PRICES } from './prices/stage.ts'
import { processReadiness } from './readiness.ts'
import { pipeline } from './runtime/pipeline.ts'
import type { Stage } from './runtime/stage.ts'
import { type Failing, type LaneStatus, startStage } from './runtime/stage-runner.ts'
import { feedSinks } from './sinks/feed-sinks.ts'
import { makeInserter } from './sinks/inserter.ts'
import { openRowThreads } from './sinks/row-threads.ts'
import { sinkGroup, sinkPlaces, startSink } from './sinks/sink.ts'
import { SINKS, type Sink } from './sinks/tables.ts'
import { TRADE_STATS } from './stats/stage.ts'
import { MARKETS } from './tokens/market-stage.ts'
import { TOKENS } from './tokens/stage.ts'

/**
 * Every stage of the house in one lane: co-partitioned topics are folded together, decoded once, and committed at once. A
 * stage may read what one before it published for the same operation.
 */
export const PROCESS: Stage = pipeline('process', [
  PRICES,
  BALANCES,
  PNL,
  HOLDERS,
  CANDLES,
  POOLS,
  TOKENS,
  MARKETS,
  TRADE_STATS,
])

/** What the process role works with. */
export interface ProcessorDeps {
  readonly chains: readonly string[]
  readonly bus: Bus
  readonly codec: Codec
  readonly warehouse: Warehouse
  readonly config: Pick<Config, 'partitions' | 'retention'> &
    Partial<
      Pick<
        Config,
        | 'chainExtra'
        | 'dataDir'
        | 'feeds'
        | 'kafkaBrokers'
        | 'schemaRegistryUrl'
        | 'schemaRegistryUsername'
        | 'schemaRegistryPassword'
      >
    >
  readonly metrics: Metrics
  readonly log: Logger
}

/** How far every part is, by consumer group, and what the finalizers last did, by chain. */
interface ProcessorsStatus {
  readonly groups: Readonly<Record<string, readonly LaneStatus[]>>
  readonly finalized: Readonly<Record<string, FinalizeRound | undefined>>
  /** Lanes and finalizers that repeat what fails, by group. */
  readonly failing: Readonly<Record<string, readonly Failing[]>>
}

/** The running process role. */
export interface ProcessorsRunning extends Running {
  status(): ProcessorsStatus
  /** Whether every lane and finalizer goes on. */
  readiness(nowMs: number): { readonly ok: boolean; readonly detail?: string }
}

const sinksOf = (
  chain: string,
  { feeds = [] }: Partial<Pick<Config, 'feeds'>>,
): readonly Sink[] => {
  const row = chainRow(chain)
  return row === undefined ? SINKS : [...SINKS, ...feedSinks(row, feeds)]
}

/** Topics that stages and sinks of these chains need beside the documented ones. */
export const processorTopics = (
  chains: readonly string[],
  config: ProcessorDeps['config'],
): readonly TopicSpec[] => {
  const { partitions, retention } = config
  return chains.flatMap((chain) => [
    stateSpec(stateTopic(PROCESS.app, chain), partitions),
    deadLetterSpec(deadLetterTopic(`${PROCESS.app}.${chain}`), retention),
    ...sinksOf(chain, config).map((sink) =>
      deadLetterSpec(deadLetterTopic(sinkGroup(sink, chain)), retention),
    ),
  ])
}

const bookOf = (chain: string, extra: Config['chainExtra'] = {}): QuoteBook | undefined => {
  const row = chainRow(chain)
  return row && quoteBook(row, extra[chain])
}

/** Records on Kafka carry the registry's ids; those of an embedded log name schemas that lie beside it. */
const schemasOf = ({ kafkaBrokers = [], dataDir, ...config }: ProcessorDeps['config']) => {
  if (kafkaBrokers.length > 0 && hasRegistry(config)) return { registry: registryLogin(config) }
  return { registry: null, ...(dataDir && { schemas: join(dataDir, 'log', SCHEMAS_FILE) }) }
}

type RegistrySettings = Parameters<typeof registryLogin>[0]

const hasRegistry = (config: Partial<RegistrySettings>): config is RegistrySettings =>
  config.schemaRegistryUrl !== undefined

/** Makes topics and tables where they are missing, then runs every stage, sink and finalizer of the chains. */
export const startProcessors = async (deps: ProcessorDeps): Promise<ProcessorsRunning> => {
  const { chains, bus, warehouse, config, log } = deps
  const { partitions, retention, feeds = [] } = config
  await bus.createTopics([
    ...topicSpecs({ chains, partitions, retention, feeds }),
    ...processorTopics(chains, config),
  ])
  await migrate(warehouse, chains)
  await applyRetention(warehouse, chains, retention)
  const rowThreads = openRowThreads(schemasOf(config), log)
  const { makeRows } = rowThreads
  const written = { makeRows, places: sinkPlaces(), inserter: makeInserter(deps) }
  const parts = await Promise.all(
    chains.map(async (chain) => {
      const book = bookOf(chain, config.chainExtra)
      const chainDeps = {
        ...deps,
        ...{ chain, log: log.child({ role: 'process', chain }) },
        ...(book && { book }),
      }
      const stage = await startStage(PROCESS, chainDeps)
      const sinks = await Promise.all(
        sinksOf(chain, config).map((sink) => startSink(sink, { ...chainDeps, ...written })),
      )
      // One process has the first lane; of several that finalize, that one repairs.
      const mayRepair = () => stage.lanes().some(({ partition }) => partition === 0)
      const finalizer = startFinalizer({ ...chainDeps, mayRepair })
      return { chain, groups: [stage, ...sinks], finalizer }
    }),
  )
  const status = (): ProcessorsStatus => ({
    groups: Object.fromEntries(
      parts.flatMap(({ groups }) => groups.map(({ group, lanes }) => [group, lanes()])),
    ),
    finalized: Object.fromEntries(parts.map(({ chain, finalizer }) => [chain, finalizer.last()])),
    failing: Object.fromEntries(
      parts.flatMap(({ chain, groups, finalizer }) => [
        ...groups.map(({ group, failing }) => [group, failing?.() ?? []] as const),
        [`finalizer.${chain}`, finalizer.failing()] as const,
      ]),
    ),
  })
  return {
    status,
    readiness: (nowMs) => processReadiness(status(), nowMs),
    stop: async () => {
      await Promise.all(
        parts.flatMap(({ groups, finalizer }) => [finalizer, ...groups].map((part) => part.stop())),
      )
      await rowThreads.close()
    },
  }
}
