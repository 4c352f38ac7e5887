import { ConfigError, type ConfigProblem } from '../../core/config/errors.ts'
import { loadConfig, secretTexts } from '../../core/config/load.ts'
import { Secret } from '../../core/config/secret.ts'
import type { Config } from '../../core/config/settings.ts'
import { unknownChainText } from '../../core/config/unknown-chain.ts'
import { type InFlightTracker, makeInFlightTracker } from '../../core/ops/in-flight.ts'
import { makeLifecycle } from '../../core/ops/lifecycle.ts'
import { makeRootLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { makeRedactor } from '../../core/ops/redact.ts'
import type { RunningProcessors } from '../../processors/start.ts'
import { CHAIN_ID_BY_NAME, type ChainRow, chainRow } from '../../schemas/chains.ts'
import { openDataFolder } from '../app/data-folder.ts'
import { type InfraOptions, openInfraWarehouse, openLogInfra } from '../app/infra.ts'
import { lazyNodeSource, nodeUrls } from '../app/node-source.ts'
import { startOpsServer } from '../app/ops-endpoints.ts'
import { runProcess, untilExit } from '../app/process.ts'
import { publicUrlProblems } from '../app/public-urls.ts'
import {
  type AppChain,
  type ServiceDeps,
  startIngest,
  startProcessing,
  startServing,
} from '../app/services.ts'

/** What one role needs and runs. */
interface RoleDefinition {
  /** Settings that a process of this role cannot do without. */
  readonly needs: readonly (keyof typeof REQUIREMENTS)[]
  readonly runs: readonly ServiceName[]
}

type ServiceName = 'process' | 'serve' | 'ingest'

const problemIf = (is: boolean, variable: string, message: string): readonly ConfigProblem[] =>
  is ? [{ variable, message }] : []

/** A process of its own shares nothing but servers with the others. */
const NEEDED_BY_SEPARATE_ROLES =
  'is needed by roles that run as separate processes and is not set; set it, or use `sluice all`'

const REQUIREMENTS = {
  brokers: ({ kafkaBrokers }: Config) =>
    problemIf(kafkaBrokers.length === 0, 'KAFKA_BROKERS', NEEDED_BY_SEPARATE_ROLES),
  warehouse: ({ clickhouseUrl }: Config) =>
    problemIf(clickhouseUrl.isEmpty, 'CLICKHOUSE_URL', NEEDED_BY_SEPARATE_ROLES),
  pepper: ({ keyPepper }: Config) =>
    problemIf(keyPepper.isEmpty, 'KEY_PEPPER', NEEDED_BY_SEPARATE_ROLES),
  nodes: (config: Config) =>
    configuredChains(config).flatMap((row) =>
      problemIf(
        nodeUrls(config, row).length === 0,
        `RPC_URLS_${row.apiName.toUpperCase()}`,
        `is needed to follow ${row.name} and is not set; set it to URLs of its nodes, or leave the chain out of CHAINS`,
      ),
    ),
} as const satisfies Record<string, (config: Config) => readonly ConfigProblem[]>

/** The roles of an installation. They meet only in Kafka and ClickHouse; `all` may also run on the embedded parts. */
export const ROLES = {
  ingest: {
    needs: ['brokers', 'nodes'],
    runs: ['ingest'],
  },
  process: {
    needs: ['brokers', 'warehouse'],
    runs: ['process'],
  },
  serve: {
    needs: ['brokers', 'warehouse', 'pepper'],
    runs: ['serve'],
  },
  all: {
    needs: ['nodes'],
    runs: ['process', 'serve', 'ingest'],
  },
} as const satisfies Record<string, RoleDefinition>

/** Name of a role. */
export type RoleName = keyof typeof ROLES

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the configuration of a role. Throws `ConfigError` with everything that is wrong or missing. */
export const roleConfig = (name: RoleName, environment: Environment): Config => {
  const config = loadConfig(environment)
  const problems = [
    ...unknownChainProblems(config),
    ...(ROLES[name].runs.some((piece) => piece === 'serve') ? publicUrlProblems(config) : []),
    ...ROLES[name].needs.flatMap((need) => REQUIREMENTS[need](config)),
  ]
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

/** Words in CHAINS that name none. */
export const unknownChainProblems = ({ chains }: Config): readonly ConfigProblem[] =>
  chains
    .filter((word) => chainRow(CHAIN_ID_BY_NAME[word] ?? '') === undefined)
    .map((word) => ({ variable: 'CHAINS', message: unknownChainText(word) }))

/** The configured chains. */
export const configuredChains = ({ chains }: Config): readonly ChainRow[] =>
  chains.flatMap((word) => chainRow(CHAIN_ID_BY_NAME[word] ?? '') ?? [])

/** Runs one role until a signal or a fatal error; resolves with the exit status after an orderly stop. */
export const runRole = (name: RoleName, environment: Environment): Promise<number> => {
  const config = roleConfig(name, environment)
  const log = makeRootLogger(config.logLevel, secretTexts(config)).child({ role: name })
  return runProcess({ log, scrub: makeRedactor(secretTexts(config)) }, async (context) => {
    const lifecycle = makeLifecycle(log)
    const activity = makeInFlightTracker(config.activityFile)
    lifecycle.add({ name: 'activity', stop: async () => activity.close() })
    const deps: ServiceDeps = {
      config: withPepper(config),
      log,
      lifecycle,
      metrics: makeMetrics(),
      checks: [],
      chains: configuredChains(config).map(({ id }) => id),
      ownPorts: new Set(),
      onFatal: context.onFatal,
    }
    try {
      await startServices(ROLES[name].runs, deps, activity, context.signal)
      log.info('role started')
      const { status } = await untilExit(context.signal)
      return status
    } finally {
      await lifecycle.stop(
        context.signal.aborted ? String(context.signal.reason.reason) : 'start failed',
      )
    }
  })
}

/** The pepper of the data folder, where the installation is embedded in one. */
const withPepper = (config: Config): Config =>
  config.kafkaBrokers.length > 0 || !config.keyPepper.isEmpty
    ? config
    : { ...config, keyPepper: new Secret(openDataFolder(config.dataDir).pepper) }

const startServices = async (
  pieces: readonly ServiceName[],
  deps: ServiceDeps,
  activity: InFlightTracker,
  signal: AbortSignal,
): Promise<void> => {
  const { config, chains, log, lifecycle, onFatal } = deps
  const folder = openDataFolder(config.dataDir)
  const isEmbedded = config.kafkaBrokers.length === 0
  const options: InfraOptions = {
    config,
    chains,
    log,
    activity,
    onFatal,
    prepare: isEmbedded,
    logPath: folder.logPath,
    warehousePath: folder.warehousePath,
    opened: (name, stop) => lifecycle.add({ name, stop }),
  }
  const logParts = await openLogInfra(options)
  const needsStore = pieces.some((piece) => piece !== 'ingest')
  const warehouse = needsStore ? await openInfraWarehouse(options) : undefined
  let processors: RunningProcessors | undefined
  if (warehouse !== undefined) {
    signal.throwIfAborted()
    const parts = { ...logParts, warehouse }
    if (pieces.includes('process')) processors = await startProcessing(deps, parts)
    signal.throwIfAborted()
    if (pieces.includes('serve')) await startServing(deps, parts)
  }
  signal.throwIfAborted()
  const appChains = pieces.includes('ingest') ? appChainsOf(deps) : []
  const ingestors = await startIngest(deps, logParts, appChains)
  await startOpsServer(deps, {
    parts: { ...logParts, ...(warehouse && { warehouse }) },
    activity,
    ...(processors && { processors }),
    ingestors,
    appChains,
    ...(isEmbedded && { opsPath: folder.opsPath }),
  })
}

/** Each chain opens its nodes for itself: those of one that do not answer delay no other chain. */
const appChainsOf = ({ config, metrics, log }: ServiceDeps): readonly AppChain[] =>
  configuredChains(config).map((row) => {
    const extra = config.chainExtra[row.id]
    const source = lazyNodeSource({
      chain: row,
      urls: nodeUrls(config, row),
      config,
      metrics,
      from: config.fromHeight === -1 ? null : config.fromHeight,
      log: log.child({ chain: row.id }),
    })
    return { row, source, ...(extra && { extra }) }
  })
