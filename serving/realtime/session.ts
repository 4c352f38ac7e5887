import { Fault } from '../../core/fault.ts'
import type { ChainFreshness, Credentials, Principal } from '../contract.ts'
import { type Channel, parseChannel } from './channel.ts'
import {
  type Body,
  CLOSES,
  type Close,
  type Command,
  ERRORS,
  errorText,
  isObject,
  LEGACY_PONG,
  type Method,
  type ProtocolError,
  replyText,
  replyWithPublications,
} from './protocol.ts'

/** Subscriptions of one connection (contract/websocket.md 5.1). */
export const MAX_CHANNELS = 100
/** Seconds between server pings. */
export const PING_SECONDS = 25
/** How long a credential may be over before the connection is closed. */
export const EXPIRY_GRACE_MS = 25_000
/** Commands of one connection: burst, and tokens that come back each second. */
const COMMAND_BURST = 300
const COMMANDS_PER_SECOND = 50
/** Refused commands until the connection is closed for flooding. */
const FLOOD_DEBT = 100
const PROTOCOL_VERSION = '1.0.0'

/** Everything that is remembered of one connection; replaced, never changed. */
export interface Session {
  readonly clientId: string
  /** `rejected`: connect was answered with 109; whatever follows is ignored. */
  readonly phase: 'fresh' | 'connected' | 'rejected'
  readonly upgrade: Credentials
  /** WebSocket pings instead of `{}` (`cf_ws_frame_ping_pong=true`). */
  readonly framePings: boolean
  readonly principal: Principal | null
  /** `connect.name`: js, go and python split frames by newline. */
  readonly name: string
  readonly channels: ReadonlyMap<string, Channel>
  readonly bucket: { readonly tokens: number; readonly atMs: number }
}

/** Where a subscriber stands in a recoverable channel. */
export interface Position {
  readonly epoch: string
  readonly offset: number
}

/** Answer to a wish to recover: what was missed, or that it cannot be told any more. */
export type Recovery =
  | {
      readonly recovered: true
      readonly publications: readonly string[]
      /** Bytes of their payloads, billed like pushed ones. */
      readonly bytes: number
    }
  | { readonly recovered: false }

/** A kept publication as it is sent. */
export interface KeptText {
  readonly offset: number
  readonly text: string
}

/** What the handlers may ask; every answer is immediate. */
export interface World {
  readonly nowMs: number
  readonly chains: ReadonlySet<string>
  /** Freshness for the connect reply (R34); chains without data are left out. */
  readonly freshness: Readonly<Record<string, ChainFreshness>>
  readonly connectionLimit: number
  /** Open connections of an organization, this one not counted. */
  connectionsOf(orgId: string): number
  authenticate(credentials: Credentials): Principal | Fault | undefined
  /** Current top of a recoverable channel; null = the channel is plain. */
  positionOf(channel: Channel): Position | null
  recover(channel: Channel, since: Position, retractions: boolean): Recovery
  /** Kept publications of a recoverable channel, oldest first, as JSON text. */
  historyOf(channel: Channel): readonly KeptText[]
}

/** What the shell does, in order, once the replies of the message are written. */
export type Effect =
  | { readonly type: 'admit'; readonly principal: Principal }
  | { readonly type: 'leave'; readonly channel: Channel }
  | {
      readonly type: 'join'
      readonly channel: Channel
      readonly retractions: boolean
      /** Publications up to here are not sent: the client has them. */
      readonly after: number
      /** Payload bytes of the recovered publications in the reply. */
      readonly recoveredBytes: number
    }

/** Outcome of one command. */
export interface Step {
  readonly session: Session
  readonly reply?: string
  readonly effects?: readonly Effect[]
  readonly close?: Close
}

type Call = Extract<Command, { kind: 'call' }>
type Handler = (session: Session, call: Call, world: World) => Step

/** A connection that was just opened. */
export const freshSession = (
  clientId: string,
  upgrade: Credentials,
  { framePings, nowMs }: { readonly framePings: boolean; readonly nowMs: number },
): Session => ({
  clientId,
  phase: 'fresh',
  upgrade,
  framePings,
  principal: null,
  name: '',
  channels: new Map(),
  bucket: { tokens: COMMAND_BURST, atMs: nowMs },
})

/** True where several replies may share one frame (contract/websocket.md 2.1). */
export const mayBatch = ({ name }: Session): boolean => ['js', 'go', 'python'].includes(name)

