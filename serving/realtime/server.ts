import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus, RunningTask } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import type { Config } from '../../core/config/settings.ts'
import type { TlsFiles } from '../../core/config/tls-files.ts'
import { Outage } from '../../core/errors.ts'
import { type ErrorBoundary, makeErrorBoundary } from '../../core/ops/error-boundary.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { chainRow } from '../../schemas/chains.ts'
import type { ChainFreshness, FreshnessReader, Guard, Meter } from '../interfaces.ts'
import { createLimitedReads, type ReadStore } from '../queries/limited-reads.ts'
import type { AdmissionControl } from './admission.ts'
import { startBusSubscriber } from './bus-subscriber.ts'
import { MAX_QUEUED_BYTES } from './connection.ts'
import { ConnectionRegistry } from './connections.ts'
import { Hub } from './hub.ts'
import { startListPoller } from './list-poller.ts'
import { CLOSE_FRAMES, MAX_INBOUND_BYTES } from './protocol.ts'
import type { SocketEvents, SocketServer } from './socket.ts'
import { routeSockets, type SocketRoute } from './socket-routes.ts'
import { startSocketServer, type Transport } from './start-socket-server.ts'
import { type ConnectionContext, decideUpgrade, upgradeError } from './upgrade.ts'

/** What the stream server is made of. */
export interface RealtimeOptions {
  readonly bus: Bus
  readonly codec: Codec
  readonly guard: Guard
  readonly meter: Meter
  readonly freshness: FreshnessReader
  /** Lists are read from it. */
  readonly warehouse: ReadStore
  /** Internal ids of the enabled chains; their topics must exist. */
  readonly chains: readonly string[]
  readonly config: Pick<
    Config,
    | 'wsNumbers'
    | 'wsLongNames'
    | 'wsDelta'
    | 'wsAllowedOrigins'
    | 'wsConnections'
    | 'trustedProxies'
    | 'chainExtra'
    | 'docsUrl'
    | 'errorsStatusMode'
  >
  /** Present: it speaks TLS only. */
  readonly tls?: TlsFiles
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly metrics: Metrics
  readonly log: Logger
  readonly nowMs: () => number
  readonly random?: () => number
  /** Default: uWebSockets.js where its binary loads, else `ws`. */
  readonly transport?: Transport
  /** Counts the connections of the port; the routes count theirs with it too. */
  readonly admission: AdmissionControl
  /** Surfaces on other paths of the same port. */
  readonly routes?: readonly SocketRoute[]
}

/** A running stream server. */
export interface RealtimeServer extends RunningTask {
  readonly port: number
  readonly transport: Transport
}

/** Time between two looks at the clock: coalescing, queues, heartbeats. */
const TICK_MS = 50
const TICKS_PER_SWEEP = 2
const TICKS_PER_HEARTBEAT = 5
/** TCP connections beyond the limit that are still told why they do not fit. */
const CONNECTION_MARGIN = 256
/** Pushed bytes are charged every 10 s. */
const TICKS_PER_CHARGE = 200
/** Longest wait for a chain's freshness; connect is answered without it then. */
const FRESHNESS_TIMEOUT_MS = 1_000

/** Serves `/connection/websocket`: the Centrifuge protocol, in JSON and Protobuf, over the topics of the given chains. */
export const startRealtimeServer = async (options: RealtimeOptions): Promise<RealtimeServer> => {
  const { bus, chains, log, guard, config, routes = [] } = options
  const late: { server?: SocketServer; connections?: ConnectionRegistry } = {}
  const boundary = makeErrorBoundary({ ...options, surface: 'streams' })
  const hub = new Hub({
    ...options,
    numbers: config.wsNumbers,
    quotes: new Map(chains.map((chain) => [chain, quoteAssetAddresses(chain, config)])),
    publish: (topic, frame) => {
      boundary.run('publish', () => late.server?.publish(topic, frame))
    },
    onLost: (lost) => late.connections?.unsubscribe(lost),
  })
  const connections = new ConnectionRegistry({
    ...options,
    hub,
    freshness: () => readFreshness(options),
    chains: new Set(chains),
    longNames: config.wsLongNames === 'auto',
    deltas: config.wsDelta === 'auto',
    boundary,
    random: options.random ?? Math.random,
  })
  late.connections = connections
  const feed = await startBusSubscriber({
    bus,
    hub,
    log,
    chains,
    onPressure: () => connections.sweep(),
  })
  const server = await startSocketServer(
    { transport: options.transport, log },
    {
      host: options.host,
      port: options.port,
      tls: options.tls,
      maxInboundBytes: MAX_INBOUND_BYTES,
      maxQueuedBytes: 2 * MAX_QUEUED_BYTES,
      maxConnections: config.wsConnections + CONNECTION_MARGIN,
      boundary,
    },
    routeSockets(socketEvents(options, connections, boundary), routes),
  )
  late.server = server
  const lists = startListPoller({
    ...options,
    hub,
    reads: createLimitedReads(options.warehouse, {
      share: 'point',
      surface: 'streams',
      metrics: options.metrics,
    }),
  })
  const stopListening = guard.onRevoked((revoked) => connections.revoke(revoked))
  const ticker = setInterval(createTick(hub, connections, boundary), TICK_MS)
  log.info({ port: server.port, transport: server.transport }, 'WebSocket server listening')
  return {
    port: server.port,
    transport: server.transport,
    stop: async () => {
      stopListening()
      server.refuse()
      await Promise.all(routes.map((route) => route.stop()))
      await drainConnections(connections)
      clearInterval(ticker)
      await lists.stop()
      await feed.stop()
      await server.stop()
      connections.charge()
    },
  }
}

