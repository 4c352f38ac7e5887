import { parseChannel } from './channel.ts'
import { ERRORS, isObject, READ_BURST_BYTES, replyWithPublications } from './protocol.ts'
import { type Handler, type Position, refuse, type Session, text } from './session.ts'

/** Most publications in one history answer. */
const HISTORY_CAP = 300
/** Payload bytes that a connection may have read for it each second once the burst is used. */
const READ_BYTES_PER_SECOND = 128 * 1_024

/** Kept publications of a recoverable channel, billed like recovered ones. */
export const history: Handler = (session, call, world) => {
  const { body, id } = call
  const channel = parseChannel(text(body.channel), world.chains)
  if ('code' in channel) return refuse(session, call, channel)
  const top = world.positionOf(channel)
  if (top === null) return refuse(session, call, ERRORS.notAvailable)
  const { epoch, offset } = sinceIn(body.since)
  if (epoch !== '' && epoch !== top.epoch) return refuse(session, call, ERRORS.unrecoverable)
  const limit = limitOf(body.limit)
  if (limit === 0) return { session, reply: replyWithPublications(id, 'history', top, []) }
  if (readableBytes(session, world.nowMs) <= 0) {
    return refuse(session, call, ERRORS.tooManyRequests)
  }
  const found = world.historyOf(channel, { since: offset, reverse: body.reverse === true, limit })
  if (found === undefined) return refuse(session, call, ERRORS.unrecoverable)
  return {
    session: afterReading(session, found.bytes, world.nowMs),
    reply: replyWithPublications(id, 'history', top, found.publications),
    effects: [{ type: 'bill', bytes: found.bytes }],
  }
}

/** A negative limit asks for as many as there are. */
const limitOf = (limit: unknown): number => {
  if (typeof limit !== 'number') return 0
  return limit < 0 ? HISTORY_CAP : Math.min(limit, HISTORY_CAP)
}

const sinceIn = (
  since: unknown,
): { readonly epoch: string; readonly offset: number | undefined } => {
  if (!isObject(since)) return { epoch: '', offset: undefined }
  const { epoch, offset } = since
  return { epoch: text(epoch), offset: typeof offset === 'number' ? offset : undefined }
}

/** Bytes that may be read for the connection now; what one read takes beyond that is paid back by waiting. */
export const readableBytes = ({ reads }: Session, nowMs: number): number => {
  const back = (Math.max(0, nowMs - reads.atMs) / 1_000) * READ_BYTES_PER_SECOND
  return Math.min(READ_BURST_BYTES, reads.bytes + back)
}

/** The session after `bytes` were read for it, whether or not they were sent. */
export const afterReading = (session: Session, bytes: number, nowMs: number): Session => {
  const left = readableBytes(session, nowMs) - bytes
  return { ...session, reads: { bytes: left, atMs: nowMs } }
}

/** Clients leave an offset of 0 out, so the epoch alone is the start of the stream. */
export const positionIn = (epoch: unknown, offset: unknown): Position | undefined =>
  typeof epoch === 'string' && epoch !== ''
    ? { epoch, offset: typeof offset === 'number' ? offset : 0 }
    : undefined
