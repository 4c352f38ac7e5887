import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Bus } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { logLimitBytes } from '../../core/bus/embedded/log-size.ts'
import { openKafkaBus } from '../../core/bus/kafka/bus.ts'
import { kafkaBusOptions } from '../../core/bus/kafka/config.ts'
import { startRetentionCleaner } from '../../core/bus/retention-cleaner.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { trackCommits } from '../../core/bus/track-commits.ts'
import { openWarehouse, type Warehouse } from '../../core/clickhouse/client.ts'
import { trackInserts } from '../../core/clickhouse/track-inserts.ts'
import type { Codec } from '../../core/codec/contract.ts'
import {
  localCodec,
  openStoredSchemas,
  SCHEMAS_FILE,
  saveSchemas,
} from '../../core/codec/local-codec.ts'
import {
  type RegistryOptions,
  registerSchemas,
  registryCodec,
  registryConnection,
} from '../../core/codec/registry-codec.ts'
import { flashblocksUrl } from '../../core/config/flashblocks-settings.ts'
import type { Config } from '../../core/config/settings.ts'
import { Outage } from '../../core/errors.ts'
import type { InFlightTracker } from '../../core/ops/in-flight.ts'
import type { Logger } from '../../core/ops/logger.ts'
import { HOUR_MS } from '../../core/time.ts'

/** The log and how its records are written. */
export interface LogInfra {
  readonly bus: Bus
  readonly codec: Codec
}

/** The three things that a whole process works on. */
export interface Infra extends LogInfra {
  readonly warehouse: Warehouse
}

/** Where they are, and for which chains. */
export interface InfraOptions {
  readonly config: Config
  readonly chains: readonly string[]
  readonly logPath: string
  readonly warehousePath: string
  /** True: makes what is missing of topics and schemas; else they must be there (`sluice init`). */
  readonly prepare: boolean
  /** Called for every commit and insert. */
  readonly activity: InFlightTracker
  readonly log: Logger
  readonly onFatal: (error: unknown) => void
  /** Called for each part as it opens, so that a later failure can close it. */
  readonly opened: (name: string, close: () => Promise<void>) => void
}

/**
 * Opens bus, codec and warehouse as the configuration says: embedded in the data folder, or Kafka with its registry and a
 * ClickHouse server. Throws `Outage`.
 */
export const openInfra = async (options: InfraOptions): Promise<Infra> => {
  const logParts = await openLogInfra(options)
  return { ...logParts, warehouse: await openInfraWarehouse(options) }
}

/** Opens bus and codec. Throws `Outage`. */
export const openLogInfra = async (options: InfraOptions): Promise<LogInfra> => {
  const { config, log, opened, activity } = options
  const isLocal = config.kafkaBrokers.length === 0
  if (isLocal) prepareSchemas(options)
  const bus = trackCommits(await openBus(options), activity)
  opened('bus', () => bus.close())
  await (options.prepare ? prepareTopics(bus, options) : requireTopics(bus, options.chains))
  // Before the first commit: a log that was filled under another retention has room again.
  if (isLocal && options.prepare) await applyLogRetention(bus, log)
  opened('sweeper', startRetentionCleaner(bus, log).stop)
  const codec = isLocal
    ? localCodec(openStoredSchemas(schemasPath(options)))
    : await registryCodec(registryAccess(config, log))
  return { bus, codec }
}

const schemasPath = ({ logPath }: InfraOptions): string => join(logPath, SCHEMAS_FILE)

/** Records name the schema that they were written with, so the log keeps each of them. Throws `Outage` for a log without any. */
const prepareSchemas = (options: InfraOptions): void => {
  const { logPath } = options
  const path = schemasPath(options)
  if (existsSync(join(logPath, 'data.mdb')) && !existsSync(path)) {
    throw new Outage(
      'disk',
      `${logPath} holds records but no ${SCHEMAS_FILE}: a version before the first release wrote it, and this one cannot read them. Use another --data folder.`,
      { final: true },
    )
  }
  mkdirSync(logPath, { recursive: true, mode: 0o700 })
  saveSchemas(path)
}

const applyLogRetention = async (bus: Bus, log: Logger): Promise<void> => {
  try {
    await bus.sweep(Date.now())
  } catch (err) {
    log.error({ err }, 'embedded log retention run failed')
  }
}

/** Makes the documented topics that are missing and registers their schemas. Throws `Outage`. */
const prepareTopics = async (bus: Bus, { config, chains, log }: InfraOptions): Promise<void> => {
  const { partitions, retention, feeds } = config
  const pending = chains.filter((chain) => flashblocksUrl(config, chain) !== '')
  const topics = topicSpecs({ chains, partitions, retention, feeds, pending })
  await bus.createTopics(topics)
  if (config.kafkaBrokers.length === 0) return
  const names = topics.map(({ topic }) => topic)
  await registerSchemas(registryAccess(config, log), names)
}

/** Says what to do on a cluster that has not been prepared. */
const requireTopics = async (bus: Bus, chains: readonly string[]): Promise<void> => {
  const held = new Set(await bus.topics(''))
  const absent = chains.map((chain) => `${chain}.blocks`).filter((topic) => !held.has(topic))
  if (absent.length === 0) return
  throw new Outage('bus', `there is no topic ${absent.join(', ')}; run \`sluice init\` first`, {
    final: true,
  })
}

const registryAccess = (config: Config, log: Logger): RegistryOptions => ({
  ...registryConnection(config),
  log: log.child({ part: 'registry' }),
})

/** Opens the warehouse. Throws `Outage`. */
export const openInfraWarehouse = async (options: InfraOptions): Promise<Warehouse> => {
  const { config, warehousePath, activity, opened } = options
  const { clickhouseUrl, clickhouseDatabase: database } = config
  const warehouse = await openWarehouse(
    clickhouseUrl.isEmpty
      ? { kind: 'embedded', path: warehousePath }
      : {
          kind: 'server',
          url: clickhouseUrl.reveal(),
          database,
          user: config.clickhouseUser,
          password: config.clickhousePassword,
        },
  )
  opened('warehouse', () => warehouse.close())
  return trackInserts(warehouse, activity)
}

const openBus = ({ config, logPath, log, onFatal }: InfraOptions): Promise<Bus> => {
  const busLog = log.child({ part: 'bus' })
  if (config.kafkaBrokers.length > 0) {
    const access = kafkaBusOptions(config)
    return openKafkaBus({ ...access, clientId: 'sluice', log: busLog, onHalt: onFatal })
  }
  const { retention, logMaxMb: maxMb, lmdbMapSizeMb: mapMb, logRetentionHours } = config
  return openEmbeddedBus({
    path: logPath,
    mapSizeBytes: mapMb * 1_048_576,
    limitBytes: (sizes) => logLimitBytes(logPath, { maxMb, mapMb, retention }, sizes),
    keepMs: logRetentionHours * HOUR_MS,
    retention,
    log: busLog,
    onHalt: onFatal,
  })
}
