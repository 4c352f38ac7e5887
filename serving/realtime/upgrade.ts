import { monotonicFactory } from 'ulid'
import { Fault } from '../../core/fault.ts'
import type { Credentials, Guard, Meter, Principal } from '../contract.ts'
import { problemMedia, problemOf } from '../http/problem.ts'
import { isExpiry } from './session-credentials.ts'
import type { UpgradeAnswer, UpgradeRequest } from './socket.ts'

/** What a connection starts with. */
export interface Opening {
  readonly credentials: Credentials
  /** `cf_ws_frame_ping_pong=true`: WebSocket pings instead of `{}`. */
  readonly framePings: boolean
}

/** Who decides about upgrades. */
export interface Gate {
  readonly guard: Guard
  readonly meter: Meter
  readonly nowMs: () => number
  /** Empty = every origin. */
  readonly allowedOrigins: readonly string[]
  /** Base of error types. */
  readonly docsUrl: string
  readonly statusMode: 'semantic' | 'reference'
}

const PATH = '/connection/websocket'
const SUBPROTOCOL = 'centrifuge-json'
const ulid = monotonicFactory()

/** Decides an upgrade (contract/websocket.md 1.1 to 1.3). Credentials that are merely over, or absent, are decided at connect. */
export const decideUpgrade = async (
  request: UpgradeRequest,
  gate: Gate,
): Promise<UpgradeAnswer<Opening>> => {
  const query = new URLSearchParams(request.query)
  const offered = request
    .header('sec-websocket-protocol')
    .split(',')
    .map((name) => name.trim())
  const credentials = credentialsOf(request, query)
  const fault = shapeFault(request, query, offered) ?? originFault(request, gate)
  const refusal = fault ? { fault } : await credentialRefusal(credentials, request, gate)
  if (refusal !== undefined) return refused(refusal, gate)
  return {
    accepted: true,
    protocol: offered.includes(SUBPROTOCOL) ? SUBPROTOCOL : '',
    context: {
      credentials,
      framePings: query.get('cf_ws_frame_ping_pong') === 'true',
    },
  }
}

const shapeFault = (
  request: UpgradeRequest,
  query: URLSearchParams,
  offered: readonly string[],
): Fault | undefined => {
  if (request.path !== PATH) return new Fault('NOT_FOUND')
  const upgrading = request.header('upgrade').toLowerCase() === 'websocket'
  if (request.method !== 'get' || !upgrading || request.header('sec-websocket-key') === '') {
    return new Fault('BAD_REQUEST', 'This path takes WebSocket upgrades only')
  }
  const binary =
    offered.includes('centrifuge-protobuf') ||
    query.get('format') === 'protobuf' ||
    query.get('cf_protocol') === 'protobuf'
  return binary ? new Fault('BAD_REQUEST', 'Protobuf is not offered; use JSON') : undefined
}

const originFault = (request: UpgradeRequest, { allowedOrigins }: Gate): Fault | undefined => {
  const origin = request.header('origin')
  if (allowedOrigins.length === 0 || origin === '' || allowedOrigins.includes(origin)) {
    return undefined
  }
  return new Fault('FORBIDDEN', 'The origin is not allowed')
}

const credentialsOf = (request: UpgradeRequest, query: URLSearchParams): Credentials => {
  const authorization = request.header('authorization')
  const apiKey = request.header('x-api-key')
  const token = query.get('token') ?? ''
  return {
    ...(authorization !== '' && { authorization }),
    ...(apiKey !== '' && { apiKey }),
    ...(token !== '' && { token }),
  }
}

/** Good credentials connect for nothing; everybody else is limited by address, so that guessing is slow. */
const credentialRefusal = async (
  credentials: Credentials,
  { ip }: UpgradeRequest,
  gate: Gate,
): Promise<Refusal | undefined> => {
  const found = withQuota(await gate.guard.identify(credentials), gate.meter)
  if (found !== undefined && !(found instanceof Fault)) return undefined
  const { allowed, limit, resetAt, retryAfterSeconds } = await gate.meter.take({ ip })
  if (!allowed) {
    const details = { limit, remaining: 0, reset_at: resetAt }
    return { fault: new Fault('RATE_LIMIT', undefined, details), retryAfterSeconds }
  }
  return found === undefined || isExpiry(found) ? undefined : { fault: found }
}

/** Who was found; a used up quota is a fault too: the smallest charge is held for a moment to find out. */
export const withQuota = (
  found: Principal | Fault | undefined,
  meter: Meter,
): Principal | Fault | undefined => {
  if (found === undefined || found instanceof Fault) return found
  try {
    meter.reserve(found, 1).release()
    return found
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}

interface Refusal {
  readonly fault: Fault
  readonly retryAfterSeconds?: number
}

const refused = ({ fault, retryAfterSeconds }: Refusal, gate: Gate): UpgradeAnswer<Opening> => {
  const requestId = ulid()
  const problem = problemOf(fault, {
    requestId,
    instance: PATH,
    nowMs: gate.nowMs(),
    docsUrl: gate.docsUrl,
    statusMode: gate.statusMode,
  })
  return {
    accepted: false,
    status: problem.status,
    headers: {
      'content-type': problemMedia(),
      'x-request-id': requestId,
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
    },
    body: JSON.stringify(problem),
  }
}

/** Answer where deciding itself failed. */
export const upgradeFailed = (gate: Gate): UpgradeAnswer<Opening> =>
  refused({ fault: new Fault('INTERNAL_SERVER_ERROR') }, gate)
