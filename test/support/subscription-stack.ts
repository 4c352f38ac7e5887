import assert from 'node:assert/strict'
import { type Client, createClient, type ExecutionResult } from 'graphql-ws'
import { WebSocket } from 'ws'
import type { TextQuery } from '../../core/clickhouse/client.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { type Metrics, makeMetrics } from '../../core/ops/metrics.ts'
import type { ChainId } from '../../schemas/chains.ts'
import { PLANS } from '../../schemas/plans.ts'
import { TOPICS, topicName } from '../../schemas/topics.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import { createFreshnessReader } from '../../serving/chain-freshness.ts'
import { createGraphqlEngine } from '../../serving/graphql/engine.ts'
import type { LiveLimits } from '../../serving/graphql/live/limits.ts'
import { startSubscriptions } from '../../serving/graphql/live/subscriptions.ts'
import { createAdmission } from '../../serving/realtime/admission.ts'
import { startRealtimeServer } from '../../serving/realtime/server.ts'
import { startApi, type TestApi } from './api-stack.ts'
import { inBlock, swapRow } from './documented/content.ts'
import { until } from './until.ts'

/** A block of the test chain; its slot is 1,000 plus its number unless it says otherwise. */
export interface TestBlock {
  /** Default: eth. */
  readonly chain?: ChainId
  readonly slot: number
  readonly hash: string
}

/** One process that serves subscriptions. */
export interface SubscriptionServer {
  readonly metrics: Metrics
  readonly url: string
  /** A stock client, with the key of the demo unless it shows something else. */
  client(
    connectionParams?: Readonly<Record<string, unknown>>,
    /** How often it connects again by itself; default: never. */
    retryAttempts?: number,
  ): Client
}