/** Runs one command: the next session, at most one reply, and what the shell must do. */
export const step = (before: Session, command: Command, world: World): Step => {
  if (before.phase === 'rejected') return { session: before }
  const session = { ...before, bucket: drained(before.bucket, world.nowMs) }
  if (session.bucket.tokens < -FLOOD_DEBT) return { session, close: CLOSES.tooManyRequests }
  const tooMany = session.bucket.tokens < 0
  if (command.kind === 'legacy-ping') {
    return tooMany ? { session } : { session, reply: LEGACY_PONG }
  }
  if (command.kind === 'pong') return { session }
  if (session.phase === 'fresh' && !(command.kind === 'call' && command.method === 'connect')) {
    return { session, close: CLOSES.badRequest }
  }
  if (command.kind === 'send') return { session }
  if (tooMany) return { session, reply: errorText(command.id, ERRORS.tooManyRequests) }
  return HANDLERS[command.method](session, command, world)
}

const drained = (bucket: Session['bucket'], nowMs: number): Session['bucket'] => {
  const back = (Math.max(0, nowMs - bucket.atMs) / 1_000) * COMMANDS_PER_SECOND
  return { tokens: Math.min(COMMAND_BURST, bucket.tokens + back) - 1, atMs: nowMs }
}

const refuse = (session: Session, { id }: Call, error: ProtocolError): Step => ({
  session,
  reply: errorText(id, error),
})
const always =
  (error: ProtocolError): Handler =>
  (session, call) =>
    refuse(session, call, error)

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

const connect: Handler = (session, call, world) => {
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
    session: { ...session, phase: 'connected', principal, name: text(call.body.name) },
    reply: replyText(call.id, 'connect', result),
    effects: [{ type: 'admit', principal }],
  }
}

const turnedAway = (session: Session, call: Call, fault: Fault): Step => {
  if (isExpiry(fault)) return tokenExpired(session, call)
  if (fault.details?.reason === 'quota_exhausted') return { session, close: CLOSES.quotaExceeded }
  if (fault.status >= 500) return refuse(session, call, ERRORS.internal)
  return { session, close: CLOSES.invalidToken }
}

const tokenExpired = (session: Session, call: Call): Step => ({
  session: { ...session, phase: 'rejected' },
  reply: errorText(call.id, ERRORS.tokenExpired),
})

/** True where a credential was good once and only its time is over. */
export const isExpiry = (fault: Fault): boolean =>
  ['expired', 'expired_token', 'key_expired'].includes(text(fault.details?.reason))

/** First present wins: `connect.token`, `connect.headers`, then what the upgrade carried (contract/websocket.md 1.2). */
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

const subscribe: Handler = (session, call, world) => {
  const { body, id } = call
  const literal = body.channel
  if (body.delta !== undefined && body.delta !== '' && body.delta !== 'fossil') {
    return { session, close: CLOSES.badRequest }
  }
  if (typeof literal !== 'string') return refuse(session, call, ERRORS.badRequest)
  if (session.channels.has(literal)) return refuse(session, call, ERRORS.alreadySubscribed)
  const channel = parseChannel(literal, world.chains)
  if ('code' in channel) return refuse(session, call, channel)
  if (wantsFilter(body)) return refuse(session, call, ERRORS.badRequest)
  if (session.channels.size >= MAX_CHANNELS) return refuse(session, call, ERRORS.limitExceeded)
  const retractions = isObject(body.data) && body.data.retractions === true
  const answer = subscribeAnswer(id, body, { channel, retractions, world })
  if (answer === undefined) return refuse(session, call, ERRORS.unrecoverable)
  return {
    session: { ...session, channels: new Map([...session.channels, [literal, channel]]) },
    reply: answer.reply,
    effects: [{ type: 'join', channel, retractions, ...answer.cursor }],
  }
}

/** Filters are not offered yet: a subscription that asks for one is refused rather than sent everything. */
const wantsFilter = ({ filter, tf, data }: Body): boolean =>
  (filter !== undefined && filter !== '') ||
  (tf !== undefined && tf !== null) ||
  (isObject(data) && data.filter !== undefined && data.filter !== '')

/** Flag 2 of a subscribe: an error rather than a stream with a hole. */
const REJECT_UNRECOVERABLE = 2

