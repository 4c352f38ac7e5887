import type { Bus } from '../../core/bus/contract.ts'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import type { Codec } from '../../core/codec/contract.ts'
import type { Config } from '../../core/config/settings.ts'
import { type InFlightTracker, makeInFlightTracker } from '../../core/ops/in-flight.ts'
import { type Lifecycle, makeLifecycle } from '../../core/ops/lifecycle.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { Ingestor } from '../../ingestors/start.ts'
import type { RunningProcessors } from '../../processors/start.ts'
import type { DemoCredentials } from '../../serving/auth/organizations.ts'
import { isCaughtUp } from './caught-up.ts'
import { openInfra } from './infra.ts'
import { startOpsServer } from './ops-endpoints.ts'
import { requirePublicUrl } from './public-urls.ts'
import {
  type AppChain,
  type RunningServing,
  type ServiceDeps,
  type ServingOptions,
  startIngest,
  startProcessing,
  startServing,
} from './services.ts'

/** What a whole product in one process is made of. */
export interface AppOptions {
  /** Folder of the embedded log and of the embedded warehouse. */
  readonly logPath: string
  readonly warehousePath: string
  readonly config: Config
  readonly chains: readonly AppChain[]
  /** Where the blocks come from, in words for people. */
  readonly origin?: string
  /** See `ServingOptions.documentSubjects`. */
  readonly documentSubjects?: ServingOptions['documentSubjects']
  /** True: simulated chains on one machine. */
  readonly isDemo?: boolean
  /** Credentials that a first user is shown, as they were written down. */
  readonly firstUser?: Partial<DemoCredentials>
  /** Once it is aborted the next part is not started: what had started is stopped, and its reason thrown. */
  readonly signal?: AbortSignal
  /** Ports of this machine where simulated nodes answer. */
  readonly nodePorts?: readonly number[]
  /** File that names the ops port while the process runs. */
  readonly opsPath?: string
  readonly metrics: Metrics
  readonly log: Logger
  readonly onFatal: (error: unknown) => void
}

/** The whole product in one process on embedded parts. */
export interface App extends RunningServing {
  readonly bus: Bus
  readonly codec: Codec
  readonly warehouse: Warehouse
  readonly processors: RunningProcessors
  readonly ingestors: readonly Ingestor[]
  /** Where operators ask. */
  readonly opsUrl: string
  /** True when everything that was ingested is in the warehouse and on the processed topics. */
  isCaughtUp(): Promise<boolean>
  stop(reason: string): Promise<void>
}

/** Starts every part in order; a failure stops what had started. */
export const createApp = async (options: AppOptions): Promise<App> => {
  const lifecycle = makeLifecycle(options.log)
  const activity = makeInFlightTracker(options.config.activityFile)
  lifecycle.add({ name: 'activity', stop: async () => activity.close() })
  try {
    return await assemble(options, lifecycle, activity)
  } catch (error) {
    await lifecycle.stop(options.signal?.aborted ? 'stopped during start' : 'start failed')
    throw error
  }
}

const assemble = async (
  options: AppOptions,
  lifecycle: Lifecycle,
  activity: InFlightTracker,
): Promise<App> => {
  const { config, metrics, log, onFatal, origin, isDemo = false, firstUser, opsPath } = options
  const { signal, documentSubjects } = options
  // In a demo the wildcard stands for this machine: no other machine is meant.
  if (!isDemo) requirePublicUrl(config)
  const chains = options.chains.map(({ row }) => row.id)
  const deps: ServiceDeps = {
    config,
    chains,
    metrics,
    log,
    lifecycle,
    checks: [],
    onFatal,
    ownPorts: new Set(options.nodePorts),
  }
  const parts = await openInfra({
    ...options,
    chains,
    activity,
    prepare: true,
    opened: (name, stop) => lifecycle.add({ name, stop }),
  })
  signal?.throwIfAborted()
  const processors = await startProcessing(deps, parts)
  signal?.throwIfAborted()
  const served = await startServing(deps, parts, {
    ...(origin !== undefined && { origin }),
    ...(documentSubjects && { documentSubjects }),
    ...(firstUser !== undefined && { firstUser }),
    isDemo,
  })
  signal?.throwIfAborted()
  const ingestors = await startIngest(deps, parts, options.chains)
  const opsUrl = await startOpsServer(deps, {
    parts,
    activity,
    processors,
    ingestors,
    appChains: options.chains,
    ...(opsPath !== undefined && { opsPath }),
  })
  const { partitions } = config
  return {
    ...parts,
    processors,
    ingestors,
    opsUrl,
    ...served,
    isCaughtUp: async () => {
      const each = ingestors.map((ingestor, index) =>
        isCaughtUp(chains[index] ?? '', ingestor.status().seq, {
          bus: parts.bus,
          processors,
          partitions,
        }),
      )
      return (await Promise.all(each)).every((isDone) => isDone)
    },
    stop: (reason) => lifecycle.stop(reason),
  }
}
