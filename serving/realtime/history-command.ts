import { textOrEmpty } from '../../core/json.ts'
import { parseChannel } from './channel-name.ts'
import { isObject, PROTOCOL_ERRORS, READ_BURST_BYTES, resultReply } from './protocol.ts'
import { type CommandHandler, type Position, replyWithError, type Session } from './session.ts'

/** Most publications in one history answer. */
const MAX_HISTORY = 300
/** Payload bytes that a connection may have read for it each second once the burst is used. */
const READ_BYTES_PER_SECOND = 128 * 1_024
/** Payload bytes that could be read in the time of one step of a filter. */
export const FILTER_STEP_BYTES = 16

/** Kept publications of a recoverable channel, billed like recovered ones. */
export const history: CommandHandler = (session, call, env) => {
  const { body, id } = call
  const channel = parseChannel(textOrEmpty(body.channel), env.chains)
  if ('code' in channel) return replyWithError(session, call, channel)
  const top = env.positionOf(channel)
  if (top === null) return replyWithError(session, call, PROTOCOL_ERRORS.notAvailable)
  const { epoch, offset } = parseSince(body.since)
  if (epoch !== '' && epoch !== top.epoch)
    return replyWithError(session, call, PROTOCOL_ERRORS.unrecoverable)
  const limit = parseLimit(body.limit)
  if (limit === 0) return { session, reply: resultReply(id, 'history', top, []) }
  if (availableReadBytes(session, env.nowMs) <= 0) {
    return replyWithError(session, call, PROTOCOL_ERRORS.tooManyRequests)
  }
  const page = env.historyOf(channel, { since: offset, reverse: body.reverse === true, limit })
  if (page === undefined) return replyWithError(session, call, PROTOCOL_ERRORS.unrecoverable)
  return {
    session: withBytesRead(session, page.bytes, env.nowMs),
    reply: resultReply(id, 'history', top, page.publications),
    effects: [{ type: 'bill', bytes: page.bytes }],
  }
}

/** A negative limit asks for as many as there are. */
const parseLimit = (limit: unknown): number => {
  if (typeof limit !== 'number') return 0
  return limit < 0 ? MAX_HISTORY : Math.min(limit, MAX_HISTORY)
}

const parseSince = (
  since: unknown,
): { readonly epoch: string; readonly offset: number | undefined } => {
  if (!isObject(since)) return { epoch: '', offset: undefined }
  const { epoch, offset } = since
  return { epoch: textOrEmpty(epoch), offset: typeof offset === 'number' ? offset : undefined }
}

/** Bytes that may be read for the connection now; what one read takes beyond that is paid back by waiting. */
export const availableReadBytes = ({ reads }: Session, nowMs: number): number => {
  const refilled = (Math.max(0, nowMs - reads.atMs) / 1_000) * READ_BYTES_PER_SECOND
  return Math.min(READ_BURST_BYTES, reads.bytes + refilled)
}

/** The session after `bytes` were read for it, whether or not they were sent. */
export const withBytesRead = (session: Session, bytes: number, nowMs: number): Session => {
  const left = availableReadBytes(session, nowMs) - bytes
  return { ...session, reads: { bytes: left, atMs: nowMs } }
}

/** Clients leave an offset of 0 out, so the epoch alone is the start of the stream. */
export const parsePosition = (epoch: unknown, offset: unknown): Position | undefined =>
  typeof epoch === 'string' && epoch !== ''
    ? { epoch, offset: typeof offset === 'number' ? offset : 0 }
    : undefined
