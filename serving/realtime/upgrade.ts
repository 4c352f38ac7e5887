import { monotonicFactory } from 'ulid'
import { Fault } from '../../core/errors.ts'
import { clientAddress, rateLimitAddress } from '../../core/http/network-address.ts'
import { problemBody, problemMediaType } from '../http/problem-details.ts'
import type { Credentials, Guard, Meter, Principal } from '../interfaces.ts'
import type { ConnectionRefusal } from './admission.ts'
import { isExpiredToken } from './connect-commands.ts'
import type { Encoding } from './frame-codec.ts'
import type { UpgradeDecision, UpgradeRequest } from './socket.ts'

/** What a connection starts with. */
export interface ConnectionContext {
  readonly credentials: Credentials
  readonly encoding: Encoding
  /** `cf_ws_frame_ping_pong=true`: WebSocket pings instead of `{}`. */
  readonly framePings: boolean
  /** Unit in which its address is limited (see `rateLimitAddress`). */
  readonly address: string
}

/** Dependencies of upgrade checks. */
export interface UpgradeDeps {
  readonly guard: Guard
  readonly meter: Meter
  readonly nowMs: () => number
  /** What to answer where another connection of the address does not fit. */
  readonly refusal: (address: string) => ConnectionRefusal | undefined
  /** Ranges of proxies whose `X-Forwarded-For` names the client. */
  readonly trustedProxies: readonly string[]
  /** Empty = every origin. */
  readonly allowedOrigins: readonly string[]
  /** Base of error types. */
  readonly docsUrl: string
  readonly statusMode: 'semantic' | 'reference'
}

const WEBSOCKET_PATH = '/connection/websocket'
/** Subprotocols by what they are written in. */
const SUBPROTOCOLS: Readonly<Record<Encoding, string>> = {
  protobuf: 'centrifuge-protobuf',
  json: 'centrifuge-json',
}
const ulid = monotonicFactory()

/** Version of the WebSocket protocol, RFC 6455 section 4.1. */
const WEBSOCKET_VERSION = '13'
/** 16 bytes in base64, RFC 6455 section 4.1. */
const WEBSOCKET_KEY_PATTERN = /^[A-Za-z0-9+/]{22}==$/
/** A token of RFC 9110 section 5.6.2. */
const TOKEN_PATTERN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** A checked upgrade, as every path of the server reads it. */
export interface CheckedUpgrade {
  readonly query: URLSearchParams
  /** Subprotocols in the client's order. */
  readonly offered: readonly string[]
  readonly credentials: Credentials
  readonly address: string
}

/** Checks what is the same on every path: the handshake, the origin, room for it, and a credential that is shown. */
export const checkUpgrade = async (
  request: UpgradeRequest,
  deps: UpgradeDeps,
  path: string,
): Promise<CheckedUpgrade | UpgradeRefusal> => {
  const query = new URLSearchParams(request.query)
  const forwardedFor = request.header('x-forwarded-for')
  const address = rateLimitAddress(clientAddress(request.ip, forwardedFor, deps.trustedProxies))
  const offered = parseList(request.header('sec-websocket-protocol'))
  const credentials = upgradeCredentials(request, query)
  const refusal =
    handshakeRefusal(request, offered, path) ??
    originRefusal(request, deps) ??
    deps.refusal(address) ??
    (await credentialRefusal(credentials, address, deps))
  return refusal ?? { query, offered, credentials: { ...credentials, address }, address }
}

/** Decides an upgrade. Credentials that are merely over, or absent, are decided at connect. */
export const decideUpgrade = async (
  request: UpgradeRequest,
  deps: UpgradeDeps,
): Promise<UpgradeDecision<ConnectionContext>> => {
  const checked = await checkUpgrade(request, deps, WEBSOCKET_PATH)
  if ('fault' in checked) return refuseUpgrade(checked, deps, WEBSOCKET_PATH)
  const { query, offered, credentials, address } = checked
  const encoding = requestedEncoding(query, offered)
  return {
    accepted: true,
    protocol: offered.includes(SUBPROTOCOLS[encoding]) ? SUBPROTOCOLS[encoding] : '',
    context: {
      credentials,
      encoding,
      framePings: query.get('cf_ws_frame_ping_pong') === 'true',
      address,
    },
  }
}

const parseList = (header: string): readonly string[] =>
  header === '' ? [] : header.split(',').map((name) => name.trim())

const badRequest = (message: string): UpgradeRefusal => ({
  fault: new Fault('BAD_REQUEST', message),
})

