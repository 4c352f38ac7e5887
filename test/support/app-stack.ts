import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Centrifuge, type PublicationContext } from 'centrifuge'
import { WebSocket } from 'ws'
import { type App, createApp } from '../../cli/app/app.ts'
import type { AppChain } from '../../cli/app/services.ts'
import type { MessageName } from '../../core/codec/contract.ts'
import { type ConfigOverrides, loadConfig } from '../../core/config/load.ts'
import type { Config } from '../../core/config/settings.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { type Metrics, makeMetrics } from '../../core/ops/metrics.ts'
import type { Messages } from '../../schemas/wire.ts'
import { assertNoRejectedStatements } from './assert-no-rejected-statements.ts'
import { PROCESS_LIMIT_MS, withTimeout } from './until.ts'

/** The whole product in this process, and what a user of it can do. */
export interface AppStack {
  readonly app: App
  readonly apiKey: string
  readonly metrics: Metrics
  /** Body of a REST answer; throws for any status but 200. */
  rest<T>(path: string): Promise<T>
  /** Every row of one cube selection. */
  cube<T>(query: string): Promise<readonly T[]>
  /** Every value of a topic so far, in offset order per partition. */
  topic<Name extends MessageName>(name: string, message: Name): Promise<readonly Messages[Name][]>
  /** Subscribes with the stock client; what comes is collected. */
  subscribe(channel: string, data?: object): Promise<TestSubscription>
  stop(): Promise<void>
}

/** A subscription of the stock client. */
export interface TestSubscription {
  readonly publications: readonly PublicationContext[]
  readonly data: readonly Readonly<Record<string, unknown>>[]
  stop(): void
}

/** What to run, and where its data lies. */
export interface AppStackOptions {
  readonly chain: AppChain
  /** Default: a new folder that goes away at the end. */
  readonly folder?: string
  readonly overrides?: ConfigOverrides
}

/** For one step of the product; what takes longer hangs. */
const stepTimeout = (): AbortSignal => AbortSignal.timeout(PROCESS_LIMIT_MS)

const testConfig = ({ chain, overrides }: AppStackOptions): Config => {
  const config = loadConfig({}, { port: 0, keyPepper: 'a pepper for tests', ...overrides })
  return { ...config, chainExtra: chain.extra ? { [chain.row.id]: chain.extra } : {} }
}

/** Starts the product on a source. */
export const startAppStack = async (options: AppStackOptions): Promise<AppStack> => {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'sluice-product-'))
  const metrics = makeMetrics()
  const opening = createApp({
    config: testConfig(options),
    chains: [options.chain],
    logPath: join(folder, 'log'),
    warehousePath: join(folder, 'warehouse'),
    log: makeSilentLogger(),
    metrics,
    onFatal: (error) => {
      throw error
    },
  })
  const app = await withTimeout(opening, 'the product starts', PROCESS_LIMIT_MS)
  const { apiKey } = await app.organizations.createDemo()
  const { baseUrl, graphqlUrl, wsUrl, bus, codec } = app
  const centrifuge = new Centrifuge(wsUrl, { token: apiKey, websocket: WebSocket })
  centrifuge.connect()
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  return {
    app,
    apiKey,
    metrics,
    rest: async (path) => {
      const response = await fetch(`${baseUrl}${path}`, { headers, signal: stepTimeout() })
      const body = await response.text()
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${body}`)
      return JSON.parse(body)
    },
    cube: async (query) => {
      const body = JSON.stringify({ query })
      const response = await fetch(graphqlUrl, {
        method: 'POST',
        headers,
        body,
        signal: stepTimeout(),
      })
      const { data, errors } = (await response.json()) as { data: unknown; errors?: unknown }
      if (errors) throw new Error(`${query}: ${JSON.stringify(errors)}`)
      const [group] = Object.values(data as object)
      const [rows] = Object.values(group as object)
      return rows
    },
    topic: async (name, message) => {
      const values: Messages[typeof message][] = []
      for (const { partition, low, end } of await bus.ends(name)) {
        for await (const { value } of bus.read(name, partition, low, end)) {
          if (value !== null) values.push(codec.decode(message, value))
        }
      }
      return values
    },
    subscribe: async (channel, data) => {
      const subscription = centrifuge.newSubscription(channel, data ? { data } : {})
      const publications: PublicationContext[] = []
      subscription.on('publication', (context) => publications.push(context))
      subscription.subscribe()
      await subscription.ready(5_000)
      return {
        publications,
        get data() {
          return publications.map((each) => each.data)
        },
        stop: () => centrifuge.removeSubscription(subscription),
      }
    },
    stop: async () => {
      centrifuge.disconnect()
      await withTimeout(app.stop('test ended'), 'the product stops', PROCESS_LIMIT_MS)
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true })
      await assertNoRejectedStatements(metrics)
    },
  }
}
