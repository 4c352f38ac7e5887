import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import { secretTexts } from '../../core/config/load.ts'
import type { Config } from '../../core/config/settings.ts'
import { Outage } from '../../core/errors.ts'
import { makeInFlightTracker } from '../../core/ops/in-flight.ts'
import { makeLifecycle } from '../../core/ops/lifecycle.ts'
import { makeRootLogger } from '../../core/ops/logger.ts'
import { type InfraOptions, type LogInfra, openInfraWarehouse, openLogInfra } from './infra.ts'

/** The parts of an installation as a command finds them, for a look or a repair. */
export interface InstallationInfra extends LogInfra {
  /** Chains whose blocks are in the log. */
  readonly chains: readonly string[]
  warehouse(): Promise<Warehouse>
}

/**
 * Opens what the configuration names, or the data folder that no process holds, runs `work` and closes it. Throws
 * `Outage` for a folder that is not there or that a process holds.
 */
export const withInfra = async <T>(
  config: Config,
  work: (parts: InstallationInfra) => Promise<T>,
): Promise<T> => {
  const logPath = join(config.dataDir, 'log')
  if (config.kafkaBrokers.length === 0 && !existsSync(logPath)) {
    throw new Outage(
      'disk',
      `${config.dataDir} holds no data, and no brokers are configured. Pass the folder of an installation with --data, or set KAFKA_BROKERS`,
      {
        final: true,
      },
    )
  }
  const log = makeRootLogger('warn', secretTexts(config))
  const lifecycle = makeLifecycle(log)
  const options: InfraOptions = {
    config,
    log,
    logPath,
    chains: [],
    prepare: false,
    activity: makeInFlightTracker(),
    warehousePath: join(config.dataDir, 'warehouse'),
    onFatal: (error) => log.error({ err: error }, 'embedded log failed, shutting down'),
    opened: (name, stop) => lifecycle.add({ name, stop }),
  }
  try {
    const parts = await openLogInfra(options)
    const chains = (await parts.bus.topics('')).flatMap(
      (topic) => /^([a-z]+)\.blocks$/.exec(topic)?.[1] ?? [],
    )
    let opened: Promise<Warehouse> | undefined
    const warehouse = (): Promise<Warehouse> => {
      opened ??= openInfraWarehouse(options)
      return opened
    }
    return await work({ ...parts, chains, warehouse })
  } finally {
    await lifecycle.stop('the command ends')
  }
}
