import { join } from 'node:path'
import type { Bus, RunningTask, TopicSpec } from '../core/bus/contract.ts'
import { changelogSpec, deadLetterSpec, topicSpecs } from '../core/bus/topic-specs.ts'
import type { Warehouse } from '../core/clickhouse/client.ts'
import { applyTableRetention, migrate } from '../core/clickhouse/migrate.ts'
import type { Codec } from '../core/codec/contract.ts'
import { SCHEMAS_FILE } from '../core/codec/local-codec.ts'
import { registryConnection } from '../core/codec/registry-codec.ts'
import type { Config } from '../core/config/settings.ts'
import type { Logger } from '../core/ops/logger.ts'
import type { Metrics } from '../core/ops/metrics.ts'
import { makeQuoteAssets, type QuoteAssets } from '../core/prices/quote-assets.ts'
import { chainRow } from '../schemas/chains.ts'
import { feedsOfChain } from '../schemas/feeds.ts'
import { deadLetterTopic, stateTopic } from '../schemas/topics.ts'
import { startChainLabels } from './labels/chain-labels.ts'
import { PROCESS_PIPELINE } from './process-pipeline.ts'
import { processorsReadiness, stoppedPartitions } from './readiness.ts'
import { type FinalizationRun, startFinalizer } from './rollups/finalizer.ts'
import type { FailingLane } from './runtime/lane-activity.ts'
import { type LaneThreads, openLaneThreads } from './runtime/lane-threads.ts'
import type { LaneStatus } from './runtime/stage-lane.ts'
import { startStage } from './runtime/stage-runner.ts'
import { enabledFeedSinks } from './sinks/feed-sinks.ts'
import { createInserter } from './sinks/inserter.ts'
import { openRowWorkerPool } from './sinks/row-worker-pool.ts'
import { sinkConcurrency, sinkGroup, startSink } from './sinks/runner.ts'
import { SINKS, type Sink } from './sinks/tables.ts'

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
        | 'laneThreads'
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
  readonly finalized: Readonly<Record<string, FinalizationRun | undefined>>
  /** Lanes and finalizers that repeat what fails, by group. */
  readonly failing: Readonly<Record<string, readonly FailingLane[]>>
}

/** The running process role. */
export interface RunningProcessors extends RunningTask {
  status(): ProcessorsStatus
  /** Whether every lane and finalizer continues. */
  readiness(nowMs: number): { readonly ok: boolean; readonly detail?: string }
}

const sinksForChain = (
  chain: string,
  { feeds = [] }: Partial<Pick<Config, 'feeds'>>,
): readonly Sink[] => {
  const row = chainRow(chain)
  return row === undefined ? SINKS : [...SINKS, ...enabledFeedSinks(row, feeds)]
}

/** Topics that stages and sinks of these chains need beside the documented ones. */
export const processorTopics = (
  chains: readonly string[],
  config: ProcessorDeps['config'],
): readonly TopicSpec[] => {
  const { partitions, retention } = config
  return chains.flatMap((chain) => [
    changelogSpec(stateTopic(PROCESS_PIPELINE.app, chain), partitions),
    deadLetterSpec(deadLetterTopic(`${PROCESS_PIPELINE.app}.${chain}`), retention),
    ...sinksForChain(chain, config).map((sink) =>
      deadLetterSpec(deadLetterTopic(sinkGroup(sink, chain)), retention),
    ),
  ])
}

const quoteAssetsFor = (
  chain: string,
  extra: Config['chainExtra'] = {},
): QuoteAssets | undefined => {
  const row = chainRow(chain)
  return row && makeQuoteAssets(row, extra[chain])
}

/** Records on Kafka carry the registry's ids; those of an embedded log name schemas that lie beside it. */
const schemaSource = ({ kafkaBrokers = [], dataDir, ...config }: ProcessorDeps['config']) => {
  if (kafkaBrokers.length > 0 && hasRegistry(config))
    return { registry: registryConnection(config) }
  return { registry: null, ...(dataDir && { schemas: join(dataDir, 'log', SCHEMAS_FILE) }) }
}

