import { validateBody } from './command-fields.ts'
import { connect, refresh } from './connect-commands.ts'
import { history } from './history-command.ts'
import { COMMAND_RATE, takeToken } from './inbound-rates.ts'
import {
  CLOSE_FRAMES,
  type Command,
  errorReply,
  FLOOD_DEBT,
  type Method,
  PROTOCOL_ERRORS,
  type ProtocolError,
  resultReply,
} from './protocol.ts'
import {
  type CommandHandler,
  type CommandResult,
  replyWithError,
  type Session,
  type SessionEnv,
} from './session.ts'
import { subscribe, unsubscribe } from './subscribe-commands.ts'

/** Runs one command: the next session, at most one reply, and what the shell must do. */
export const runCommand = (before: Session, command: Command, env: SessionEnv): CommandResult => {
  if (before.phase === 'rejected') return { session: before }
  const session = { ...before, bucket: takeToken(before.bucket, COMMAND_RATE, env.nowMs) }
  if (session.bucket.tokens < -FLOOD_DEBT) return { session, close: CLOSE_FRAMES.tooManyRequests }
  const tooMany = session.bucket.tokens < 0
  if (command.kind === 'legacy-ping') {
    return tooMany ? { session } : { session, reply: { kind: 'legacy-pong' } }
  }
  if (command.kind === 'pong') return { session }
  if (session.phase === 'fresh' && !(command.kind === 'call' && command.method === 'connect')) {
    return { session, close: CLOSE_FRAMES.badRequest }
  }
  if (command.kind === 'send') return { session }
  if (tooMany) return { session, reply: errorReply(command.id, PROTOCOL_ERRORS.tooManyRequests) }
  const body = validateBody(command.method, command.body)
  if (body !== undefined) return HANDLERS[command.method](session, { ...command, body }, env)
  if (CREDENTIAL_METHODS.has(command.method)) return { session, close: CLOSE_FRAMES.badRequest }
  return replyWithError(session, command, PROTOCOL_ERRORS.badRequest)
}

/** A connection whose credential cannot be read has nothing to continue with. */
const CREDENTIAL_METHODS: ReadonlySet<Method> = new Set(['connect', 'refresh'])

const alwaysError =
  (error: ProtocolError): CommandHandler =>
  (session, call) =>
    replyWithError(session, call, error)

const HANDLERS: Readonly<Record<Exclude<Method, 'send'>, CommandHandler>> = {
  connect,
  subscribe,
  unsubscribe,
  refresh,
  history,
  ping: (session, { id }) => ({ session, reply: resultReply(id, 'ping') }),
  publish: alwaysError(PROTOCOL_ERRORS.permissionDenied),
  presence: alwaysError(PROTOCOL_ERRORS.notAvailable),
  presence_stats: alwaysError(PROTOCOL_ERRORS.notAvailable),
  rpc: alwaysError(PROTOCOL_ERRORS.notAvailable),
  sub_refresh: alwaysError(PROTOCOL_ERRORS.notAvailable),
}
