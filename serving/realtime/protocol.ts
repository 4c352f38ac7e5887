import { InvalidInput } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'

/** Frames of the Centrifuge JSON protocol, version 2. Pure: text in, commands out, and back. */

/** Largest inbound message. */
export const MAX_INBOUND_BYTES = 102_400

/** Commands of one connection at once. */
export const COMMAND_BURST = 300
/** Refused commands until the connection is closed for flooding. */
export const FLOOD_DEBT = 100
/** Commands of one message that are read. The last of them is over burst and debt, so it closes the connection anyway. */
export const MAX_COMMANDS = COMMAND_BURST + FLOOD_DEBT + 1

/** Payload bytes that are read for one connection at once, by history and recovery: as much as its queue may hold. */
export const READ_BURST_BYTES = 1_024 * 1_024

/** Error object of a reply. */
export interface ProtocolError {
  readonly code: number
  readonly message: string
  readonly temporary?: true
}

/** Error codes that we answer with. */
export const PROTOCOL_ERRORS = {
  internal: { code: 100, message: 'internal server error', temporary: true },
  unknownChannel: { code: 102, message: 'unknown channel' },
  permissionDenied: { code: 103, message: 'permission denied' },
  alreadySubscribed: { code: 105, message: 'already subscribed' },
  limitExceeded: { code: 106, message: 'limit exceeded' },
  badRequest: { code: 107, message: 'bad request' },
  notAvailable: { code: 108, message: 'not available' },
  tokenExpired: { code: 109, message: 'token expired' },
  tooManyRequests: { code: 111, message: 'too many requests', temporary: true },
  unrecoverable: { code: 112, message: 'unrecoverable position' },
} as const satisfies Record<string, ProtocolError>

/** A WebSocket close: code and plain words, never JSON. */
export interface CloseFrame {
  readonly code: number
  readonly reason: string
}

/** Close codes: 3500 to 3999 and 4500 to 4999 are final, the client reconnects on the others. */
export const CLOSE_FRAMES = {
  connectionClosed: { code: 3000, reason: 'connection closed' },
  shutdown: { code: 3001, reason: 'shutdown' },
  internal: { code: 3004, reason: 'internal server error' },
  expired: { code: 3005, reason: 'connection expired' },
  slow: { code: 3008, reason: 'slow' },
  noPong: { code: 3012, reason: 'no pong' },
  tooManyRequests: { code: 3013, reason: 'too many requests' },
  invalidToken: { code: 3500, reason: 'invalid token' },
  badRequest: { code: 3501, reason: 'bad request' },
  stale: { code: 3502, reason: 'stale' },
  connectionLimit: { code: 3504, reason: 'connection limit' },
  quotaExceeded: { code: 4503, reason: 'quota exceeded' },
} as const satisfies Record<string, CloseFrame>

/** Methods with an id, in the order in which upstream looks for them. */
export const METHODS = [
  'connect',
  'ping',
  'subscribe',
  'unsubscribe',
  'publish',
  'presence',
  'presence_stats',
  'history',
  'rpc',
  'send',
  'refresh',
  'sub_refresh',
] as const
export type Method = (typeof METHODS)[number]

/** Request body of a command as it came: an object of unknown values. */
export type Body = Readonly<Record<string, unknown>>

/** One object of an inbound message. `legacy-ping` is `{"method":"ping"}` of hand-made clients. */
export type Command =
  | { readonly kind: 'pong' }
  | { readonly kind: 'legacy-ping' }
  | { readonly kind: 'send' }
  | {
      readonly kind: 'call'
      readonly method: Exclude<Method, 'send'>
      readonly id: number
      readonly body: Body
    }

/**
 * Commands of one message, at most `MAX_COMMANDS`, or undefined where it is not such a message and the connection must close
 * with 3501.
 */
export const parseMessage = (text: string): readonly Command[] | undefined => {
  const lines = text.split('\n', MAX_COMMANDS)
  if (lines.length > 1 && lines.at(-1)?.trim() === '') lines.pop()
  const commands: Command[] = []
  for (const line of lines) {
    const command = parseCommand(line)
    if (command === undefined) return undefined
    commands.push(command)
  }
  return commands
}

const parseCommand = (line: string): Command | undefined => {
  const object = parseObject(line)
  if (object === undefined) return undefined
  if (object.method === 'ping') return { kind: 'legacy-ping' }
  const { id = 0 } = object
  if (!isUint32(id)) return undefined
  if (id === 0) return Object.hasOwn(object, 'send') ? { kind: 'send' } : { kind: 'pong' }
  const method = METHODS.find((name) => Object.hasOwn(object, name))
  if (method === undefined) return undefined
  if (method === 'send') return { kind: 'send' }
  const body = object[method] ?? {}
  return isObject(body) ? { kind: 'call', method, id, body } : undefined
}

const parseObject = (line: string): Body | undefined => {
  try {
    const value = parseJson(line, { maxLength: MAX_INBOUND_BYTES })
    return isObject(value) ? value : undefined
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    return undefined
  }
}

/** True for a JSON object. */
export const isObject = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isUint32 = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff

/** Server ping. */
export const PING_FRAME = '{}'

/** Answer to `{"method":"ping"}`. */
export const LEGACY_PONG_FRAME = '{"channel":"pong"}'

/** A success reply; the result key is there even when the result is empty (contract fact 1). */
export const formatReply = (id: number, method: Method, result: object = {}): string =>
  `{"id":${id},"${method}":${JSON.stringify(result)}}`

/** An error reply. */
export const formatError = (id: number, error: ProtocolError): string =>
  `{"id":${id},"error":${JSON.stringify(error)}}`

/** A publication of a channel; `data` is JSON text. Offset 0 = the channel has no positions. */
export const formatPublication = (data: string, offset: number): string =>
  offset > 0 ? `{"data":${data},"offset":${offset}}` : `{"data":${data}}`

/** A push of one publication to the subscribers of a literal channel name. */
export const formatPush = (literal: string, publication: string): string =>
  `{"push":{"channel":${JSON.stringify(literal)},"pub":${publication}}}`

/** Why a subscription was ended by the server: from 2500 on clients subscribe again at once. */
export const UNSUBSCRIBE_REASONS = {
  insufficientState: { code: 2500, reason: 'insufficient state' },
} as const

/** A push that ends a subscription. */
export const formatUnsubscribe = (
  literal: string,
  why: (typeof UNSUBSCRIBE_REASONS)[keyof typeof UNSUBSCRIBE_REASONS],
): string => `{"push":{"channel":${JSON.stringify(literal)},"unsubscribe":${JSON.stringify(why)}}}`

/** A subscribe or history reply with publications that are JSON text already. */
export const formatReplyWithPublications = (
  id: number,
  method: Method,
  result: object,
  publications: readonly string[],
): string => {
  const head = JSON.stringify(result).slice(0, -1)
  const comma = head === '{' ? '' : ','
  return `{"id":${id},"${method}":${head}${comma}"publications":[${publications.join(',')}]}}`
}
