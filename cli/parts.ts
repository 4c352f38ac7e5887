import { type Activity, watchedBus, watchedWarehouse } from '../core/activity.ts'
import { openKafkaBus } from '../core/bus.ts'
import type { Bus } from '../core/bus-contract.ts'
import { openEmbeddedBus } from '../core/bus-embedded.ts'
import { kafkaOptions } from '../core/bus-kafka-config.ts'
import { localCodec } from '../core/codec.ts'
import type { Codec } from '../core/codec-contract.ts'
import { registerSchemas, registryCodec } from '../core/codec-registry.ts'
import type { Config } from '../core/config.ts'
import type { Logger } from '../core/log.ts'
import { topicSpecs } from '../core/topic-specs.ts'
import { openWarehouse, type Warehouse } from '../core/warehouse.ts'

/** The log and how its records are written. */
export interface LogParts {
  readonly bus: Bus
  readonly codec: Codec
}

/** The three things that a whole process works on. */
export interface Parts extends LogParts {
  readonly warehouse: Warehouse
}

/** Where they are, and for which chains. */
export interface PartsOptions {
  readonly config: Config
  readonly chains: readonly string[]
  readonly logPath: string
  readonly warehousePath: string
  /** Told of every commit and insert. */
  readonly activity: Activity
  readonly log: Logger
  readonly onFatal: (error: unknown) => void
  /** Told of each part as it opens, so that a later failure can close it. */
  readonly opened: (name: string, close: () => Promise<void>) => void
}

/**
 * Opens bus, codec and warehouse as the configuration says: embedded in the data folder, or Kafka with its registry and a
 * ClickHouse server. Topics are made and schemas registered. Throws `Outage`.
 */
export const openParts = async (options: PartsOptions): Promise<Parts> => {
  const logParts = await openLogParts(options)
  return { ...logParts, warehouse: await openStore(options) }
}

/** Opens bus and codec; topics are made and schemas registered. Throws `Outage`. */
export const openLogParts = async (options: PartsOptions): Promise<LogParts> => {
  const { config, chains, opened, activity } = options
  const bus = watchedBus(await openBus(options), activity)
  opened('bus', () => bus.close())
  const { partitions, retention } = config
  const topics = topicSpecs({ chains, partitions, retention })
  await bus.createTopics(topics)
  const codec = await openCodec(
    options,
    topics.map(({ topic }) => topic),
  )
  return { bus, codec }
}

/** Opens the warehouse. Throws `Outage`. */
export const openStore = async (options: PartsOptions): Promise<Warehouse> => {
  const { config, warehousePath, activity, opened } = options
  const { clickhouseUrl: url, clickhouseDatabase: database } = config
  const warehouse = await openWarehouse(
    url === '' ? { kind: 'embedded', path: warehousePath } : { kind: 'server', url, database },
  )
  opened('warehouse', () => warehouse.close())
  return watchedWarehouse(warehouse, activity)
}

const openBus = ({ config, logPath, log, onFatal }: PartsOptions): Promise<Bus> => {
  const busLog = log.child({ part: 'bus' })
  if (config.kafkaBrokers.length > 0) {
    const access = kafkaOptions(config)
    return openKafkaBus({ ...access, clientId: 'sluice', log: busLog, onHalt: onFatal })
  }
  return openEmbeddedBus({
    path: logPath,
    mapSizeBytes: config.lmdbMapSizeMb * 1_048_576,
    retention: config.retention,
    log: busLog,
    onHalt: onFatal,
  })
}

const openCodec = async (
  { config, log }: PartsOptions,
  topics: readonly string[],
): Promise<Codec> => {
  if (config.kafkaBrokers.length === 0) return localCodec()
  const registry = { url: config.schemaRegistryUrl, log: log.child({ part: 'registry' }) }
  await registerSchemas(registry, topics)
  return registryCodec(registry)
}
