import { checkedBody } from './fields.ts'
import {
  CLOSES,
  COMMAND_BURST,
  type Command,
  ERRORS,
  errorText,
  FLOOD_DEBT,
  LEGACY_PONG,
  type Method,
  type ProtocolError,
  replyText,
} from './protocol.ts'
import { type Handler, refuse, type Session, type Step, type World } from './session.ts'
import { subscribe, unsubscribe } from './session-channels.ts'
import { connect, refresh } from './session-credentials.ts'
import { history } from './session-history.ts'

/** Commands that a connection may send each second once its burst is used. */
const COMMANDS_PER_SECOND = 50

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
  const body = checkedBody(command.method, command.body)
  if (body !== undefined) return HANDLERS[command.method](session, { ...command, body }, world)
  if (CREDENTIALS.has(command.method)) return { session, close: CLOSES.badRequest }
  return refuse(session, command, ERRORS.badRequest)
}

/** A connection whose credential cannot be read has nothing to go on with. */
const CREDENTIALS: ReadonlySet<Method> = new Set(['connect', 'refresh'])

const drained = (bucket: Session['bucket'], nowMs: number): Session['bucket'] => {
  const back = (Math.max(0, nowMs - bucket.atMs) / 1_000) * COMMANDS_PER_SECOND
  return { tokens: Math.min(COMMAND_BURST, bucket.tokens + back) - 1, atMs: nowMs }
}

const always =
  (error: ProtocolError): Handler =>
  (session, call) =>
    refuse(session, call, error)

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
