import type { Server } from 'node:net'
import type { RunningTask } from '../../core/bus/contract.ts'
import { flashblocksUrl } from '../../core/config/flashblocks-settings.ts'
import type { ChainExtra, Config } from '../../core/config/settings.ts'
import { readTlsFiles } from '../../core/config/tls-files.ts'
import { Fault } from '../../core/errors.ts'
import { listenAt } from '../../core/http/listening.ts'
import { toUrlHost } from '../../core/http/network-address.ts'
import type { Lifecycle } from '../../core/ops/lifecycle.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { ReadinessCheck } from '../../core/ops/probes.ts'
import { createChainNodes } from '../../core/rpc/chain-nodes.ts'
import { makeRecordSigner, type RecordSigner } from '../../core/security/record-signature.ts'
import type { MetadataReader } from '../../ingestors/decode/metadata-reader.ts'
import type { Source } from '../../ingestors/follow/contract.ts'
import { startDocuments } from '../../ingestors/metadata/worker.ts'
import { type Ingestor, startIngestor } from '../../ingestors/start.ts'
import { type RunningProcessors, startProcessors } from '../../processors/start.ts'
import type { ChainRow } from '../../schemas/chains.ts'
import { NODE_TIMEOUT_MS } from '../../serving/auth/contract-signatures.ts'
import { createCountingStreamGuard } from '../../serving/auth/failure-metrics.ts'
import {
  createOrganizations,
  type DemoCredentials,
  type Organizations,
} from '../../serving/auth/organizations.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import { openUsageLog } from '../../serving/billing/usage-log.ts'
import { createFreshnessReader } from '../../serving/chain-freshness.ts'
import { createCallerNodes, nodeReadLimits } from '../../serving/dex/node-turns.ts'
import { followSentTransactions } from '../../serving/dex/sent-transactions.ts'
import { createGraphqlEngine, type GraphqlEngine } from '../../serving/graphql/engine.ts'
import { startSubscriptions } from '../../serving/graphql/live/subscriptions.ts'
import { graphqlPlugin } from '../../serving/graphql/plugin.ts'
import { ADMIN_PATH, type AdminDeps, createAdminServer } from '../../serving/http/admin.ts'
import type { ServerDeps } from '../../serving/http/deps.ts'
import { oauthPlugin } from '../../serving/http/oauth.ts'
import { createPublicServer } from '../../serving/http/server.ts'
import type { Guard } from '../../serving/interfaces.ts'
import { openJobStore } from '../../serving/jobs/job-store.ts'
import { type PayPerCallDeps, startPayPerCall } from '../../serving/payments/start.ts'
import { countRejectedReads } from '../../serving/queries/limited-reads.ts'
import { createLimitedReader } from '../../serving/queries/query-limiter.ts'
import { createAdmission } from '../../serving/realtime/admission.ts'
import { startRealtimeServer } from '../../serving/realtime/server.ts'
import { createSevereLabelCheck } from '../../serving/risk/severe-labels.ts'
import type { Infra, LogInfra } from './infra.ts'
import { nodeUrls } from './node-source.ts'
import { publicUrls } from './public-urls.ts'
import { startRiskService } from './risk-service.ts'
import { createStoreProgress } from './store-progress.ts'
import { startSwapService } from './swap-service.ts'
import { startWebhookService } from './webhook-service.ts'

/** One chain of a process: where its blocks come from. */
export interface AppChain {
  readonly row: ChainRow
  readonly source: Source
  readonly extra?: ChainExtra
  readonly metadata?: MetadataReader
  /** Ingest up to this block time and end, epoch milliseconds. */
  readonly until?: number
}

/** What every piece of a process is started with; it adds what it starts to the lifecycle and its checks to the list. */
export interface ServiceDeps {
  readonly config: Config
  /** Internal ids of the chains. */
  readonly chains: readonly string[]
  readonly metrics: Metrics
  readonly log: Logger
  readonly lifecycle: Lifecycle
  /** What decides readiness; read at every request. */
  readonly checks: ReadinessCheck[]
  readonly onFatal: (error: unknown) => void
  /** Ports of this machine that are ours; each listener adds its own. No webhook goes there. */
  readonly ownPorts: Set<number>
}

const lifecyclePart = (
  name: string,
  running: RunningTask,
): { name: string; stop: () => Promise<void> } => ({
  name,
  stop: () => running.stop(),
})

