import { type Channel, parseChannel } from './channel.ts'
import {
  type Body,
  CLOSES,
  ERRORS,
  isObject,
  type ProtocolError,
  replyText,
  replyWithPublications,
} from './protocol.ts'
import { type Handler, refuse, type Session, text, type World } from './session.ts'
import { afterReading, positionIn, readableBytes } from './session-history.ts'

/** Subscriptions of one connection. */
const MAX_CHANNELS = 100

/** Joins a channel, with what was missed where the client comes back to a recoverable one. */
export const subscribe: Handler = (session, call, world) => {
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
  const answer = subscribeAnswer(session, { id, body, channel, retractions, world })
  const { readBytes } = answer
  const next = readBytes > 0 ? afterReading(session, readBytes, world.nowMs) : session
  if ('error' in answer) return refuse(next, call, answer.error)
  return {
    session: { ...next, channels: new Map([...session.channels, [literal, channel]]) },
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

/** What is answered, and the payload bytes that were read to find out. */
type SubscribeAnswer = { readonly readBytes: number } & (
  | { readonly error: ProtocolError }
  | {
      readonly reply: string
      readonly cursor: { readonly after: number; readonly recoveredBytes: number }
    }
)

const NOTHING_RECOVERED = { after: 0, recoveredBytes: 0 }

const subscribeAnswer = (
  session: Session,
  ask: {
    readonly id: number
    readonly body: Body
    readonly channel: Channel
    readonly retractions: boolean
    readonly world: World
  },
): SubscribeAnswer => {
  const { id, body, channel, retractions, world } = ask
  const top = world.positionOf(channel)
  const cursor = NOTHING_RECOVERED
  if (top === null) return { reply: replyText(id, 'subscribe'), cursor, readBytes: 0 }
  const state = { recoverable: true, positioned: true, epoch: top.epoch }
  if (body.recover !== true) {
    const reply = replyText(id, 'subscribe', { ...state, offset: top.offset })
    return { reply, cursor, readBytes: 0 }
  }
  if (readableBytes(session, world.nowMs) <= 0) {
    return { error: ERRORS.tooManyRequests, readBytes: 0 }
  }
  const since = positionIn(body.epoch, body.offset)
  const found = since && world.recover(channel, since, retractions)
  const readBytes = found?.bytes ?? 0
  if (since === undefined || found?.recovered !== true) {
    if (rejectsUnrecoverable(body.flag)) return { error: ERRORS.unrecoverable, readBytes }
    const result = { ...state, offset: top.offset, was_recovering: true, recovered: false }
    return { reply: replyText(id, 'subscribe', result), cursor, readBytes }
  }
  const { publications } = found
  const offset = publications.length > 0 ? since.offset : Math.max(top.offset, since.offset)
  const result = { ...state, offset, was_recovering: true, recovered: true }
  const after = since.offset > top.offset ? since.offset : 0
  return {
    reply:
      publications.length === 0
        ? replyText(id, 'subscribe', result)
        : replyWithPublications(id, 'subscribe', result, publications),
    cursor: { after, recoveredBytes: readBytes },
    readBytes,
  }
}

const rejectsUnrecoverable = (flag: unknown): boolean =>
  typeof flag === 'number' && (flag & REJECT_UNRECOVERABLE) !== 0

/** Leaves a channel; one that was never joined is a success too. */
export const unsubscribe: Handler = (session, call) => {
  const literal = text(call.body.channel)
  const reply = replyText(call.id, 'unsubscribe')
  const channel = session.channels.get(literal)
  if (channel === undefined) return { session, reply }
  const channels = new Map(session.channels)
  channels.delete(literal)
  return { session: { ...session, channels }, reply, effects: [{ type: 'leave', channel }] }
}
