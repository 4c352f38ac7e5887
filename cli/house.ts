import type { Bus, Running } from '../core/bus-contract.ts'
import type { Codec } from '../core/codec-contract.ts'
import type { ChainExtra, Config } from '../core/config.ts'
import { type Lifecycle, makeLifecycle } from '../core/lifecycle.ts'
import type { Logger } from '../core/log.ts'
import type { Metrics } from '../core/metrics.ts'
import type { Warehouse } from '../core/warehouse.ts'
import type { FactReader } from '../ingestors/facts.ts'
import { type Ingestor, startIngestor } from '../ingestors/run.ts'
import type { Source } from '../ingestors/source.ts'
import { type ProcessorsRunning, startProcessors } from '../processors/all.ts'
import type { ChainRow } from '../schemas/chains.ts'
import { type Accounts, createAccounts } from '../serving/auth/accounts.ts'
import { makeMeter } from '../serving/billing/meter.ts'
import { makeFreshness } from '../serving/freshness.ts'
import { graphqlPlugin } from '../serving/graphql/plugin.ts'
import { makeServer } from '../serving/http/server.ts'
import { startRealtime } from '../serving/realtime/server.ts'
import { openParts } from './parts.ts'
import { isSettled } from './settled.ts'

/** One chain of a process: where its blocks come from. */
export interface HouseChain {
  readonly row: ChainRow
  readonly source: Source
  readonly extra?: ChainExtra
  readonly facts?: FactReader
  /** Ingest up to this block time and end, epoch milliseconds. */
  readonly until?: number
}

/** What a whole product in one process is made of. */
export interface HouseOptions {
  /** Folder of the embedded log and of the embedded warehouse. */
  readonly logPath: string
  readonly warehousePath: string
  readonly config: Config
  readonly chains: readonly HouseChain[]
  /** Where the blocks come from, in words for people. */
  readonly origin?: string
  readonly metrics: Metrics
  readonly log: Logger
  readonly onFatal: (error: unknown) => void
}

/** The whole product in one process on embedded parts. */
export interface House {
  readonly bus: Bus
  readonly codec: Codec
  readonly warehouse: Warehouse
  readonly accounts: Accounts
  readonly processors: ProcessorsRunning
  readonly ingestors: readonly Ingestor[]
  readonly baseUrl: string
  readonly graphqlUrl: string
  readonly wsUrl: string
  /** True when everything that was ingested is in the warehouse and on the processed topics. */
  settled(): Promise<boolean>
  stop(reason: string): Promise<void>
}

const part = (name: string, running: Running): { name: string; stop: () => Promise<void> } => ({
  name,
  stop: () => running.stop(),
})

/** Starts every part in order; a failure stops what had started. */
export const openHouse = async (options: HouseOptions): Promise<House> => {
  const lifecycle = makeLifecycle(options.log)
  try {
    return await assemble(options, lifecycle)
  } catch (error) {
    await lifecycle.stop('start failed')
    throw error
  }
}

const assemble = async (options: HouseOptions, lifecycle: Lifecycle): Promise<House> => {
  const { config, metrics, log, onFatal } = options
  const chains = options.chains.map(({ row }) => row.id)
  const { bus, codec, warehouse } = await openParts({
    ...options,
    chains,
    opened: (name, stop) => lifecycle.add({ name, stop }),
  })
  const { partitions } = config
  const processors = await startProcessors({
    ...{ chains, bus, codec, warehouse, config },
    metrics,
    log,
  })
  lifecycle.add(part('processors', processors))
  const ingestors: Ingestor[] = []
  const served = await serve({ options, bus, codec, warehouse, ingestors, chains }, lifecycle)
  for (const { row, source, extra, facts, until } of options.chains) {
    const ingestor = await startIngestor({
      ...{ chain: row, source, bus, codec, config, metrics, onFatal },
      log: log.child({ role: 'ingest', chain: row.id }),
      ...(extra && { extra }),
      ...(facts && { facts }),
      ...(until !== undefined && { until }),
    })
    ingestors.push(lifecycle.add(ingestor))
  }
  return {
    ...{ bus, codec, warehouse, processors, ingestors },
    ...served,
    settled: async () => {
      const each = ingestors.map((ingestor, index) =>
        isSettled(chains[index] ?? '', ingestor.status().seq, { bus, processors, partitions }),
      )
      return (await Promise.all(each)).every((settled) => settled)
    },
    stop: (reason) => lifecycle.stop(reason),
  }
}

interface Serving {
  readonly options: HouseOptions
  readonly bus: Bus
  readonly codec: Codec
  readonly warehouse: Warehouse
  readonly ingestors: readonly Ingestor[]
  readonly chains: readonly string[]
}

const serve = async (
  { options, bus, codec, warehouse, ingestors, chains }: Serving,
  lifecycle: Lifecycle,
): Promise<Pick<House, 'accounts' | 'baseUrl' | 'graphqlUrl' | 'wsUrl'>> => {
  const { config, metrics } = options
  const log = options.log.child({ role: 'serve' })
  const nowMs = Date.now
  const accounts = await createAccounts({ bus, codec, config, nowMs, log })
  lifecycle.add(part('accounts', accounts))
  const { guard } = accounts
  const meter = makeMeter({ nowMs })
  const freshness = makeFreshness(warehouse, chains, nowMs)
  const shared = { warehouse, guard, meter, freshness, chains, config, metrics, log, nowMs }
  const ingestCheck = {
    name: 'ingest',
    run: () => {
      const halted = ingestors.map((each) => each.status()).find(({ state }) => state === 'halted')
      return halted ? { ok: false, detail: halted.reason ?? 'halted' } : { ok: true }
    },
  }
  const server = await makeServer({
    ...shared,
    checks: [accounts.check, ingestCheck],
    ...(options.origin !== undefined && { origin: options.origin }),
    plugins: [graphqlPlugin(shared)],
  })
  lifecycle.add({ name: 'http', stop: () => server.close() })
  const port = Number(new URL(await server.listen({ host: config.host, port: config.port })).port)
  const realtime = await startRealtime({
    ...{ bus, codec, ...shared },
    host: config.host,
    port: config.port === 0 ? 0 : port + 1,
  })
  lifecycle.add(part('streams', realtime))
  const baseUrl = `http://${config.host}:${port}`
  return {
    accounts,
    baseUrl,
    graphqlUrl: `${baseUrl}/graphql`,
    wsUrl: `ws://${config.host}:${realtime.port}/connection/websocket`,
  }
}