const subscribeAnswer = (
  id: number,
  body: Body,
  ask: { readonly channel: Channel; readonly retractions: boolean; readonly world: World },
) => {
  const { channel, retractions, world } = ask
  const top = world.positionOf(channel)
  const none = { after: 0, recoveredBytes: 0 }
  if (top === null) return { reply: replyText(id, 'subscribe'), cursor: none }
  const state = { recoverable: true, positioned: true, epoch: top.epoch }
  if (body.recover !== true) {
    return { reply: replyText(id, 'subscribe', { ...state, offset: top.offset }), cursor: none }
  }
  const since = sinceOf(body)
  const found = since && world.recover(channel, since, retractions)
  if (since === undefined || found?.recovered !== true) {
    if ((Number(body.flag) & REJECT_UNRECOVERABLE) !== 0) return undefined
    const result = { ...state, offset: top.offset, was_recovering: true, recovered: false }
    return { reply: replyText(id, 'subscribe', result), cursor: none }
  }
  const { publications, bytes } = found
  const offset = publications.length > 0 ? since.offset : Math.max(top.offset, since.offset)
  const result = { ...state, offset, was_recovering: true, recovered: true }
  const after = since.offset > top.offset ? since.offset : 0
  return {
    reply:
      publications.length === 0
        ? replyText(id, 'subscribe', result)
        : replyWithPublications(id, 'subscribe', result, publications),
    cursor: { after, recoveredBytes: bytes },
  }
}

/** Clients leave an offset of 0 out, so the epoch alone is the start of the stream. */
const sinceOf = ({ epoch, offset = 0 }: Body): Position | undefined =>
  typeof epoch === 'string' && epoch !== '' && Number.isSafeInteger(offset) && Number(offset) >= 0
    ? { epoch, offset: Number(offset) }
    : undefined

const unsubscribe: Handler = (session, call) => {
  const literal = text(call.body.channel)
  const reply = replyText(call.id, 'unsubscribe')
  const channel = session.channels.get(literal)
  if (channel === undefined) return { session, reply }
  const channels = new Map(session.channels)
  channels.delete(literal)
  return { session: { ...session, channels }, reply, effects: [{ type: 'leave', channel }] }
}

/** A new credential of the same account. One of another account, or none, ends the connection. */
const refresh: Handler = (session, call, world) => {
  const found = world.authenticate({ token: text(call.body.token) })
  if (found === undefined) return { session, close: CLOSES.invalidToken }
  if (found instanceof Fault) {
    if (found.status >= 500) return refuse(session, call, ERRORS.internal)
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

/** Most publications in one history answer. */
const HISTORY_CAP = 300

const history: Handler = (session, call, world) => {
  const { body, id } = call
  const channel = parseChannel(text(body.channel), world.chains)
  if ('code' in channel) return refuse(session, call, channel)
  const top = world.positionOf(channel)
  if (top === null) return refuse(session, call, ERRORS.notAvailable)
  const { limit = 0, since = {} } = body
  if (!Number.isInteger(limit) || !isObject(since)) return refuse(session, call, ERRORS.badRequest)
  const found = historyFrom(channel, { since, reverse: body.reverse === true, top, world })
  if (found === undefined) return refuse(session, call, ERRORS.unrecoverable)
  const count = Number(limit) < 0 ? HISTORY_CAP : Math.min(Number(limit), HISTORY_CAP)
  return { session, reply: replyWithPublications(id, 'history', top, found.slice(0, count)) }
}

/** Publications in the asked order; undefined where `since` is of another epoch or too far back. */
const historyFrom = (
  channel: Channel,
  ask: {
    readonly since: Body
    readonly reverse: boolean
    readonly top: Position
    readonly world: World
  },
): readonly string[] | undefined => {
  const { since, reverse, top, world } = ask
  const epoch = text(since.epoch)
  if (epoch !== '' && epoch !== top.epoch) return undefined
  const position = since.offset === undefined ? undefined : sinceOf({ ...since, epoch: top.epoch })
  if (position !== undefined && !reverse) {
    const found = world.recover(channel, position, false)
    return found.recovered ? found.publications : undefined
  }
  const kept = world
    .historyOf(channel)
    .filter(({ offset }) => position === undefined || offset < position.offset)
    .map((one) => one.text)
  return reverse ? kept.toReversed() : kept
}

const HANDLERS: Readonly<Record<Exclude<Method, 'send'>, Handler>> = {
  connect,
  subscribe,
  unsubscribe,
  refresh,
  history,
  ping: (session, { id }) => ({ session, reply: replyText(id, 'ping') }),
  publish: always(ERRORS.permissionDenied),
  presence: always(ERRORS.notAvailable),
  presence_stats: always(ERRORS.notAvailable),
  rpc: always(ERRORS.notAvailable),
  sub_refresh: always(ERRORS.notAvailable),
}
