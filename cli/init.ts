import { makeActivity } from '../core/activity.ts'
import type { Bus } from '../core/bus-contract.ts'
import { type Config, ConfigError, loadConfig, secretTexts } from '../core/config.ts'
import { makeLifecycle } from '../core/lifecycle.ts'
import { type Logger, rootLogger } from '../core/log.ts'
import { makeMetrics } from '../core/metrics.ts'
import { applyRetention, migrate } from '../core/migrate.ts'
import { Secret } from '../core/secret.ts'
import { documentTopics } from '../ingestors/metadata/worker.ts'
import { ingestTopics } from '../ingestors/run.ts'
import { processorTopics } from '../processors/all.ts'
import { globalTopic } from '../schemas/topics.ts'
import { createAccounts } from '../serving/auth/accounts.ts'
import { openDataFolder } from './data-folder.ts'
import { type LogParts, openParts } from './parts.ts'
import { rowsOf, unknownChains } from './role.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Makes an installation ready for its roles: topics, schemas, tables with their retention, and the first organization with
 * an application and a key, whose secrets are printed this once. Safe to repeat, and from two processes at once.
 * Throws `ConfigError`, `Outage`.
 */
export const init = async (
  environment: Environment,
  write: (line: string) => void,
): Promise<number> => {
  const config = initConfig(environment)
  const { retention } = config
  const chains = rowsOf(config).map(({ id }) => id)
  const log = rootLogger(config.logLevel, secretTexts(config)).child({ role: 'init' })
  const folder = openDataFolder(config.dataDir)
  const lifecycle = makeLifecycle(log)
  try {
    const parts = await openParts({
      ...{ config, chains, log, prepare: true, activity: makeActivity() },
      ...{ logPath: folder.logPath, warehousePath: folder.warehousePath },
      onFatal: (error) => log.error({ err: error }, 'the log cannot go on'),
      opened: (name, stop) => lifecycle.add({ name, stop }),
    })
    await parts.bus.createTopics([
      ...chains.flatMap((chain) => [
        ...ingestTopics(chain, config),
        ...(config.metadataFetch === 'on' ? documentTopics(chain, config) : []),
      ]),
      ...processorTopics(chains, config),
    ])
    write(`topics    ${(await parts.bus.topics('')).length}, with their schemas`)
    await migrate(parts.warehouse, chains)
    await applyRetention(parts.warehouse, chains, retention)
    write(`tables    ${chains.join(', ')}, retention ${retention}`)
    const pepper = config.keyPepper.isEmpty ? new Secret(folder.pepper) : config.keyPepper
    await firstAccount({ ...parts, config: { ...config, keyPepper: pepper }, log, write })
    return 0
  } finally {
    await lifecycle.stop('done')
  }
}

/** On a cluster the pepper is shared by every process that serves, so it cannot be made here. */
const initConfig = (environment: Environment): Config => {
  const config = loadConfig(environment)
  const problems = [...unknownChains(config)]
  if (config.kafkaBrokers.length > 0 && config.keyPepper.isEmpty) {
    problems.push({ variable: 'KEY_PEPPER', message: 'is needed together with KAFKA_BROKERS' })
  }
  if (config.kafkaBrokers.length > 0 && config.clickhouseUrl.isEmpty) {
    problems.push({ variable: 'CLICKHOUSE_URL', message: 'is needed together with KAFKA_BROKERS' })
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

interface AccountWork extends LogParts {
  readonly config: Config
  readonly log: Logger
  readonly write: (line: string) => void
}

/** One process at a time looks and makes: the owner of the only lane of the group. */
const firstAccount = async (work: AccountWork): Promise<void> => {
  const { bus } = work
  const controller = new AbortController()
  const done = new Promise<void>((resolve, reject) => {
    controller.signal.addEventListener('abort', () => {
      const { reason } = controller.signal
      if (reason === DONE) resolve()
      else reject(reason)
    })
  })
  const running = await bus.subscribe({
    group: 'init',
    topics: [globalTopic('controlOrgs')],
    run: async () => {
      if (controller.signal.aborted) return
      await makeAccount(work).then(
        () => controller.abort(DONE),
        (error: unknown) => controller.abort(error),
      )
    },
  })
  try {
    await done
  } finally {
    await running.stop()
  }
}

const DONE = Symbol('done')

const makeAccount = async ({ bus, codec, config, log, write }: AccountWork): Promise<void> => {
  if (await hasOrganization(bus)) {
    write('account   there is one already; its key was printed when it was made')
    return
  }
  const { authUrl } = config
  const accounts = await createAccounts({
    ...{ bus, codec, config, log, metrics: makeMetrics() },
    authUrl: () => authUrl,
    nowMs: Date.now,
  })
  try {
    const made = await accounts.createKey({ name: 'first', plan: 'selfhost' })
    for (const [name, value] of Object.entries(made)) write(`${name.padEnd(14)}${value}`)
  } finally {
    await accounts.stop()
  }
}

const hasOrganization = async (bus: Bus): Promise<boolean> => {
  const topic = globalTopic('controlOrgs')
  for (const { partition, low, end } of await bus.ends(topic)) {
    for await (const { value } of bus.read(topic, partition, low, end)) {
      if (value !== null) return true
    }
  }
  return false
}
