import { Fault } from '../../core/errors.ts'
import type { Credentials, Principal } from '../interfaces.ts'
import {
  type Body,
  CLOSES,
  type Command,
  ERRORS,
  errorText,
  isObject,
  replyText,
} from './protocol.ts'
import {
  type Call,
  type Handler,
  refuse,
  type Session,
  type Step,
  text,
  type World,
} from './session.ts'

/** Longest `connect.name`; a longer one is not a name that we know. */
const MAX_NAME_LENGTH = 16
/** Seconds between server pings. */
export const PING_SECONDS = 25
const PROTOCOL_VERSION = '1.0.0'

/** Takes the credential of a new connection and says who, how long and how fresh. */
export const connect: Handler = (session, call, world) => {
  if (session.phase !== 'fresh') return { session, close: CLOSES.badRequest }
  const credentials = connectCredentials(call.body, session.upgrade)
  const principal = world.authenticate(credentials)
  if (principal === undefined) return { session, close: CLOSES.badRequest }
  if (principal instanceof Fault) return turnedAway(session, call, principal)
  const expiredMs = principal.expiresAtMs ?? Number.POSITIVE_INFINITY
  if (expiredMs <= world.nowMs) return tokenExpired(session, call)
  if (world.connectionsOf(principal.orgId) >= world.connectionLimit) {
    return { session, close: CLOSES.connectionLimit }
  }
  const chains = chainsData(world.freshness)
  const result = {
    client: session.clientId,
    version: PROTOCOL_VERSION,
    ...lifetime(principal, world.nowMs),
    ...(Object.keys(chains).length > 0 && { data: { chains } }),
    ...(!session.framePings && { ping: PING_SECONDS, pong: true }),
  }
  return {
    session: { ...session, phase: 'connected', principal, name: nameIn(call.body.name) },
    reply: replyText(call.id, 'connect', result),
    effects: [{ type: 'admit', principal }],
  }
}

const nameIn = (name: unknown): string => {
  const known = text(name)
  return known.length <= MAX_NAME_LENGTH ? known : ''
}

/** The credentials that a command shows, if it is one that shows any. */
export const shownBy = ({ upgrade }: Session, command: Command): Credentials | undefined => {
  if (command.kind !== 'call') return undefined
  if (command.method === 'connect') return connectCredentials(command.body, upgrade)
  return command.method === 'refresh' ? { token: text(command.body.token) } : undefined
}

const turnedAway = (session: Session, call: Call, fault: Fault): Step => {
  if (isExpiry(fault)) return tokenExpired(session, call)
  if (isQuota(fault)) return { session, close: CLOSES.quotaExceeded }
  if (fault.status >= 500) return refuse(session, call, ERRORS.internal)
  return { session, close: CLOSES.invalidToken }
}

const tokenExpired = (session: Session, call: Call): Step => ({
  session: { ...session, phase: 'rejected' },
  reply: errorText(call.id, ERRORS.tokenExpired),
})

/** True where a credential was good once and only its time is over. */
export const isExpiry = (fault: Fault): boolean => fault.details?.reason === 'expired_token'

const isQuota = (fault: Fault): boolean => fault.details?.reason === 'quota_exhausted'

/** First present wins: `connect.token`, `connect.headers`, then what the upgrade carried. */
const connectCredentials = (body: Body, upgrade: Credentials): Credentials => {
  const token = text(body.token)
  if (token !== '') return { token }
  const headers = isObject(body.headers) ? body.headers : {}
  const named = new Map(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value]))
  const authorization = text(named.get('authorization'))
  const apiKey = text(named.get('x-api-key'))
  if (authorization === '' && apiKey === '') return upgrade
  return { ...(authorization !== '' && { authorization }), ...(apiKey !== '' && { apiKey }) }
}

const lifetime = (principal: Principal, nowMs: number) =>
  principal.expiresAtMs === null
    ? {}
    : { expires: true, ttl: Math.max(1, Math.floor((principal.expiresAtMs - nowMs) / 1_000)) }

const chainsData = (freshness: World['freshness']) =>
  Object.fromEntries(
    Object.entries(freshness).map(([chain, { head, headTimeMs, since, sinceTimeMs }]) => [
      chain,
      { head, head_time: headTimeMs, since, since_time: sinceTimeMs },
    ]),
  )
/** A new credential of the same account. One of another account, or none, ends the connection. */
export const refresh: Handler = (session, call, world) => {
  const found = world.authenticate({ token: text(call.body.token) })
  if (found === undefined) return { session, close: CLOSES.invalidToken }
  if (found instanceof Fault) {
    if (found.status >= 500) return refuse(session, call, ERRORS.internal)
    if (isQuota(found)) return { session, close: CLOSES.quotaExceeded }
    return { session, close: isExpiry(found) ? CLOSES.expired : CLOSES.invalidToken }
  }
  if (found.orgId !== session.principal?.orgId) return { session, close: CLOSES.invalidToken }
  if (found.expiresAtMs !== null && found.expiresAtMs <= world.nowMs) {
    return { session, close: CLOSES.expired }
  }
  const result = {
    client: session.clientId,
    version: PROTOCOL_VERSION,
    ...lifetime(found, world.nowMs),
  }
  return {
    session: { ...session, principal: found },
    reply: replyText(call.id, 'refresh', result),
  }
}