/** Stages, sinks and finalizers of the chains. */
export const startProcessing = async (
  deps: ServiceDeps,
  parts: Infra,
): Promise<RunningProcessors> => {
  const { chains, config, metrics, log, lifecycle, checks } = deps
  const processors = await startProcessors({ ...parts, chains, config, metrics, log })
  lifecycle.add(lifecyclePart('processors', processors))
  checks.push({ name: 'process', run: () => processors.readiness(Date.now()) })
  return processors
}

/** One ingestor per chain, and where it is wanted the worker that fetches what their tokens name. */
export const startIngest = async (
  deps: ServiceDeps,
  { bus, codec }: LogInfra,
  appChains: readonly AppChain[],
): Promise<readonly Ingestor[]> => {
  const { config, metrics, log, lifecycle, checks, onFatal } = deps
  if (config.metadataFetch === 'on' && appChains.length > 0) {
    const chains = appChains.map(({ row }) => row.id)
    const documents = await startDocuments({ chains, bus, codec, config, metrics, log })
    lifecycle.add(lifecyclePart('documents', documents))
  }
  const ingestors: Ingestor[] = []
  checks.push({
    name: 'ingest',
    run: () => ingestors.map((each) => each.readiness()).find(({ ok }) => !ok) ?? { ok: true },
  })
  for (const { row, source, extra, metadata, until } of appChains) {
    const url = flashblocksUrl(config, row.id)
    const ingestor = await startIngestor({
      chain: row,
      source,
      bus,
      codec,
      config,
      metrics,
      onFatal,
      log: log.child({ role: 'ingest', chain: row.id }),
      ...(url !== '' && { flashblocks: { url, timeoutMs: config.rpcTimeoutMs } }),
      ...(extra && { extra }),
      ...(metadata && { metadata }),
      ...(until !== undefined && { until }),
    })
    ingestors.push(lifecycle.add(ingestor))
  }
  return ingestors
}

/** Where the serving piece answers. */
export interface PublicEndpoints {
  readonly baseUrl: string
  readonly graphqlUrl: string
  readonly wsUrl: string
  readonly subscriptionsUrl: string
  readonly tokenUrl: string
  /** Audience of access tokens. */
  readonly audience: string
  /** Empty where no admin token is set: there is no admin API then. */
  readonly adminUrl: string
}

/** The serving piece. */
export interface RunningServing extends PublicEndpoints {
  readonly organizations: Organizations
  /** Of the first user; null where none was asked for. */
  readonly credentials: DemoCredentials | null
  /** Where the public plane listens on this machine. */
  readonly ports: { readonly http: number; readonly streams: number }
}

/** What the serving process needs beside its parts. */
export interface ServingOptions {
  /** Where the blocks come from, in words for people. */
  readonly origin?: string
  /** See `ServerDeps.documentSubjects`. */
  readonly documentSubjects?: ServerDeps['documentSubjects']
  /** Credentials that a first user is shown, as they were written down; new ones are made for what is missing. */
  readonly firstUser?: Partial<DemoCredentials>
  /** True: simulated chains on one machine; the first user's webhooks may go to it where no range is set. */
  readonly isDemo?: boolean
}

