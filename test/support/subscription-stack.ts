import { type Client, createClient, type ExecutionResult } from 'graphql-ws'
import { WebSocket } from 'ws'
import type { Query } from '../../core/clickhouse/client.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { type Metrics, makeMetrics } from '../../core/ops/metrics.ts'
import { PLANS } from '../../schemas/plans.ts'
import { TOPICS, topicName } from '../../schemas/topics.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import { createFreshnessReader } from '../../serving/chain-freshness.ts'
import { createGraphqlEngine } from '../../serving/graphql/engine.ts'
import type { LiveLimits } from '../../serving/graphql/live/limits.ts'
import { startSubscriptions } from '../../serving/graphql/live/subscriptions.ts'
import { startRealtimeServer } from '../../serving/realtime/server.ts'
import { startApi, type TestApi } from './api-stack.ts'
import { inBlock, swapRow } from './documented/content.ts'
import { until } from './until.ts'

/** A block of the test chain; its slot is 1,000 plus its number unless it says otherwise. */
export interface TestBlock {
  readonly slot: number
  readonly hash: string
}

/** GraphQL over HTTP and over sockets on one store, whose blocks the test adds. */
export interface SubscriptionStack {
  readonly api: TestApi
  readonly metrics: Metrics
  readonly url: string
  /** SQL of the cubes' statements so far. */
  readonly statements: readonly string[]
  /** Stores a block with so many trades and announces it on the log. */
  add(block: TestBlock, trades: number): Promise<void>
  /** Takes it out of the store, as a reorg does. */
  remove(block: TestBlock, trades: number): Promise<void>
  /** What the store tells of itself: rows of later operations are on their way. */
  storedUpTo(seq: number): void
  /** How often subscriptions asked what is stored. */
  readonly storedReads: () => number
  readonly seq: () => number
  /** A stock client, with the key of the demo unless it shows something else. */
  client(connectionParams?: Readonly<Record<string, unknown>>): Client
  stop(): Promise<void>
}

const START_MS = Date.UTC(2026, 2, 1)
const timeOf = (slot: number): string => new Date(START_MS + slot * 1_000).toISOString()

const tradeRows = ({ slot, hash }: TestBlock, count: number, more: object): readonly object[] =>
  Array.from({ length: count }, (_, index) => ({
    ...swapRow({
      place: inBlock(slot, timeOf(slot), `${hash}-${index}`, [index, index]),
      wallet: `w${index % 3}`,
      bought: { token: 'A', decimals: 6, raw: '1500000', priceUsd: 0.1 },
      sold: { token: 'C', decimals: 6, raw: '9007199254740993' },
      usd: index,
      pool: 'p',
      dex: ['prog', 'Orca', 'orca'],
    }),
    block_hash: hash,
    ...more,
  }))