const handshakeRefusal = (
  request: UpgradeRequest,
  offered: readonly string[],
  path: string,
): UpgradeRefusal | undefined => {
  if (request.path !== path) return { fault: new Fault('NOT_FOUND') }
  const upgrading =
    request.method === 'get' &&
    request.header('upgrade').toLowerCase() === 'websocket' &&
    parseList(request.header('connection').toLowerCase()).includes('upgrade')
  if (!upgrading) return badRequest('This path takes WebSocket upgrades only')
  if (request.header('sec-websocket-version') !== WEBSOCKET_VERSION) {
    const headers = { 'sec-websocket-version': WEBSOCKET_VERSION }
    return { ...badRequest(`Sec-WebSocket-Version must be ${WEBSOCKET_VERSION}`), headers }
  }
  if (!WEBSOCKET_KEY_PATTERN.test(request.header('sec-websocket-key'))) {
    return badRequest('Sec-WebSocket-Key must be 16 bytes in base64')
  }
  if (
    !offered.every((name) => TOKEN_PATTERN.test(name)) ||
    new Set(offered).size < offered.length
  ) {
    return badRequest('Sec-WebSocket-Protocol must be a list of different tokens')
  }
  return undefined
}

/** Protobuf where the client offers it first, or asks for it in the query. */
const requestedEncoding = (query: URLSearchParams, offered: readonly string[]): Encoding => {
  const first = offered.find((name) => Object.values(SUBPROTOCOLS).includes(name))
  if (first !== undefined) return first === SUBPROTOCOLS.protobuf ? 'protobuf' : 'json'
  const isRequested = ['format', 'cf_protocol'].some((name) => query.get(name) === 'protobuf')
  return isRequested ? 'protobuf' : 'json'
}

const originRefusal = (
  request: UpgradeRequest,
  { allowedOrigins }: UpgradeDeps,
): UpgradeRefusal | undefined => {
  const origin = request.header('origin')
  if (allowedOrigins.length === 0 || origin === '' || allowedOrigins.includes(origin)) {
    return undefined
  }
  return { fault: new Fault('FORBIDDEN', 'The origin is not allowed') }
}

const upgradeCredentials = (request: UpgradeRequest, query: URLSearchParams): Credentials => {
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
  address: string,
  deps: UpgradeDeps,
): Promise<UpgradeRefusal | undefined> => {
  const identified = checkQuota(await deps.guard.identify({ ...credentials, address }), deps.meter)
  if (identified !== undefined && !(identified instanceof Fault)) return undefined
  const { allowed, limit, resetAt, retryAfterSeconds } = await deps.meter.take({ ip: address })
  if (!allowed) {
    const details = { limit, remaining: 0, reset_at: resetAt }
    return { fault: new Fault('RATE_LIMIT', undefined, details), retryAfterSeconds }
  }
  if (identified === undefined || isExpiredToken(identified)) return undefined
  return {
    fault: identified,
    ...(identified.faultName === 'RATE_LIMIT' && { retryAfterSeconds: 1 }),
  }
}

/** Who was found; a used up quota is a fault too: the smallest charge is held for a moment to find out. */
export const checkQuota = (
  identified: Principal | Fault | undefined,
  meter: Meter,
): Principal | Fault | undefined => {
  if (identified === undefined || identified instanceof Fault) return identified
  try {
    meter.reserve(identified, 1).release()
    return identified
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}

/** Why an upgrade is refused, and what the answer says beside it. */
export interface UpgradeRefusal {
  readonly fault: Fault
  readonly retryAfterSeconds?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** The HTTP answer of a refusal on a path. */
export const refuseUpgrade = (
  { fault, retryAfterSeconds, headers = {} }: UpgradeRefusal,
  deps: UpgradeDeps,
  path: string,
): UpgradeDecision<never> => {
  const requestId = ulid()
  const problem = problemBody(fault, {
    requestId,
    instance: path,
    nowMs: deps.nowMs(),
    docsUrl: deps.docsUrl,
    statusMode: deps.statusMode,
  })
  return {
    accepted: false,
    status: problem.status,
    headers: {
      'content-type': problemMediaType(),
      'x-request-id': requestId,
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
      ...headers,
    },
    body: JSON.stringify(problem),
  }
}

/** Answer where deciding itself failed. */
export const upgradeError = (deps: UpgradeDeps, path: string): UpgradeDecision<never> =>
  refuseUpgrade({ fault: new Fault('INTERNAL_SERVER_ERROR') }, deps, path)
