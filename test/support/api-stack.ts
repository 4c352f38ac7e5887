import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { openWarehouse, type Warehouse } from '../../core/clickhouse/client.ts'
import { migrate } from '../../core/clickhouse/migrate.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { type ConfigOverrides, loadConfig } from '../../core/config/load.ts'
import type { ResolveHost } from '../../core/http/guarded-client.ts'
import { type Logger, makeSilentLogger } from '../../core/ops/logger.ts'
import { type Metrics, makeMetrics } from '../../core/ops/metrics.ts'
import { type ChainNodes, createChainNodes } from '../../core/rpc/chain-nodes.ts'
import { makeRecordSigner } from '../../core/security/record-signature.ts'
import type { ChainId } from '../../schemas/chains.ts'
import { gasBoundsOf } from '../../schemas/chains.ts'
import { PLANS } from '../../schemas/plans.ts'
import { createOrganizations, type Organizations } from '../../serving/auth/organizations.ts'
import { createMeter, type QuotaMeter } from '../../serving/billing/meter.ts'
import { createFreshnessReader } from '../../serving/chain-freshness.ts'
import { openAccountPools } from '../../serving/dex/account-pools.ts'
import { openAggregators } from '../../serving/dex/aggregators/open-aggregators.ts'
import { type ChainMarket, createChainMarket } from '../../serving/dex/chain-market.ts'
import { createEvmAccountReader } from '../../serving/dex/evm-account.ts'
import {
  type CallerNodes,
  createCallerNodes,
  nodeReadLimits,
} from '../../serving/dex/node-turns.ts'
import { followSentTransactions } from '../../serving/dex/sent-transactions.ts'
import { createSolanaReader } from '../../serving/dex/solana-node.ts'
import { graphqlPlugin } from '../../serving/graphql/plugin.ts'
import type { ServerDeps } from '../../serving/http/deps.ts'
import { createSymbolReader, swapRoutes } from '../../serving/http/dex-route.ts'
import { quoteRoutes } from '../../serving/http/dex-swaps.ts'
import { oauthPlugin } from '../../serving/http/oauth.ts'
import { createPoolLookup, poolSwapRoutes } from '../../serving/http/pool-swap.ts'
import { riskRoutes } from '../../serving/http/risk.ts'
import type { KnownRoute } from '../../serving/http/routing.ts'
import { createSearchTurns } from '../../serving/http/search-turns.ts'
import { createPublicServer } from '../../serving/http/server.ts'
import { tokenCreationRoutes } from '../../serving/http/token-creation.ts'
import { webhookAttemptRoutes } from '../../serving/http/webhook-attempts.ts'
import { webhookStatsRoutes } from '../../serving/http/webhook-stats.ts'
import { webhookTaskRoutes } from '../../serving/http/webhook-tasks.ts'
import { webhookRoutes } from '../../serving/http/webhooks.ts'
import { type JobStore, openJobStore } from '../../serving/jobs/job-store.ts'
import { startPayPerCall } from '../../serving/payments/start.ts'
import {
  createLimitedReader,
  requireQueryCaller,
  runSharedWork,
} from '../../serving/queries/query-limiter.ts'
import { openAssessmentStore } from '../../serving/risk/assessment-store.ts'
import { startScreener } from '../../serving/risk/screener.ts'
import { createSevereLabelCheck } from '../../serving/risk/severe-labels.ts'
import { createWebhookContext } from '../../serving/webhooks/context.ts'
import type { EndpointStore } from '../../serving/webhooks/endpoint-store.ts'
import { assertNoRejectedStatements } from './assert-no-rejected-statements.ts'

/** Chains of risk screening. */
const RISK_CHAINS = ['eth']

/** Quick plans, so that only the tests of limits meet one; `free` keeps its rate and has one unit. */
const TEST_PLANS = {
  ...PLANS,
  free: { ...PLANS.free, unitsPerMonth: 1 },
  selfhost: { requestsPerSecond: 100_000, unitsPerMonth: null },
}

/** Issuer of the tokens of the test API, without its slash. */
const AUTH_URL = 'https://auth.test'

/** The real server over HTTP, on an empty engine with the real tables and accounts on an embedded log. */
export interface TestApi {
  readonly base: string
  readonly warehouse: Warehouse
  readonly metrics: Metrics
  readonly bus: Bus
  readonly routes: readonly KnownRoute[]
  readonly organizations: Organizations
  readonly endpoints: EndpointStore
  readonly jobs: JobStore
  readonly nodes: ChainNodes
  readonly nodeReads: CallerNodes
  /** What swaps on `eth` are quoted from: empty until a test fills it. */
  readonly market: ChainMarket
  /** The same of every chain. */
  readonly markets: ReadonlyMap<string, ChainMarket>
  /** Key of a plan that no test exhausts. */
  readonly apiKey: string
  readonly clientId: string
  readonly clientSecret: string
  stop(): Promise<void>
}