/** Starts one. */
export const startSubscriptionStack = async ({
  transport,
  limits,
}: {
  readonly transport?: 'uws' | 'ws'
  readonly limits?: Partial<LiveLimits>
} = {}): Promise<SubscriptionStack> => {
  const plans = { ...PLANS, selfhost: { requestsPerSecond: 100_000, unitsPerMonth: null } }
  const meter = createMeter({ plans: { ...plans, free: { ...PLANS.free, unitsPerMonth: 50 } } })
  const api = await startApi({ graphql: true, meter })
  const { bus, warehouse, organizations } = api
  await bus.createTopics(
    Object.entries(TOPICS).map(([topic, row]) => ({
      topic: topicName(topic as keyof typeof TOPICS, 'eth'),
      partitions: 1,
      cleanup: row.cleanup,
      retentionMs: null,
    })),
  )
  const metrics = makeMetrics()
  const codec = localCodec()
  const statements: string[] = []
  const watched = {
    ...warehouse,
    queryText: (query: Query, ...rest: readonly never[]) => {
      statements.push(query.sql)
      return warehouse.queryText(query, ...rest)
    },
  }
  let stored = Number.POSITIVE_INFINITY
  let storedReads = 0
  let seq = 0
  const chains = ['eth']
  const shared = {
    warehouse: watched,
    bus,
    codec,
    chains,
    metrics,
    meter,
    guard: organizations.guard,
    config: loadConfig({}),
    log: makeSilentLogger(),
    nowMs: Date.now,
    freshness: createFreshnessReader(warehouse, chains),
  }
  const subscriptions = await startSubscriptions({
    ...shared,
    engine: createGraphqlEngine(shared),
    progress: {
      storedSeq: async () => {
        storedReads += 1
        return stored
      },
    },
    ...(limits && { limits }),
  })
  const server = await startRealtimeServer({
    ...shared,
    routes: [subscriptions.route],
    host: '127.0.0.1',
    port: 0,
    ...(transport && { transport }),
  })
  const url = `ws://127.0.0.1:${server.port}/graphql`
  const writer = await bus.writer('blocks')
  const change = async (block: TestBlock, trades: number, removed: boolean): Promise<void> => {
    seq += 1
    const more = { _ver: seq * 2 ** 24, _del: removed ? 1 : 0 }
    if (trades > 0) await warehouse.insert('eth_dex_trades', tradeRows(block, trades, more))
    const { block_time, block_height, block_slot } = inBlock(block.slot, timeOf(block.slot), '')
    const row = { block_time, block_height, block_slot, block_hash: block.hash, seq, ...more }
    await warehouse.insert('eth_blocks', [row])
    const op = removed ? 'OP_REVERT' : 'OP_APPLY'
    const meta = { chain: 'eth', op, seq, height: block_height } as const
    const value = codec.encode('block.BlockEvent', { meta })
    await writer.commit({ records: [{ topic: topicName('blocks', 'eth'), key: 'eth', value }] })
  }
  const clients = new Set<Client>()
  return {
    api,
    metrics,
    url,
    statements,
    seq: () => seq,
    add: (block, trades) => change(block, trades, false),
    remove: (block, trades) => change(block, trades, true),
    storedReads: () => storedReads,
    storedUpTo: (upTo) => {
      stored = upTo
    },
    client: (connectionParams = { 'X-API-KEY': api.apiKey }) => {
      const client = createClient({
        url,
        webSocketImpl: WebSocket,
        connectionParams,
        retryAttempts: 0,
        lazy: true,
        onNonLazyError: () => undefined,
      })
      clients.add(client)
      return client
    },
    stop: async () => {
      for (const client of clients) await client.dispose()
      await server.stop()
      await api.stop()
    },
  }
}

/** What one subscription of the stock client received. */
export interface TestSubscription {
  readonly results: readonly ExecutionResult<Record<string, Record<string, object[]>>, Extensions>[]
  /** How it ended; undefined while it runs. */
  readonly ended: () => { readonly error?: unknown } | undefined
  /** Unsubscribes and waits until the server has let go of it. */
  readonly stop: () => Promise<void>
}

/** What a delivery says of itself. */
export interface Extensions {
  readonly delivery: {
    readonly chain: string
    readonly blocks: readonly { slot: number; height: number; hash: string }[]
    readonly removed?: readonly { slot: number; height: number; hash: string }[]
    readonly limit_reached?: readonly string[]
  }
  readonly credits?: { readonly total: number }
}

/** Subscribes and waits until the server counts it. */
export const subscribeLive = async (
  { metrics }: Pick<SubscriptionStack, 'metrics'>,
  client: Client,
  query: string,
  variables: Record<string, unknown> = {},
): Promise<TestSubscription> => {
  const results: TestSubscription['results'][number][] = []
  let ended: { readonly error?: unknown } | undefined
  const before = await openSubscriptions(metrics)
  const unsubscribe = client.subscribe<Record<string, Record<string, object[]>>, Extensions>(
    { query, variables },
    {
      next: (result) => results.push(result as (typeof results)[number]),
      error: (error) => {
        ended = { error }
      },
      complete: () => {
        ended ??= {}
      },
    },
  )
  await until(async () => ended !== undefined || (await openSubscriptions(metrics)) > before)
  const stop = async (): Promise<void> => {
    const open = await openSubscriptions(metrics)
    if (ended === undefined) {
      unsubscribe()
      await until(async () => (await openSubscriptions(metrics)) < open)
    }
  }
  return { results, ended: () => ended, stop }
}

/** Subscriptions that the server counts. */
export const openSubscriptions = async ({
  graphqlSubscriptions,
}: Pick<Metrics, 'graphqlSubscriptions'>): Promise<number> =>
  (await graphqlSubscriptions.get()).values[0]?.value ?? 0