/** Accounts, REST, GraphQL and streams. Throws `ConfigError` where the files of TLS are none. */
export const startServing = async (
  deps: ServiceDeps,
  { bus, codec, warehouse }: Infra,
  { origin, documentSubjects, firstUser, isDemo = false }: ServingOptions = {},
): Promise<RunningServing> => {
  const { config, chains, metrics, lifecycle, checks, ownPorts } = deps
  const tls = readTlsFiles(config)
  const log = deps.log.child({ role: 'serve' })
  const nowMs = Date.now
  const urls = { authUrl: config.authUrl || config.publicUrl, baseUrl: config.publicUrl }
  const authUrl = (): string => urls.authUrl.replace(/\/+$/, '')
  const opened = await openOrganizations(deps, { bus, codec }, { authUrl, firstUser, isDemo })
  const { organizations, credentials, demoOrgId } = opened
  const { guard } = organizations
  const signer = makeRecordSigner(config.keyPepper.reveal())
  const usage = await openUsageLog({ bus, codec, nowMs, log, metrics, signer })
  lifecycle.add(lifecyclePart('usage', usage))
  const actions = await startActions({ ...deps, log }, { bus, codec, signer })
  const meter = createMeter({ nowMs, usage: usage.totals })
  const payPerCall = await startPayments(
    deps,
    { bus, codec, warehouse, signer, organizations, usedMilli: usage.totals.used },
    () => urls.baseUrl,
  )
  const counted = countRejectedReads(warehouse, metrics, 'freshness')
  const freshness = createFreshnessReader(counted, chains, nowMs)
  const shared = {
    warehouse,
    reader: createLimitedReader(warehouse, metrics),
    guard,
    meter,
    freshness,
    chains,
    config,
    metrics,
    log,
    nowMs,
    ...(tls && { tls }),
  }
  const engine = createGraphqlEngine(shared)
  const { families, endpoints } = await startWebhookService(
    { ...deps, reader: shared.reader, ...(demoOrgId !== undefined && { demoOrgId }) },
    { bus, codec, warehouse },
    organizations.registry.org,
  )
  const swaps = startSwapService({ ...deps, ...shared, ...actions }, { bus, codec, warehouse })
  const risk = await startRiskService(deps, { bus, codec, warehouse })
  const server = await createPublicServer({
    ...shared,
    organizations,
    ...actions,
    checks,
    families: [...families, ...swaps, risk],
    ...(payPerCall && { payPerCall }),
    ...(origin !== undefined && { origin }),
    ...(documentSubjects && { documentSubjects }),
    plugins: [graphqlPlugin(shared, engine), oauthPlugin({ organizations, meter, metrics, log })],
  })
  lifecycle.add({ name: 'http', stop: () => server.close() })
  await listenAt({ setting: 'PORT', host: config.host, port: config.port }, () =>
    server.listen({ host: config.host, port: config.port }),
  )
  const port = portOf(server)
  ownPorts.add(port)
  Object.assign(urls, publicUrls(config, port, port + 1))
  const adminUrl = await startAdmin({ ...shared, organizations, endpoints }, deps)
  const streams = { ...shared, bus, codec, guard: createCountingStreamGuard(guard, metrics) }
  const realtime = await startStreams(deps, streams, { engine, httpPort: port })
  const { baseUrl, graphqlUrl, wsUrl, subscriptionsUrl } = publicUrls(config, port, realtime.port)
  return {
    credentials,
    organizations,
    baseUrl,
    graphqlUrl,
    wsUrl,
    subscriptionsUrl,
    adminUrl,
    tokenUrl: `${authUrl()}/oauth/token`,
    audience: config.apiAudience,
    ports: { http: port, streams: realtime.port },
  }
}

/** Organizations, with the credentials that a first user is shown and the organization of a demo whose webhooks may go to this machine. */
const openOrganizations = async (
  deps: ServiceDeps,
  { bus, codec }: Pick<Infra, 'bus' | 'codec'>,
  {
    authUrl,
    firstUser,
    isDemo,
  }: {
    readonly authUrl: () => string
    readonly firstUser: ServingOptions['firstUser'] | undefined
    readonly isDemo: boolean
  },
) => {
  const { config, metrics, lifecycle, checks } = deps
  const organizations = await createOrganizations({
    bus,
    codec,
    config,
    authUrl,
    nowMs: Date.now,
    log: deps.log.child({ role: 'serve' }),
    metrics,
    walletNodes: openWalletNodes(deps),
  })
  lifecycle.add(lifecyclePart('accounts', organizations))
  checks.push(organizations.check)
  const credentials = firstUser === undefined ? null : await organizations.createDemo(firstUser)
  const isHere = isDemo && config.webhookAllow.length === 0
  const demoOrgId = isHere ? orgIdOf(organizations.guard, credentials) : undefined
  return { organizations, credentials, demoOrgId }
}

/** Sockets of streams and GraphQL subscriptions, on the port behind that of HTTP. */
const startStreams = async (
  { config, lifecycle, ownPorts }: ServiceDeps,
  streams: Omit<
    Parameters<typeof startRealtimeServer>[0],
    'host' | 'port' | 'routes' | 'admission'
  > &
    Omit<Parameters<typeof startSubscriptions>[0], 'engine' | 'progress' | 'admission'>,
  { engine, httpPort }: { readonly engine: GraphqlEngine; readonly httpPort: number },
) => {
  const progress = createStoreProgress(streams.bus, config)
  const admission = createAdmission(config)
  const subscriptions = await startSubscriptions({ ...streams, admission, engine, progress })
  const realtime = await startRealtimeServer({
    ...streams,
    admission,
    routes: [subscriptions.route],
    host: config.host,
    port: config.port === 0 ? 0 : httpPort + 1,
  })
  lifecycle.add(lifecyclePart('streams', realtime))
  ownPorts.add(realtime.port)
  return realtime
}

