import { textOrEmpty } from '../../core/json.ts'
import { type Channel, parseChannel } from './channel-name.ts'
import {
  availableReadBytes,
  FILTER_STEP_BYTES,
  parsePosition,
  withBytesRead,
} from './history-command.ts'
import {
  type Body,
  CLOSE_FRAMES,
  isObject,
  PROTOCOL_ERRORS,
  type ProtocolError,
  type Reply,
  resultReply,
} from './protocol.ts'
import { requestedFilter } from './publication-filter.ts'
import { type CommandHandler, replyWithError, type Session, type SessionEnv } from './session.ts'
import { createSubscriptionView, type SubscriptionView } from './subscription-view.ts'

/** Subscriptions of one connection. */
const MAX_CHANNELS = 100
/** Names of one stream on a connection: addresses and chains have several spellings, and families several names. */
const MAX_NAMES = 4

/** Joins a channel, with what was missed where the client comes back to a recoverable one. */
export const subscribe: CommandHandler = (session, call, env) => {
  const { body, id } = call
  const literal = body.channel
  if (body.delta !== undefined && body.delta !== '' && body.delta !== 'fossil') {
    return { session, close: CLOSE_FRAMES.badRequest }
  }
  if (typeof literal !== 'string') return replyWithError(session, call, PROTOCOL_ERRORS.badRequest)
  if (session.channels.has(literal))
    return replyWithError(session, call, PROTOCOL_ERRORS.alreadySubscribed)
  const channel = parseChannel(literal, env.chains)
  if ('code' in channel) return replyWithError(session, call, channel)
  // Before anything is made for it that takes time.
  if (session.channels.size >= MAX_CHANNELS)
    return replyWithError(session, call, PROTOCOL_ERRORS.limitExceeded)
  if (countNames(session, channel) >= MAX_NAMES)
    return replyWithError(session, call, PROTOCOL_ERRORS.alreadySubscribed)
  const view = requestedView(session, channel, body, env)
  if ('code' in view) return replyWithError(session, call, view)
  const prepared = prepareSubscribe(session, { id, body, channel, view, env })
  const { readBytes } = prepared
  const next = readBytes > 0 ? withBytesRead(session, readBytes, env.nowMs) : session
  if ('error' in prepared) return replyWithError(next, call, prepared.error)
  const subscription = { ...channel, filter: view.filter }
  return {
    session: { ...next, channels: new Map([...session.channels, [literal, subscription]]) },
    reply: prepared.reply,
    effects: [{ type: 'join', channel: subscription, view, ...prepared.cursor }],
  }
}

const countNames = ({ channels }: Session, { subject }: Channel): number =>
  [...channels.values()].filter((one) => one.subject === subject).length

/**
 * What the subscription wants beyond the name of its channel; an error where that is malformed, not to be had there, or is more than
 * its organization may have.
 */
const requestedView = (
  session: Session,
  channel: Channel,
  body: Body,
  env: SessionEnv,
): SubscriptionView | ProtocolError => {
  const { row } = channel
  const data = isObject(body.data) ? body.data : {}
  const pending = data.commitment === 'processed'
  if (pending && !row.pending) return PROTOCOL_ERRORS.badRequest
  const text = requestedFilter(body)
  if (text === undefined) return PROTOCOL_ERRORS.badRequest
  const orgId = session.principal?.orgId ?? ''
  if (!env.hasRoomForSubscription(orgId, channel, text)) return PROTOCOL_ERRORS.limitExceeded
  const filter = text === '' ? null : env.filterOf(orgId, row, text)
  if (filter !== null && 'code' in filter) return filter
  return createSubscriptionView({
    retractions: data.retractions === true || pending,
    pending,
    longNames: env.longNames && row.longNames && session.name === '',
    filter,
    encoding: session.encoding,
    delta: takesDeltas(session, row, body, env) && filter === null,
  })
}

/**
 * True where deltas are asked for and understood: clients that say no name ask for them on every channel and cannot read them.
 * Arrays are lists of new things, of which little comes again.
 */
const takesDeltas = (
  { name }: Session,
  { shape }: Channel['row'],
  { delta }: Body,
  { deltas }: SessionEnv,
): boolean => deltas && delta === 'fossil' && shape === 'object' && name !== ''

/** Flag 2 of a subscribe: an error rather than a stream with a hole. */
const REJECT_UNRECOVERABLE_FLAG = 2

/** What is answered, and the payload bytes that were read to find out, those that a filter could have read in its time among them. */
type SubscribeResult = { readonly readBytes: number } & (
  | { readonly error: ProtocolError }
  | {
      readonly reply: Reply
      readonly cursor: { readonly after: number; readonly recoveredBytes: number }
    }
)

const NOTHING_RECOVERED = { after: 0, recoveredBytes: 0 }

const prepareSubscribe = (
  session: Session,
  request: {
    readonly id: number
    readonly body: Body
    readonly channel: Channel
    readonly view: SubscriptionView
    readonly env: SessionEnv
  },
): SubscribeResult => {
  const { id, body, channel, view, env } = request
  const top = env.positionOf(channel)
  const cursor = NOTHING_RECOVERED
  const deltaField = view.delta ? { delta: true } : {}
  if (top === null) return { reply: resultReply(id, 'subscribe', deltaField), cursor, readBytes: 0 }
  const state = { ...deltaField, recoverable: true, positioned: true, epoch: top.epoch }
  if (body.recover !== true) {
    const reply = resultReply(id, 'subscribe', { ...state, offset: top.offset })
    return { reply, cursor, readBytes: 0 }
  }
  if (availableReadBytes(session, env.nowMs) <= 0) {
    return { error: PROTOCOL_ERRORS.tooManyRequests, readBytes: 0 }
  }
  const since = parsePosition(body.epoch, body.offset)
  const recovery = since && env.recover(channel, since, view)
  const readBytes = recovery ? recovery.bytes + recovery.filterSteps * FILTER_STEP_BYTES : 0
  if (since === undefined || recovery?.recovered !== true) {
    if (rejectsUnrecoverable(body.flag)) return { error: PROTOCOL_ERRORS.unrecoverable, readBytes }
    const result = { ...state, offset: top.offset, was_recovering: true, recovered: false }
    return { reply: resultReply(id, 'subscribe', result), cursor, readBytes }
  }
  const { publications } = recovery
  const offset = publications.length > 0 ? since.offset : Math.max(top.offset, since.offset)
  const result = { ...state, offset, was_recovering: true, recovered: true }
  const after = since.offset > top.offset ? since.offset : 0
  return {
    reply: resultReply(id, 'subscribe', result, publications.length > 0 ? publications : undefined),
    cursor: { after, recoveredBytes: recovery.bytes },
    readBytes,
  }
}

const rejectsUnrecoverable = (flag: unknown): boolean =>
  typeof flag === 'number' && (flag & REJECT_UNRECOVERABLE_FLAG) !== 0

/** Leaves a channel; one that was never joined is a success too. */
export const unsubscribe: CommandHandler = (session, call) => {
  const literal = textOrEmpty(call.body.channel)
  const reply = resultReply(call.id, 'unsubscribe')
  const channel = session.channels.get(literal)
  if (channel === undefined) return { session, reply }
  const channels = new Map(session.channels)
  channels.delete(literal)
  return { session: { ...session, channels }, reply, effects: [{ type: 'leave', channel }] }
}