/** GraphQL over HTTP and over sockets on one store, whose blocks the test adds. */
export interface SubscriptionStack extends SubscriptionServer {
  readonly api: TestApi
  /** SQL of the cubes' statements so far. */
  readonly statements: readonly string[]
  /** Most deliveries that were made at the same time since the last call, by the charges that were held. */
  readonly mostAtOnce: () => number
  /** Stores a block with so many trades and announces it on the log. */
  add(block: TestBlock, trades: number): Promise<void>
  /** The same for many blocks, at once. */
  addMany(blocks: readonly TestBlock[], trades: number): Promise<void>
  /** Takes it out of the store, as a reorg does. */
  remove(block: TestBlock, trades: number): Promise<void>
  /** What the store tells of itself: rows of later operations are on their way. */
  storedUpTo(seq: number): void
  /** How often subscriptions asked what is stored. */
  readonly storedReads: () => number
  readonly seq: () => number
  /** Merges the versions of each block into one, as the store does in time. */
  merge(): Promise<void>
  /** Another server over the same log and store. */
  another(): Promise<SubscriptionServer>
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

/** Parents of blocks: of one that is added the newest that stands, of one that is removed what it was then. */
const trackParents = () => {
  const standing: TestBlock[] = []
  return (block: TestBlock, removed: boolean): object => {
    if (removed) assert.equal(standing.pop()?.hash, block.hash, 'the newest block is removed first')
    const parent = standing.at(-1) ?? { slot: Math.max(0, block.slot - 1), hash: 'before all' }
    if (!removed) standing.push(block)
    return { parent_slot: parent.slot, parent_hash: parent.hash }
  }
}

/** Starts one. */
export const startSubscriptionStack = async ({
  transport,
  limits,
  chains = ['eth'],
  env = {},
}: {
  readonly transport?: 'uws' | 'ws'
  readonly chains?: readonly ChainId[]
  readonly limits?: Partial<LiveLimits>
  readonly env?: Readonly<Record<string, string>>
} = {}): Promise<SubscriptionStack> => {
  const plans = { ...PLANS, selfhost: { requestsPerSecond: 100_000, unitsPerMonth: null } }
  const meter = createMeter({ plans: { ...plans, free: { ...PLANS.free, unitsPerMonth: 50 } } })
  const api = await startApi({ graphql: true, meter, chains })
  const { bus, warehouse, organizations } = api
  await bus.createTopics(
    chains.flatMap((chain) =>
      Object.entries(TOPICS).map(([topic, row]) => ({
        topic: topicName(topic as keyof typeof TOPICS, chain),
        partitions: 1,
        cleanup: row.cleanup,
        retentionMs: null,
      })),
    ),
  )
  const codec = localCodec()
  const statements: string[] = []
  let running = 0
  let mostRunning = 0
  const watched = {
    ...warehouse,
    queryText: (query: TextQuery, ...rest: readonly never[]) => {
      statements.push(query.sql)
      return warehouse.queryText(query, ...rest)
    },
  }
  const counted: typeof meter = {
    ...meter,
    reserve: (...reserved) => {
      const reservation = meter.reserve(...reserved)
      running += 1
      mostRunning = Math.max(mostRunning, running)
      return {
        settle: (milliUnits) => {
          running -= 1
          reservation.settle(milliUnits)
        },
        release: () => {
          running -= 1
          reservation.release()
        },
      }
    },
  }
  let stored = Number.POSITIVE_INFINITY
  let storedReads = 0
  let seq = 0
  const shared = {
    warehouse: watched,
    bus,
    codec,
    chains,
    meter: counted,
    guard: organizations.guard,
    config: loadConfig(env),
    log: makeSilentLogger(),
    nowMs: Date.now,
    freshness: createFreshnessReader(warehouse, chains),
  }
  const progress = {
    storedSeq: async () => {
      storedReads += 1
      return stored
    },
  }
  const closing: (() => Promise<void>)[] = []
  const serve = async (): Promise<SubscriptionServer> => {
    const metrics = makeMetrics()
    const deps = { ...shared, metrics, admission: createAdmission(shared.config) }
    const engine = createGraphqlEngine(deps)
    const subscriptions = await startSubscriptions({
      ...deps,
      engine,
      progress,
      ...(limits && { limits }),
    })
    const server = await startRealtimeServer({
      ...deps,
      routes: [subscriptions.route],
      host: '127.0.0.1',
      port: 0,
      ...(transport && { transport }),
    })
    closing.push(() => server.stop())
    const url = `ws://127.0.0.1:${server.port}/graphql`
    return {
      metrics,
      url,
      client: (connectionParams = { 'X-API-KEY': api.apiKey }, retryAttempts = 0) => {
        const client = createClient({
          url,
          webSocketImpl: WebSocket,
          connectionParams,
          retryAttempts,
          retryWait: async () => undefined,
          lazy: true,
          onNonLazyError: () => undefined,
        })
        closing.unshift(async () => client.dispose())
        return client
      },
    }
  }
  const first = await serve()
  const writer = await bus.writer('blocks')
  const parents = new Map(chains.map((chain) => [chain, trackParents()]))
  /** One operation after another on these blocks of one chain. */
  const change = async (blocks: readonly TestBlock[], trades: number, removed: boolean) => {
    const { chain = 'eth' } = blocks[0] ?? {}
    const blockRows: object[] = []
    const rows: object[] = []
    const records: { readonly topic: string; readonly key: string; readonly value: Buffer }[] = []
    for (const block of blocks) {
      seq += 1
      const more = { _ver: seq * 2 ** 24, _del: removed ? 1 : 0 }
      rows.push(...tradeRows(block, trades, more))
      const { block_time, block_height, block_slot } = inBlock(block.slot, timeOf(block.slot), '')
      const place = { block_time, block_height, block_slot, block_hash: block.hash }
      blockRows.push({ ...place, ...parents.get(chain)?.(block, removed), seq, ...more })
      const op = removed ? 'OP_REVERT' : 'OP_APPLY'
      const meta = { chain, op, seq, height: block_height } as const
      const value = codec.encode('block.BlockEvent', { meta })
      records.push({ topic: topicName('blocks', chain), key: chain, value })
    }
    if (rows.length > 0) await warehouse.insert(`${chain}_dex_trades`, rows)
    await warehouse.insert(`${chain}_blocks`, blockRows)
    await writer.commit({ records })
  }
  return {
    ...first,
    api,
    statements,
    mostAtOnce: () => {
      const most = mostRunning
      mostRunning = running
      return most
    },
    seq: () => seq,
    add: (block, trades) => change([block], trades, false),
    addMany: (blocks, trades) => change(blocks, trades, false),
    remove: (block, trades) => change([block], trades, true),
    storedReads: () => storedReads,
    storedUpTo: (upTo) => {
      stored = upTo
    },
    merge: () => warehouse.command('OPTIMIZE TABLE eth_blocks FINAL'),
    another: serve,
    stop: async () => {
      for (const close of closing) await close()
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
    readonly cursor: string
  }
  readonly credits?: { readonly total: number }
}

/** Subscribes and waits until the server counts it. */
export const subscribeLive = async (
  { metrics }: Pick<SubscriptionStack, 'metrics'>,
  client: Client,
  query: string,
  more: {
    readonly variables?: Record<string, unknown>
    readonly extensions?: Record<string, unknown>
  } = {},
): Promise<TestSubscription> => {
  const results: TestSubscription['results'][number][] = []
  let ended: { readonly error?: unknown } | undefined
  const before = await openSubscriptions(metrics)
  const unsubscribe = client.subscribe<Record<string, Record<string, object[]>>, Extensions>(
    { query, ...more },
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

/** Subscriptions that the server ended, or refused before they began, by reason. */
export const countsByReason = async (
  metric: Metrics['graphqlSubscriptionsEnded' | 'graphqlSubscriptionsRefused'],
): Promise<Readonly<Record<string, number>>> => {
  const { values } = await metric.get()
  return Object.fromEntries(values.map(({ labels, value }) => [String(labels.reason), value]))
}
