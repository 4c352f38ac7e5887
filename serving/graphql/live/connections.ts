import { Fault } from '../../../core/errors.ts'
import type { ErrorBoundary } from '../../../core/ops/error-boundary.ts'
import type { Metrics } from '../../../core/ops/metrics.ts'
import { isRevoked } from '../../auth/is-revoked.ts'
import type { Credentials, Guard, Meter, Principal, RevokedCredential } from '../../interfaces.ts'
import type { AdmissionControl } from '../../realtime/admission.ts'
import type { Socket, SocketEvents } from '../../realtime/socket.ts'
import {
  checkQuota,
  checkUpgrade,
  refuseUpgrade,
  type UpgradeDeps,
  upgradeError,
} from '../../realtime/upgrade.ts'
import type { PublicError } from '../errors.ts'
import { LiveConnection } from './connection.ts'
import { credentialsOf } from './credentials.ts'
import type { Deliveries } from './deliveries.ts'
import { ConnectionClosed, LIVE_CLOSES, type LiveClose, type LiveLimits } from './limits.ts'
import { LIVE_PROTOCOL, openLiveSession, type SubscribeRequest } from './ws-protocol.ts'

/** Path of the upgrade. */
export const LIVE_PATH = '/graphql'

/** What the connections are made with. */
export interface LiveConnectionsOptions {
  readonly guard: Guard
  readonly meter: Meter
  readonly upgrade: Omit<UpgradeDeps, 'guard' | 'meter' | 'refusal'>
  readonly limits: LiveLimits
  readonly admission: AdmissionControl
  readonly boundary: ErrorBoundary
  readonly metrics: Pick<Metrics, 'graphqlConnections' | 'graphqlSubscriptionsEnded' | 'edgeErrors'>
  readonly nowMs: () => number
  readonly subscribe: (
    connection: LiveConnection,
    principal: Principal,
    request: SubscribeRequest,
  ) => Promise<Deliveries>
  readonly describeError: (error: unknown) => readonly PublicError[]
}

interface LiveContext {
  readonly credentials: Credentials
  readonly address: string
}

const decoder = new TextDecoder('utf-8', { fatal: true })

const textOf = (message: Uint8Array): string | undefined => {
  try {
    return decoder.decode(message)
  } catch {
    return undefined
  }
}

/** How a refused credential ends a connection: what may be better later is told apart from what will not. */
const closeOfFault = (fault: Fault): LiveClose => {
  if (fault.faultName === 'RATE_LIMIT') return LIVE_CLOSES.tooManyConnections
  if (fault.status >= 500) return LIVE_CLOSES.unavailable
  return fault.status === 401 ? LIVE_CLOSES.unauthorized : LIVE_CLOSES.forbidden
}

/** Every open connection of the path. */
export interface LiveConnections {
  readonly events: SocketEvents<unknown>
  /** Ends connections whose credential is no longer good. */
  revoke(gone: RevokedCredential): void
  /** Pings, and ends who is silent or whose credential is over. */
  beat(): void
  closeAll(close: LiveClose): void
}

