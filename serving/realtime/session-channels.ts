import { type Channel, parseChannel } from './channel.ts'
import {
  type Body,
  CLOSES,
  ERRORS,
  isObject,
  replyText,
  replyWithPublications,
} from './protocol.ts'
import { type Handler, type Position, refuse, text, type World } from './session.ts'

/** Subscriptions of one connection (contract/websocket.md 5.1). */
const MAX_CHANNELS = 100

/** Joins a channel, with what was missed where the client comes back to a recoverable one (contract/websocket.md 2.7). */
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
/** Most publications in one history answer. */
const HISTORY_CAP = 300

/** Kept publications of a recoverable channel. */
export const history: Handler = (session, call, world) => {
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