/** Starts one; without a warehouse it opens an embedded one, of which a process may have a single one. */
export const startApi = async (
  given: {
    readonly warehouse?: Warehouse
    readonly overrides?: ConfigOverrides
    readonly meter?: QuotaMeter
    /** Kept when the API stops; default: a new one that goes with it. */
    readonly folder?: string
    /** Chains of the tables and of the REST reads; default: eth. */
    readonly chains?: readonly ChainId[]
    /** True: GraphQL is served too. */
    readonly graphql?: boolean
    /** Default: a logger that says nothing. */
    readonly log?: Logger
    /** Risk registrations of one organization. */
    readonly maxAssessments?: number
    /** Default: every name has one public address. */
    readonly resolve?: ResolveHost
    /** Puts something between the API and its log. */
    readonly wrapBus?: (bus: Bus) => Bus
    /** Readiness beside that of the accounts. */
    readonly checks?: ServerDeps['checks']
  } & Pick<ServerDeps, 'plugins'> = {},
): Promise<TestApi> => {
  const { chains = ['eth'] } = given
  const codec = localCodec()
  const folder = given.folder ?? mkdtempSync(join(tmpdir(), 'sluice-api-'))
  let base = ''
  const log = given.log ?? makeSilentLogger()
  const config = loadConfig(
    {},
    { keyPepper: 'pepper', webhookAllow: ['127.0.0.0/8'], ...given.overrides },
  )
  const opened = await openEmbeddedBus({
    path: join(folder, 'log'),
    mapSizeBytes: 64 << 20,
    log,
    retention: 'off',
  })
  const bus = given.wrapBus?.(opened) ?? opened
  await bus.createTopics(topicSpecs({ chains: [], partitions: 1, retention: 'off' }))
  const warehouse = given.warehouse ?? (await embeddedWarehouse(join(folder, 'warehouse'), chains))
  const metrics = makeMetrics()
  const nodes = createChainNodes({
    urlsOf: (chain) => config.chainRpcUrls[chain]?.map((url) => url.reveal()) ?? [],
    config,
    metrics,
    log,
  })
  const protectedNodes = createChainNodes({
    urlsOf: (chain) => config.protectedRpcUrls[chain]?.map((url) => url.reveal()) ?? [],
    onlySend: true,
    config,
    metrics,
    log,
  })
  const nodeReads = createCallerNodes(nodes, nodeReadLimits(config.rpcConcurrency))
  const organizations = await createOrganizations({
    bus,
    codec,
    config,
    walletNodes: nodes,
    nowMs: Date.now,
    log,
    metrics,
    authUrl: () => AUTH_URL,
  })
  const demo = await organizations.createDemo()
  const meter = given.meter ?? createMeter({ plans: TEST_PLANS })
  const webhooks = await createWebhookContext({
    resolve: given.resolve ?? (async () => ['93.184.216.34']),
    bus,
    codec,
    config,
    nowMs: Date.now,
    log,
    metrics,
  })
  const shared = {
    bus,
    log,
    metrics,
    codec,
    nowMs: Date.now,
    signer: makeRecordSigner(config.keyPepper.reveal()),
  }
  const jobs = await openJobStore(shared)
  const risk = await openAssessmentStore({
    ...shared,
    chains: RISK_CHAINS,
    ...(given.maxAssessments !== undefined && { maxPerOrg: given.maxAssessments }),
  })
  const sent = followSentTransactions({ ...shared, jobs, nodes, chains: ['eth', 'sol'] })
  const payPerCall = await startPayPerCall(
    {
      ...shared,
      config,
      organizations,
      graceMs: 500,
      everyMs: 100,
      usedMilli: (orgId) => meter.month(orgId).milliUnits,
      hasSevereLabel: createSevereLabelCheck(warehouse, Date.now),
    },
    () => base,
  )
  const screener = startScreener({
    warehouse,
    metrics,
    log,
    store: risk,
    nowMs: Date.now,
    chains: RISK_CHAINS,
  })
  const freshness = createFreshnessReader(warehouse, chains)
  const reader = createLimitedReader(warehouse, metrics)
  const markets = new Map(
    ['eth', 'sol'].flatMap((id) => {
      const made = createChainMarket(id, config.chainExtra[id], nodeReads.of(id) !== undefined)
      return made === undefined ? [] : [[id, made] as const]
    }),
  )
  const market = markets.get('eth')
  assert(market !== undefined)
  const [evm, solana] = [nodeReads.of('eth'), nodeReads.of('sol')]
  const readers = new Map(
    solana === undefined ? [] : [['sol', createSolanaReader(solana)] as const],
  )
  const aggregators = openAggregators(config)
  const swaps = {
    chains: chains.includes('sol') ? ['eth', 'sol'] : ['eth'],
    freshness,
    nowMs: Date.now,
    searches: createSearchTurns(),
    markets,
    accounts: new Map(
      evm === undefined ? [] : [['eth', createEvmAccountReader(evm, gasBoundsOf('eth'))]],
    ),
    solana: readers,
    accountPools: openAccountPools(markets, readers, {
      caller: { orgId: () => requireQueryCaller().orgId, shared: runSharedWork },
      metrics,
      nowMs: Date.now,
      log,
    }),
    aggregators,
    symbols: createSymbolReader(reader),
    hasPool: createPoolLookup(reader),
  }
  const graphql = graphqlPlugin({
    warehouse,
    guard: organizations.guard,
    meter,
    freshness,
    chains: ['eth'],
    config,
    metrics,
    log,
    nowMs: Date.now,
  })
  const app = await createPublicServer({
    families: [
      quoteRoutes(swaps),
      swapRoutes(swaps),
      poolSwapRoutes(swaps),
      tokenCreationRoutes(swaps),
      riskRoutes({ store: risk, chains: RISK_CHAINS }),
      webhookRoutes(webhooks.endpoints),
      webhookAttemptRoutes({
        ...webhooks,
        reader,
        codec,
        nowMs: Date.now,
      }),
      webhookTaskRoutes({ ...webhooks, codec, nowMs: Date.now }),
      webhookStatsRoutes({
        ...webhooks,
        reader,
        activityOf: () => ({ filtered: 0, filterErrors: 0, sending: 0 }),
        nowMs: Date.now,
      }),
    ],
    reader,
    freshness,
    chains,
    nowMs: Date.now,
    guard: organizations.guard,
    organizations,
    jobs,
    nodes,
    protectedNodes,
    nodeReads,
    meter,
    ...(payPerCall && { payPerCall }),
    metrics,
    log,
    config,
    checks: [organizations.check, ...(given.checks ?? [])],
    plugins: [
      oauthPlugin({ organizations, meter, metrics, log }),
      ...(given.graphql ? [graphql] : []),
      ...(given.plugins ?? []),
    ],
  })
  base = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    base,
    warehouse,
    metrics,
    bus,
    organizations,
    endpoints: webhooks.store,
    jobs,
    nodes,
    nodeReads,
    market,
    markets,
    routes: app.knownRoutes,
    ...demo,
    stop: async () => {
      await app.close()
      await payPerCall?.stop()
      await screener.stop()
      await risk.stop()
      await webhooks.stop()
      await sent.stop()
      await jobs.stop()
      for (const opened of Object.values(aggregators)) await opened.close()
      await nodes.stop()
      await organizations.stop()
      await bus.close()
      await warehouse.close()
      if (given.folder === undefined) rmSync(folder, { recursive: true, force: true })
      await assertNoRejectedStatements(metrics)
    },
  }
}

const embeddedWarehouse = async (path: string, chains: readonly ChainId[]): Promise<Warehouse> => {
  const warehouse = await openWarehouse({ kind: 'embedded', path })
  await migrate(warehouse, chains)
  return warehouse
}

/** An answer with its body read; `body` is the parsed JSON, or undefined where it is none. */
export interface ApiResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: unknown
}

/** Calls a path with the test key, unless `headers` are given. */
export const callApi = async (
  { base, apiKey }: TestApi,
  path: string,
  init: RequestInit = {},
): Promise<ApiResponse> => {
  const response = await fetch(base + path, { headers: { 'x-api-key': apiKey }, ...init })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') === true
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : undefined,
  }
}

/** `callApi` for floods of wrong credentials: where a rate limit says when to come back, it is waited for. */
export const callApiPatiently = async (
  ...request: Parameters<typeof callApi>
): Promise<ApiResponse> => {
  for (;;) {
    const answer = await callApi(...request)
    const waitSeconds = answer.headers.get('retry-after')
    if (answer.status !== 429 || waitSeconds === null) return answer
    await sleep(1_000 * Number(waitSeconds))
  }
}