/** Nodes that contract wallets are looked up at: a caller waits for them, and failures that strangers cause put no node of the other pools on cooldown. */
const openWalletNodes = ({ config, chains, metrics, log, lifecycle }: ServiceDeps) => {
  const rpcTimeoutMs = Math.min(config.rpcTimeoutMs, NODE_TIMEOUT_MS)
  // Nodes without a name of a chain are those of the only chain, which may be another.
  const isNamed = (id: string): boolean =>
    Object.hasOwn(config.chainRpcUrls, id) || chains.includes(id)
  const urlsOf = (id: string): readonly string[] => (isNamed(id) ? nodeUrls(config, { id }) : [])
  const nodes = createChainNodes({ urlsOf, config: { ...config, rpcTimeoutMs }, metrics, log })
  lifecycle.add(lifecyclePart('wallet nodes', nodes))
  return nodes
}

/** Calls that are paid for one by one, where that is on. */
const startPayments = async (
  deps: ServiceDeps,
  {
    warehouse,
    ...parts
  }: Pick<Infra, 'warehouse'> &
    Pick<PayPerCallDeps, 'bus' | 'codec' | 'signer' | 'organizations' | 'usedMilli'>,
  baseUrl: () => string,
): Promise<Awaited<ReturnType<typeof startPayPerCall>>> => {
  const log = deps.log.child({ role: 'serve' })
  const nowMs = Date.now
  const labels = countRejectedReads(warehouse, deps.metrics, 'risk')
  const hasSevereLabel = createSevereLabelCheck(labels, nowMs)
  const running = await startPayPerCall({ ...deps, log, ...parts, hasSevereLabel, nowMs }, baseUrl)
  if (running) deps.lifecycle.add(lifecyclePart('payments', running))
  return running
}

/** What calls that act on a chain work with: jobs of what continues behind their answers, and the chain's nodes. */
const startActions = async (
  { config, chains, metrics, log, lifecycle, checks }: ServiceDeps,
  parts: Pick<LogInfra, 'bus' | 'codec'> & { readonly signer: RecordSigner },
) => {
  const jobs = await openJobStore({ ...parts, nowMs: Date.now, log, metrics })
  lifecycle.add(lifecyclePart('jobs', jobs))
  checks.push(jobs.check)
  const urlsOf = (id: string): readonly string[] => nodeUrls(config, { id })
  const nodes = createChainNodes({ urlsOf, config, metrics, log })
  lifecycle.add(lifecyclePart('nodes', nodes))
  const protectedNodes = createChainNodes({
    urlsOf: (id) => (config.protectedRpcUrls[id] ?? []).map((url) => url.reveal()),
    onlySend: true,
    config,
    metrics,
    log,
  })
  lifecycle.add(lifecyclePart('protected nodes', protectedNodes))
  const sent = followSentTransactions({ jobs, nodes, chains, nowMs: Date.now, log })
  lifecycle.add(lifecyclePart('sent transactions', sent))
  const nodeReads = createCallerNodes(nodes, nodeReadLimits(config.rpcConcurrency))
  return { jobs, nodes, protectedNodes, nodeReads }
}

/** Organization that credentials open. */
const orgIdOf = (guard: Guard, credentials: DemoCredentials | null): string | undefined => {
  const known = guard.authenticate({ apiKey: credentials?.apiKey })
  return known === undefined || known instanceof Fault ? undefined : known.orgId
}

/** The admin API on its own port, where there is a token for it; answers its address or nothing. */
const startAdmin = async (
  deps: AdminDeps & { readonly config: Config },
  { lifecycle, ownPorts }: ServiceDeps,
): Promise<string> => {
  const { adminToken, adminPort, adminHost: host, port } = deps.config
  if (adminToken.reveal() === '') return ''
  const server = await createAdminServer(deps)
  lifecycle.add({ name: 'admin', stop: () => server.close() })
  const wanted = adminPort === 0 && port !== 0 ? port + 2 : adminPort
  await listenAt({ setting: 'ADMIN_PORT', host, port: wanted }, () =>
    server.listen({ host, port: wanted }),
  )
  const bound = portOf(server)
  ownPorts.add(bound)
  return `${deps.tls ? 'https' : 'http'}://${toUrlHost(host)}:${bound}${ADMIN_PATH}`
}

const portOf = ({ server }: { readonly server: Server }): number => {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
