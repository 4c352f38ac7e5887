import { Fault } from '../../core/errors.ts'
import { textOrEmpty } from '../../core/json.ts'
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
} from './session.ts'

/** Longest `connect.name`; a longer one is not a name that we know. */
const MAX_CLIENT_NAME_LENGTH = 16
/** Seconds between server pings. */
export const PING_SECONDS = 25
const PROTOCOL_VERSION = '1.0.0'

/** Authenticates a new connection; the reply has the expiry and the freshness of the chains. */
export const connect: CommandHandler = (session, call, env) => {
  if (session.phase !== 'fresh') return { session, close: CLOSE_FRAMES.badRequest }
  const credentials = connectCredentials(call.body, session.upgrade)
  const principal = env.authenticate(credentials)
  if (principal === undefined) return { session, close: CLOSE_FRAMES.badRequest }
  if (principal instanceof Fault) return rejectConnect(session, call, principal)
  const expiredMs = principal.expiresAtMs ?? Number.POSITIVE_INFINITY
  if (expiredMs <= env.nowMs) return rejectExpired(session, call)
  if (!env.hasRoomFor(principal.orgId)) {
    return { session, close: CLOSE_FRAMES.connectionLimit }
  }
  const chains = freshnessBody(env.freshness)
  const result = {
    client: session.clientId,
    version: PROTOCOL_VERSION,
    ...expiryFields(principal, env.nowMs),
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
  const text = textOrEmpty(name)
  return text.length <= MAX_CLIENT_NAME_LENGTH ? text : ''
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
  const retryable = retryableError(fault)
  if (retryable !== undefined) return replyWithError(session, call, retryable)
  return { session, close: CLOSE_FRAMES.invalidToken }
}

/** The error after which a client tries the same credential again; undefined where that is of no use. */
const retryableError = ({ status, faultName }: Fault): ProtocolError | undefined => {
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
  const headerValues = new Map(
    Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value]),
  )
  const authorization = textOrEmpty(headerValues.get('authorization'))
  const apiKey = textOrEmpty(headerValues.get('x-api-key'))
  if (authorization === '' && apiKey === '') return upgrade
  const presented = {
    ...(authorization !== '' && { authorization }),
    ...(apiKey !== '' && { apiKey }),
  }
  return { ...presented, address }
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
/** A new credential of the same organization. One of another organization, or none, ends the connection. */
export const refresh: CommandHandler = (session, call, env) => {
  const principal = env.authenticate({ token: textOrEmpty(call.body.token) })
  if (principal === undefined) return { session, close: CLOSE_FRAMES.invalidToken }
  if (principal instanceof Fault) {
    const retryable = retryableError(principal)
    if (retryable !== undefined) return replyWithError(session, call, retryable)
    if (isQuotaExhausted(principal)) return { session, close: CLOSE_FRAMES.quotaExceeded }
    return {
      session,
      close: isExpiredToken(principal) ? CLOSE_FRAMES.expired : CLOSE_FRAMES.invalidToken,
    }
  }
  if (principal.orgId !== session.principal?.orgId)
    return { session, close: CLOSE_FRAMES.invalidToken }
  if (principal.expiresAtMs !== null && principal.expiresAtMs <= env.nowMs) {
    return { session, close: CLOSE_FRAMES.expired }
  }
  const result = {
    client: session.clientId,
    version: PROTOCOL_VERSION,
    ...expiryFields(principal, env.nowMs),
  }
  return {
    session: { ...session, principal },
    reply: resultReply(call.id, 'refresh', result),
  }
}
