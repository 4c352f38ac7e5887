import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { startSimulator } from '../../simulator/start.ts'
import { startClickHouse } from './clickhouse-bridge.ts'
import { composeService } from './compose.ts'
import { type KafkaCluster, type Registry, saslLogin, startKafka, startRegistry } from './kafka.ts'
import { freePort } from './ports.ts'
import { type SluiceProcess, startSluice } from './sluice-process.ts'
import { PROCESS_LIMIT_MS, until } from './until.ts'

/** Roles that run as processes of their own. */
export const ROLE_NAMES = ['ingest', 'process', 'serve'] as const
export type RoleProcessName = (typeof ROLE_NAMES)[number]

/** A role as docker-compose.yml starts it. */
export interface RoleProcess extends SluiceProcess {
  readonly name: RoleProcessName
  readonly opsUrl: string
  readonly apiUrl: string
  /** What it had begun and not finished, also after its end. */
  readonly activityFile: string
}

/** Kafka, registry, ClickHouse over HTTP and a simulated chain, with the roles as processes of their own. */
export interface Installation {
  /** Environment of commands: the compose file's, with the places of this installation. */
  environment(name: string): Promise<Record<string, string>>
  start(name: RoleProcessName): Promise<RoleProcess>
  /** Height of the newest block that the chain shows. */
  headHeight(): number
  stop(): Promise<void>
}

/** The chain that the installation follows. */
export interface InstallationChain {
  /** Internal id. */
  readonly id: 'sol' | 'eth'
  readonly seed: number
  readonly ratePerSecond: number
  readonly genesisMs: number
  /** How far the chain is shown, epoch milliseconds. */
  readonly nowMs: () => number
}

/** The servers of an installation. Needs Java, as `startKafka`. */
export const startServers = (): Promise<[KafkaCluster, Registry]> =>
  Promise.all([startKafka(1), startRegistry()])

/** Opens an installation on servers that run; `sluice init` is the caller's. */
export const createInstallation = async (
  [cluster, registry]: readonly [KafkaCluster, Registry],
  chain: InstallationChain,
): Promise<Installation> => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-roles-'))
  const clickhouse = await startClickHouse(join(folder, 'warehouse'))
  const { id, ...spec } = chain
  const { apiName } = CHAINS[id]
  const simulator = await startSimulator({
    chain: id,
    checkpointDir: join(folder, 'simulator'),
    ...spec,
    log: makeSilentLogger(),
  })
  const environment = async (name: string): Promise<Record<string, string>> => {
    const { environment: own } = composeService(name, {
      KEY_PEPPER: 'a pepper for tests',
      CLICKHOUSE_PASSWORD: 'unused',
      CLICKHOUSE_PASSWORD_SERVE: 'unused',
      CHAINS: apiName,
      [`RPC_URLS_${apiName.toUpperCase()}`]: simulator.wsUrl,
      CHAIN_EXTRA: JSON.stringify({ [id]: simulator.extra }),
      FROM_HEIGHT: '0',
      RETENTION: 'off',
      LOG_LEVEL: 'warn',
      LANE_THREADS: '2',
    })
    return {
      ...own,
      KAFKA_BROKERS: cluster.saslBrokers.join(),
      ...saslLogin(name),
      SCHEMA_REGISTRY_URL: registry.url,
      CLICKHOUSE_URL: clickhouse.url,
      DATA_DIR: join(folder, name),
      HOST: '127.0.0.1',
      OPS_HOST: '127.0.0.1',
      PORT: String(await freePort()),
      OPS_PORT: String(await freePort()),
      KAFKA_SESSION_TIMEOUT_MS: '6000',
    }
  }
  return {
    environment,
    headHeight: () => simulator.head().height,
    start: async (name) => {
      const activityFile = join(folder, `${name}.activity`)
      const own: Record<string, string> = {
        ...(await environment(name)),
        ACTIVITY_FILE: activityFile,
      }
      const { command } = composeService(name, {
        KEY_PEPPER: 'unused',
        CLICKHOUSE_PASSWORD: 'unused',
        CLICKHOUSE_PASSWORD_SERVE: 'unused',
      })
      const run = startSluice(command, own)
      const opsUrl = `http://127.0.0.1:${own.OPS_PORT}`
      await until(
        async () => {
          if (!run.isRunning()) throw new Error(`${name} ended: ${run.out.errors}`)
          return (await fetch(`${opsUrl}/ready`)).ok
        },
        `${name} is ready`,
        PROCESS_LIMIT_MS,
      )
      return { ...run, name, opsUrl, apiUrl: `http://127.0.0.1:${own.PORT}`, activityFile }
    },
    stop: async () => {
      await simulator.stop()
      await clickhouse.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
