import { Fault } from '../../core/errors.ts'
import type { Credentials, Principal } from '../interfaces.ts'
import {
  type Body,
  CLOSE_FRAMES,
  type Command,
  errorReply,
  isObject,
  PROTOCOL_ERRORS,
  type ProtocolError,
  resultReply,
} from './protocol.ts'
import {
  type CommandHandler,
  type CommandResult,
  type MethodCall,
  replyWithError,
  type Session,
  type SessionEnv,
  textOrEmpty,
} from './session.ts'

/** Longest `connect.name`; a longer one is not a name that we know. */
const MAX_CLIENT_NAME_LENGTH = 16
/** Seconds between server pings. */
export const PING_SECONDS = 25
const PROTOCOL_VERSION = '1.0.0'

/** Takes the credential of a new connection and says who, how long and how fresh. */
export const connect: CommandHandler = (session, call, world) => {
  if (session.phase !== 'fresh') return { session, close: CLOSE_FRAMES.badRequest }
  const credentials = connectCredentials(call.body, session.upgrade)
  const principal = world.authenticate(credentials)
  if (principal === undefined) return { session, close: CLOSE_FRAMES.badRequest }
  if (principal instanceof Fault) return rejectConnect(session, call, principal)
  const expiredMs = principal.expiresAtMs ?? Number.POSITIVE_INFINITY
  if (expiredMs <= world.nowMs) return rejectExpired(session, call)
  if (world.connectionsOf(principal.orgId) >= world.connectionLimit) {
    return { session, close: CLOSE_FRAMES.connectionLimit }
  }
  const chains = freshnessBody(world.freshness)
  const result = {
    client: session.clientId,
    version: PROTOCOL_VERSION,
    ...expiryFields(principal, world.nowMs),
    ...(Object.keys(chains).length > 0 && { data: { chains } }),
    ...(!session.framePings && { ping: PING_SECONDS, pong: true }),
  }
  return {
    session: { ...session, phase: 'connected', principal, name: clientName(call.body.name) },
    reply: resultReply(call.id, 'connect', result),
    effects: [{ type: 'admit', principal }],
  }
}

const clientName = (name: unknown): string => {
  const known = textOrEmpty(name)
  return known.length <= MAX_CLIENT_NAME_LENGTH ? known : ''
}

/** The credentials that a command shows, if it is one that shows any. */
export const commandCredentials = (
  { upgrade }: Session,
  command: Command,
): Credentials | undefined => {
  if (command.kind !== 'call') return undefined
  if (command.method === 'connect') return connectCredentials(command.body, upgrade)
  if (command.method !== 'refresh') return undefined
  return { token: textOrEmpty(command.body.token), address: upgrade.address }
}

const rejectConnect = (session: Session, call: MethodCall, fault: Fault): CommandResult => {
  if (isExpiredToken(fault)) return rejectExpired(session, call)
  if (isQuotaExhausted(fault)) return { session, close: CLOSE_FRAMES.quotaExceeded }
  const passing = passingError(fault)
  if (passing !== undefined) return replyWithError(session, call, passing)
  return { session, close: CLOSE_FRAMES.invalidToken }
}

/** The error after which a client tries the same credential again; undefined where that is of no use. */
const passingError = ({ status, faultName }: Fault): ProtocolError | undefined => {
  if (faultName === 'RATE_LIMIT') return PROTOCOL_ERRORS.tooManyRequests
  return status >= 500 ? PROTOCOL_ERRORS.internal : undefined
}

const rejectExpired = (session: Session, call: MethodCall): CommandResult => ({
  session: { ...session, phase: 'rejected' },
  reply: errorReply(call.id, PROTOCOL_ERRORS.tokenExpired),
})

/** True where a credential was good once and only its time is over. */
export const isExpiredToken = (fault: Fault): boolean => fault.details?.reason === 'expired_token'

const isQuotaExhausted = (fault: Fault): boolean => fault.details?.reason === 'quota_exhausted'

/** First present wins: `connect.token`, `connect.headers`, then what the upgrade carried. */
const connectCredentials = (body: Body, upgrade: Credentials): Credentials => {
  const { address } = upgrade
  const token = textOrEmpty(body.token)
  if (token !== '') return { token, address }
  const headers = isObject(body.headers) ? body.headers : {}
  const named = new Map(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value]))
  const authorization = textOrEmpty(named.get('authorization'))
  const apiKey = textOrEmpty(named.get('x-api-key'))
  if (authorization === '' && apiKey === '') return upgrade
  const shown = { ...(authorization !== '' && { authorization }), ...(apiKey !== '' && { apiKey }) }
  return { ...shown, address }
}

const expiryFields = (principal: Principal, nowMs: number) =>
  principal.expiresAtMs === null
    ? {}
    : { expires: true, ttl: Math.max(1, Math.floor((principal.expiresAtMs - nowMs) / 1_000)) }

const freshnessBody = (freshness: SessionEnv['freshness']) =>
  Object.fromEntries(
    Object.entries(freshness).map(([chain, { head, headTimeMs, since, sinceTimeMs }]) => [
      chain,
      { head, head_time: headTimeMs, since, since_time: sinceTimeMs },
    ]),
  )
/** A new credential of the same account. One of another account, or none, ends the connection. */
export const refresh: CommandHandler = (session, call, world) => {
  const found = world.authenticate({ token: textOrEmpty(call.body.token) })
  if (found === undefined) return { session, close: CLOSE_FRAMES.invalidToken }
  if (found instanceof Fault) {
    const passing = passingError(found)
    if (passing !== undefined) return replyWithError(session, call, passing)
    if (isQuotaExhausted(found)) return { session, close: CLOSE_FRAMES.quotaExceeded }
    return {
      session,
      close: isExpiredToken(found) ? CLOSE_FRAMES.expired : CLOSE_FRAMES.invalidToken,
    }
  }
  if (found.orgId !== session.principal?.orgId) return { session, close: CLOSE_FRAMES.invalidToken }
  if (found.expiresAtMs !== null && found.expiresAtMs <= world.nowMs) {
    return { session, close: CLOSE_FRAMES.expired }
  }
  const result = {
    client: session.clientId,
    version: PROTOCOL_VERSION,
    ...expiryFields(found, world.nowMs),
  }
  return {
    session: { ...session, principal: found },
    reply: resultReply(call.id, 'refresh', result),
  }
}
