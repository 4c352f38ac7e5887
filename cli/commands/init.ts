import { createAcls } from '../../core/bus/kafka/acl.ts'
import { kafkaBusOptions } from '../../core/bus/kafka/config.ts'
import { applyTableRetention, migrate } from '../../core/clickhouse/migrate.ts'
import { ConfigError } from '../../core/config/errors.ts'
import { loadConfig, secretTexts } from '../../core/config/load.ts'
import { Secret } from '../../core/config/secret.ts'
import type { Config } from '../../core/config/settings.ts'
import { Fault } from '../../core/errors.ts'
import { makeInFlightTracker } from '../../core/ops/in-flight.ts'
import { makeLifecycle } from '../../core/ops/lifecycle.ts'
import { type Logger, makeRootLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { documentTopics } from '../../ingestors/metadata/worker.ts'
import { ingestTopics } from '../../ingestors/start.ts'
import { processorTopics } from '../../processors/start.ts'
import { createOrganizations } from '../../serving/auth/organizations.ts'
import { webhookTopics } from '../../serving/webhooks/topics.ts'
import { openDataFolder } from '../app/data-folder.ts'
import { type LogInfra, openInfra } from '../app/infra.ts'
import { aclLine, aclRows } from '../app/kafka-acl.ts'
import { configuredChains, unknownChainProblems } from './role.ts'
import { UsageError } from './usage-error.ts'

/** Options of `sluice init`. */
export interface InitOptions {
  /** True: Kafka access rules are written too; `print`: they are shown and nothing else is done. */
  readonly acl?: boolean | string
  readonly aclPrefix?: string
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Makes an installation ready for its roles: topics, schemas, tables with their retention, and the first organization with
 * an application and a key, whose secrets are printed this once. Safe to repeat, and from two processes at once.
 * Throws `ConfigError`, `Outage`.
 */
export const init = async (
  environment: Environment,
  write: (line: string) => void,
  { acl, aclPrefix = 'sluice-' }: InitOptions = {},
): Promise<number> => {
  if (acl !== undefined && acl !== true && acl !== 'print') {
    throw new UsageError([
      `--acl: ${acl} is not a mode; expected print, or no value to write the rules`,
    ])
  }
  const config = initConfig(environment)
  const { retention } = config
  const chains = configuredChains(config).map(({ id }) => id)
  const rules = acl === undefined ? [] : aclRows(chains, aclPrefix)
  for (const rule of rules) write(aclLine(rule))
  if (acl === 'print') return 0
  const log = makeRootLogger(config.logLevel, secretTexts(config)).child({ role: 'init' })
  if (rules.length > 0) {
    await createAcls({ ...kafkaBusOptions(config), clientId: 'sluice', log }, rules)
    write(`access    ${rules.length} rules written`)
  }
  const folder = openDataFolder(config.dataDir)
  const lifecycle = makeLifecycle(log)
  try {
    const parts = await openInfra({
      config,
      chains,
      log,
      prepare: true,
      activity: makeInFlightTracker(),
      logPath: folder.logPath,
      warehousePath: folder.warehousePath,
      onFatal: (error) => log.error({ err: error }, 'embedded log failed, shutting down'),
      opened: (name, stop) => lifecycle.add({ name, stop }),
    })
    await parts.bus.createTopics([
      ...chains.flatMap((chain) => [
        ...ingestTopics(chain, config),
        ...(config.metadataFetch === 'on' ? documentTopics(chain, config) : []),
      ]),
      ...processorTopics(chains, config),
      ...webhookTopics(chains, config),
    ])
    write(`topics    ${(await parts.bus.topics('')).length}, with their schemas`)
    await migrate(parts.warehouse, chains)
    await applyTableRetention(parts.warehouse, chains, retention)
    write(`tables    ${chains.join(', ')}, retention ${retention}`)
    const pepper = config.keyPepper.isEmpty ? new Secret(folder.pepper) : config.keyPepper
    await createFirstAccount({ ...parts, config: { ...config, keyPepper: pepper }, log, write })
    return 0
  } finally {
    await lifecycle.stop('done')
  }
}

/** On a cluster the pepper is shared by every process that serves, so it cannot be made here. */
const initConfig = (environment: Environment): Config => {
  const config = loadConfig(environment)
  const problems = [...unknownChainProblems(config)]
  if (config.kafkaBrokers.length > 0 && config.keyPepper.isEmpty) {
    problems.push({
      variable: 'KEY_PEPPER',
      message:
        'is needed together with KAFKA_BROKERS; set it to the same random text on every process: `sluice secrets` prints one',
    })
  }
  if (config.kafkaBrokers.length > 0 && config.clickhouseUrl.isEmpty) {
    problems.push({
      variable: 'CLICKHOUSE_URL',
      message: 'is needed together with KAFKA_BROKERS; set it to the URL of the ClickHouse server',
    })
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

interface FirstAccountDeps extends LogInfra {
  readonly config: Config
  readonly log: Logger
  readonly write: (line: string) => void
}

/** Makes the first account. Of processes that do so at the same time, the control log lets one through. */
const createFirstAccount = async ({
  bus,
  codec,
  config,
  log,
  write,
}: FirstAccountDeps): Promise<void> => {
  const { authUrl } = config
  const organizations = await createOrganizations({
    bus,
    codec,
    config,
    log,
    metrics: makeMetrics(),
    authUrl: () => authUrl,
    nowMs: Date.now,
  })
  try {
    if (organizations.registry.orgs().length > 0) return write(ACCOUNT_EXISTS_LINE)
    const made = await organizations.createKey({ name: 'first', plan: 'selfhost', isFirst: true })
    for (const [name, value] of Object.entries(made)) write(`${name.padEnd(14)}${value}`)
  } catch (error) {
    if (!(error instanceof Fault && error.faultName === 'CONFLICT')) throw error
    write(ACCOUNT_EXISTS_LINE)
  } finally {
    await organizations.stop()
  }
}

const ACCOUNT_EXISTS_LINE = 'account   there is one already; its key was printed when it was made'
