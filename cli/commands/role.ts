import {
  type Config,
  ConfigError,
  type ConfigProblem,
  loadConfig,
  secretTexts,
} from '../../core/config/config.ts'
import { Secret } from '../../core/config/secret.ts'
import { type Activity, makeActivity } from '../../core/ops/in-flight.ts'
import { makeLifecycle } from '../../core/ops/lifecycle.ts'
import { rootLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { scrubber } from '../../core/ops/redact.ts'
import { CHAIN_WORDS, type ChainRow, chainRow } from '../../schemas/chains.ts'
import { openDataFolder } from '../app/data-folder.ts'
import { openLogParts, openStore, type PartsOptions } from '../app/infra.ts'
import { laterNodeSource, nodeUrls } from '../app/node-source.ts'
import { startOps } from '../app/ops-endpoints.ts'
import { ended, runCourse } from '../app/process.ts'
import { publicUrlProblems } from '../app/public-urls.ts'
import {
  type HouseChain,
  type PieceDeps,
  startIngest,
  startProcess,
  startServe,
} from '../app/services.ts'

/** What one role needs and runs. */
interface RoleRow {
  /** Settings that a process of this role cannot do without. */
  readonly needs: readonly (keyof typeof NEEDS)[]
  readonly runs: readonly Piece[]
}

type Piece = 'process' | 'serve' | 'ingest'

const missing = (is: boolean, variable: string, message: string): readonly ConfigProblem[] =>
  is ? [{ variable, message }] : []

/** A process of its own shares nothing but servers with the others (R42). */
const SEPARATE = 'is needed by roles that run as separate processes'

const NEEDS = {
  brokers: ({ kafkaBrokers }: Config) =>
    missing(kafkaBrokers.length === 0, 'KAFKA_BROKERS', SEPARATE),
  warehouse: ({ clickhouseUrl }: Config) =>
    missing(clickhouseUrl.isEmpty, 'CLICKHOUSE_URL', SEPARATE),
  pepper: ({ keyPepper }: Config) => missing(keyPepper.isEmpty, 'KEY_PEPPER', SEPARATE),
  nodes: (config: Config) =>
    rowsOf(config).flatMap((row) =>
      missing(
        nodeUrls(config, row).length === 0,
        `RPC_URLS_${row.apiName.toUpperCase()}`,
        `is needed to follow ${row.name}`,
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
} as const satisfies Record<string, RoleRow>

/** Name of a role. */
export type RoleName = keyof typeof ROLES

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the configuration of a role. Throws `ConfigError` with everything that is wrong or missing. */
export const roleConfig = (name: RoleName, environment: Environment): Config => {
  const config = loadConfig(environment)
  const problems = [
    ...unknownChains(config),
    ...(ROLES[name].runs.some((piece) => piece === 'serve') ? publicUrlProblems(config) : []),
    ...ROLES[name].needs.flatMap((need) => NEEDS[need](config)),
  ]
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

/** Words in CHAINS that name none. */
export const unknownChains = ({ chains }: Config): readonly ConfigProblem[] =>
  chains
    .filter((word) => chainRow(CHAIN_WORDS[word] ?? '') === undefined)
    .map((word) => ({ variable: 'CHAINS', message: `${word} is not a chain of this build` }))

/** The configured chains. */
export const rowsOf = ({ chains }: Config): readonly ChainRow[] =>
  chains.flatMap((word) => chainRow(CHAIN_WORDS[word] ?? '') ?? [])

/** Runs one role until a signal or a fatal error; resolves with the exit status after an orderly stop. */
export const runRole = (name: RoleName, environment: Environment): Promise<number> => {
  const config = roleConfig(name, environment)
  const log = rootLogger(config.logLevel, secretTexts(config)).child({ role: name })
  return runCourse({ log, scrub: scrubber(secretTexts(config)) }, async (course) => {
    const lifecycle = makeLifecycle(log)
    const activity = makeActivity(config.activityFile)
    lifecycle.add({ name: 'activity', stop: async () => activity.close() })
    const deps: PieceDeps = {
      ...{ config: withPepper(config), log, lifecycle, metrics: makeMetrics(), checks: [] },
      chains: rowsOf(config).map(({ id }) => id),
      ownPorts: new Set(),
      onFatal: course.onFatal,
    }
    try {
      await startPieces(ROLES[name].runs, deps, activity)
      log.info('role started')
      const { status } = await ended(course.signal)
      return status
    } finally {
      await lifecycle.stop(
        course.signal.aborted ? String(course.signal.reason.reason) : 'start failed',
      )
    }
  })
}

/** The pepper of the data folder, where the installation is embedded in one. */
const withPepper = (config: Config): Config =>
  config.kafkaBrokers.length > 0 || !config.keyPepper.isEmpty
    ? config
    : { ...config, keyPepper: new Secret(openDataFolder(config.dataDir).pepper) }

const startPieces = async (
  pieces: readonly Piece[],
  deps: PieceDeps,
  activity: Activity,
): Promise<void> => {
  const { config, chains, log, lifecycle, onFatal } = deps
  const folder = openDataFolder(config.dataDir)
  const isEmbedded = config.kafkaBrokers.length === 0
  const options: PartsOptions = {
    ...{ config, chains, log, activity, onFatal, prepare: isEmbedded },
    ...{ logPath: folder.logPath, warehousePath: folder.warehousePath },
    opened: (name, stop) => lifecycle.add({ name, stop }),
  }
  const logParts = await openLogParts(options)
  const needsStore = pieces.some((piece) => piece !== 'ingest')
  const warehouse = needsStore ? await openStore(options) : undefined
  if (warehouse !== undefined) {
    const parts = { ...logParts, warehouse }
    if (pieces.includes('process')) await startProcess(deps, parts)
    if (pieces.includes('serve')) await startServe(deps, parts)
  }
  const houseChains = pieces.includes('ingest') ? houseChainsOf(deps) : []
  const ingestors = await startIngest(deps, logParts, houseChains)
  await startOps(deps, {
    ...{
      parts: { ...logParts, ...(warehouse && { warehouse }) },
      activity,
      ingestors,
      houseChains,
    },
    ...(isEmbedded && { opsPath: folder.opsPath }),
  })
}

/** Each chain opens its nodes for itself: those of one that do not answer hold nobody else up. */
const houseChainsOf = ({ config, metrics, log }: PieceDeps): readonly HouseChain[] =>
  rowsOf(config).map((row) => {
    const extra = config.chainExtra[row.id]
    const source = laterNodeSource({
      ...{ chain: row, urls: nodeUrls(config, row), config, metrics },
      from: config.fromHeight === -1 ? null : config.fromHeight,
      log: log.child({ chain: row.id }),
    })
    return { row, source, ...(extra && { extra }) }
  })