type RegistrySettings = Parameters<typeof registryConnection>[0]

const hasRegistry = (config: Partial<RegistrySettings>): config is RegistrySettings =>
  config.schemaRegistryUrl !== undefined

/** Threads that fold, where the configuration asks for some. */
const openThreadsForLanes = ({ config, log }: ProcessorDeps): LaneThreads | undefined => {
  const { laneThreads: count = 0 } = config
  if (count === 0) return undefined
  const module = new URL('./lane-thread', import.meta.url)
  return openLaneThreads({ count, module, data: schemaSource(config), log })
}

/** Makes topics and tables where they are missing, then runs every stage, sink and finalizer of the chains. */
export const startProcessors = async (deps: ProcessorDeps): Promise<RunningProcessors> => {
  const { chains, bus, warehouse, config, log } = deps
  const { partitions, retention, feeds = [] } = config
  await bus.createTopics([
    ...topicSpecs({ chains, partitions, retention, feeds }),
    ...processorTopics(chains, config),
  ])
  await migrate(warehouse, chains)
  await applyTableRetention(warehouse, chains, retention)
  const rowThreads = openRowWorkerPool(schemaSource(config), log)
  const laneThreads = openThreadsForLanes(deps)
  const { makeRows } = rowThreads
  const written = { makeRows, insertLimit: sinkConcurrency(), inserter: createInserter(deps) }
  const parts = await Promise.all(
    chains.map(async (chain) => {
      const quoteAssets = quoteAssetsFor(chain, config.chainExtra)
      const chainDeps = {
        ...deps,
        chain,
        log: log.child({ role: 'process', chain }),
        ...(quoteAssets && { quoteAssets }),
        ...(laneThreads && { threads: laneThreads }),
      }
      const stage = await startStage(PROCESS_PIPELINE, chainDeps)
      const sinks = await Promise.all(
        sinksForChain(chain, config).map((sink) => startSink(sink, { ...chainDeps, ...written })),
      )
      // One process has the first lane; of several that finalize, that one repairs.
      const isOnlyFinalizer = warehouse.isExclusive
      const mayRepair = () =>
        isOnlyFinalizer || stage.lanes().some(({ partition }) => partition === 0)
      const finalizer = startFinalizer({ ...chainDeps, mayRepair, isOnlyFinalizer })
      const row = chainRow(chain)
      const hasLabels = row !== undefined && feedsOfChain(row, feeds).has('address-labels')
      const labels = hasLabels
        ? startChainLabels({ ...chainDeps, explorerUrl: row.explorerUrl, mayWrite: mayRepair })
        : undefined
      return { chain, groups: [stage, ...sinks], finalizer, labels }
    }),
  )
  const status = (): ProcessorsStatus => ({
    groups: Object.fromEntries(
      parts.flatMap(({ groups }) => groups.map(({ group, lanes }) => [group, lanes()])),
    ),
    finalized: Object.fromEntries(parts.map(({ chain, finalizer }) => [chain, finalizer.last()])),
    failing: Object.fromEntries(
      parts.flatMap(({ chain, groups, finalizer, labels }) => [
        ...groups.map(({ group, failing }) => [group, failing?.() ?? []] as const),
        [`finalizer.${chain}`, finalizer.failing()] as const,
        ...(labels ? [[`labels.${chain}`, labels.failing()] as const] : []),
      ]),
    ),
  })
  const endObserving = deps.metrics.observe('haltedPartitions', () =>
    stoppedPartitions(status().groups),
  )
  return {
    status,
    readiness: (nowMs) => processorsReadiness(status(), nowMs),
    stop: async () => {
      endObserving()
      await Promise.all(
        parts.flatMap(({ groups, finalizer, labels }) =>
          [finalizer, ...(labels ? [labels] : []), ...groups].map((part) => part.stop()),
        ),
      )
      await rowThreads.close()
      await laneThreads?.close()
    },
  }
}