const quoteAssetAddresses = (
  chain: string,
  { chainExtra }: RealtimeOptions['config'],
): ReadonlySet<string> =>
  new Set(
    [...(chainRow(chain)?.quotes ?? []), ...(chainExtra[chain]?.quotes ?? [])].map(
      ({ address }) => address,
    ),
  )

const socketEvents = (
  { guard, meter, config, nowMs }: RealtimeOptions,
  connections: ConnectionRegistry,
  boundary: ErrorBoundary,
): SocketEvents<ConnectionContext> => {
  const deps = {
    guard,
    meter,
    nowMs,
    refusal: (address: string) => connections.refusal(address),
    trustedProxies: config.trustedProxies,
    allowedOrigins: config.wsAllowedOrigins,
    docsUrl: config.docsUrl,
    statusMode: config.errorsStatusMode,
  }
  return {
    upgrade: (request) =>
      decideUpgrade(request, deps).catch((error: unknown) => {
        boundary.failed('upgrade', error)
        return upgradeError(deps, request.path)
      }),
    open: (socket, opening) => connections.open(socket, opening),
    message: (socket, message) => connections.message(socket, message),
    alive: (socket) => connections.alive(socket),
    overflowed: (socket) => connections.overflowed(socket),
    failed: (socket) => connections.failed(socket),
    closed: (socket) => connections.closed(socket),
  }
}

const createTick = (
  hub: Hub,
  connections: ConnectionRegistry,
  boundary: ErrorBoundary,
): (() => void) => {
  let tick = 0
  return () => {
    tick += 1
    boundary.run('timer', () => hub.flush())
    if (tick % TICKS_PER_SWEEP === 0) boundary.run('timer', () => connections.sweep())
    if (tick % TICKS_PER_HEARTBEAT === 0) boundary.run('timer', () => connections.checkHeartbeats())
    if (tick % TICKS_PER_CHARGE === 0) boundary.run('timer', () => connections.charge())
  }
}

/** Sockets closed per step at a stop, so that their clients do not come back all at once. */
const DRAIN_BATCH = 200
const DRAIN_INTERVAL_MS = 100
const DRAIN_TIMEOUT_MS = 8_000

const drainConnections = async (connections: ConnectionRegistry): Promise<void> => {
  for (let waitedMs = 0; connections.size > 0 && waitedMs < DRAIN_TIMEOUT_MS; ) {
    connections.closeSome(DRAIN_BATCH, CLOSE_FRAMES.shutdown)
    await sleep(DRAIN_INTERVAL_MS)
    waitedMs += DRAIN_INTERVAL_MS
  }
}

/** Chains whose freshness is known in time; streams continue without the store. */
const readFreshness = async ({
  freshness,
  chains,
  log,
}: RealtimeOptions): Promise<Readonly<Record<string, ChainFreshness>>> => {
  const reads = chains.map(async (chain) => {
    const limit = sleep(FRESHNESS_TIMEOUT_MS, null, { ref: false })
    const found = await Promise.race([freshness.of(chain), limit]).catch((error: unknown) => {
      if (!(error instanceof Outage)) throw error
      log.warn({ err: error, chain }, 'failed to read data freshness')
      return null
    })
    return [chain, found] as const
  })
  const freshnessByChain: Record<string, ChainFreshness> = {}
  for (const [chain, found] of await Promise.all(reads))
    if (found !== null) freshnessByChain[chain] = found
  return freshnessByChain
}