/** Serves the path for as many connections as fit. */
export const createLiveConnections = (options: LiveConnectionsOptions): LiveConnections => {
  const { guard, meter, limits, admission, boundary, metrics, nowMs } = options
  const bySocket = new Map<Socket, LiveConnection>()
  const upgradeDeps: UpgradeDeps = {
    ...options.upgrade,
    guard,
    meter,
    refusal: (address) => admission.refusal(address),
  }
  const admit = createAdmit(options)
  const open = (socket: Socket, { credentials, address }: LiveContext): void => {
    // Asked again: many upgrades may have been decided at the same time.
    if (admission.refusal(address) !== undefined) {
      socket.close(LIVE_CLOSES.tooManyConnections.code, LIVE_CLOSES.tooManyConnections.reason)
      return
    }
    const connection = new LiveConnection(socket, {
      counted: admission.opened(address),
      limits,
      nowMs: nowMs(),
      onSlow: (subscriptions) =>
        metrics.graphqlSubscriptionsEnded.inc({ reason: 'slow' }, subscriptions),
      onError: (error) => boundary.failed('message', error),
    })
    connection.session = openLiveSession(
      {
        send: (text) => connection.send(text),
        close: (close) => connection.close(close),
        connect: (payload) => admit(connection, credentials, payload),
        subscribe: async (request) => {
          const { principal } = connection
          if (principal === null) throw new Fault('UNAUTHORIZED')
          return options.subscribe(connection, principal, request)
        },
        describeError: options.describeError,
      },
      limits,
    )
    bySocket.set(socket, connection)
    metrics.graphqlConnections.set(bySocket.size)
  }
  const events: SocketEvents<LiveContext> = {
    upgrade: createUpgrade(upgradeDeps, boundary),
    open,
    message: (socket, message) => {
      const connection = bySocket.get(socket)
      if (connection?.takesMessage(nowMs()) !== true) return
      const text = textOf(message)
      if (text === undefined) connection.close(LIVE_CLOSES.badRequest)
      else connection.message(text)
    },
    alive: (socket) => bySocket.get(socket)?.alive(nowMs()),
    overflowed: (socket) => bySocket.get(socket)?.closeSlow(),
    failed: (socket) => {
      const connection = bySocket.get(socket)
      if (connection === undefined) socket.drop()
      else connection.close(LIVE_CLOSES.internal)
    },
    closed: (socket) => {
      const connection = bySocket.get(socket)
      if (connection === undefined) return
      bySocket.delete(socket)
      connection.counted.closed()
      metrics.graphqlConnections.set(bySocket.size)
      void connection.ended(1006, '')
    },
  }
  return {
    events: events as SocketEvents<unknown>,
    revoke: (gone) => {
      for (const connection of [...bySocket.values()])
        if (isRevoked(gone, connection.principal)) connection.close(LIVE_CLOSES.forbidden)
    },
    beat: () => {
      const now = nowMs()
      for (const connection of [...bySocket.values()]) beatOne(connection, now, limits)
    },
    closeAll: (close) => {
      for (const connection of [...bySocket.values()]) connection.close(close)
    },
  }
}

/** Decides the upgrades of the path. */
const createUpgrade =
  (upgradeDeps: UpgradeDeps, boundary: ErrorBoundary): SocketEvents<LiveContext>['upgrade'] =>
  async (request) => {
    try {
      const checked = await checkUpgrade(request, upgradeDeps, LIVE_PATH)
      if ('fault' in checked) return refuseUpgrade(checked, upgradeDeps, LIVE_PATH)
      const { offered, credentials, address } = checked
      if (!offered.includes(LIVE_PROTOCOL)) {
        const fault = new Fault('BAD_REQUEST', `Sec-WebSocket-Protocol must be ${LIVE_PROTOCOL}`)
        return refuseUpgrade({ fault }, upgradeDeps, LIVE_PATH)
      }
      return { accepted: true, protocol: LIVE_PROTOCOL, context: { credentials, address } }
    } catch (error) {
      boundary.failed('upgrade', error)
      return upgradeError(upgradeDeps, LIVE_PATH)
    }
  }

/** Pings a connection, or ends one that is silent or whose credential is over. */
const beatOne = (connection: LiveConnection, now: number, limits: LiveLimits): void => {
  connection.dropIfOverdue()
  if (!connection.open) return
  const { principal } = connection
  if (now - connection.seenMs > limits.silenceMs) connection.socket.drop()
  else if ((principal?.expiresAtMs ?? Number.POSITIVE_INFINITY) <= now)
    connection.close(LIVE_CLOSES.forbidden)
  else if (now - connection.pingedMs >= limits.pingMs) {
    connection.pingedMs = now
    connection.socket.ping()
  }
}

/** Lets a connection in, or throws how it is closed. */
const createAdmit =
  ({ guard, meter, admission }: LiveConnectionsOptions) =>
  async (
    connection: LiveConnection,
    credentials: Credentials,
    payload: Readonly<Record<string, unknown>> | undefined,
  ): Promise<void> => {
    const presented = credentialsOf(payload, credentials)
    const found = checkQuota(await guard.identify(presented), meter)
    if (found === undefined) throw new ConnectionClosed(LIVE_CLOSES.unauthorized)
    if (found instanceof Fault) throw new ConnectionClosed(closeOfFault(found))
    // The client may have left meanwhile: nothing would take it out of the count again.
    if (!connection.open) throw new ConnectionClosed(LIVE_CLOSES.unavailable)
    if (!admission.hasRoomFor(found.orgId))
      throw new ConnectionClosed(LIVE_CLOSES.tooManyConnections)
    connection.principal = found
    connection.counted.accepted(found.orgId)
  }
