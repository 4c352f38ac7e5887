import { COMMAND_RATE } from './inbound-rates.ts'

/** What clients and server say to each other in the Centrifuge protocol, version 2, whatever it is written in. */

/** Largest inbound message. */
export const MAX_INBOUND_BYTES = 102_400

/** Refused commands until the connection is closed for flooding. */
export const FLOOD_DEBT = 100
/** Commands of one message that are read. The last of them is over burst and debt, so it closes the connection anyway. */
export const MAX_COMMANDS = COMMAND_RATE.burst + FLOOD_DEBT + 1

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
 * The command of an object as it came; undefined where it is none. An object without an id is a pong: clients send nothing else
 * without one.
 */
export const toCommand = (object: Body): Command | undefined => {
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

/** True for a JSON object. */
export const isObject = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isUint32 = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff

/** A publication on its way to one subscription. */
export interface PublicationFrame {
  /** JSON text of the payload; of a `patch` the Fossil delta that makes it of the payload before. */
  readonly data: string
  /** 0 = the channel has no positions. */
  readonly offset: number
  /** `value`: the payload as it is. `whole` and `patch`: payloads of a subscription that takes deltas. */
  readonly kind: 'value' | 'whole' | 'patch'
}

/** An answer to a command. `legacy-pong` answers `{"method":"ping"}`. */
export type Reply =
  | { readonly kind: 'error'; readonly id: number; readonly error: ProtocolError }
  | { readonly kind: 'legacy-pong' }
  | {
      readonly kind: 'result'
      readonly id: number
      readonly method: Method
      /** Without the publications. */
      readonly result: object
      readonly publications?: readonly PublicationFrame[]
    }

/** A success: its result is there even when it is empty, because stock clients end at a reply without one. */
export const resultReply = (
  id: number,
  method: Method,
  result: object = {},
  publications?: readonly PublicationFrame[],
): Reply => ({ kind: 'result', id, method, result, ...(publications && { publications }) })

/** A refused command. */
export const errorReply = (id: number, error: ProtocolError): Reply => ({
  kind: 'error',
  id,
  error,
})

/** Why a subscription was ended by the server: from 2500 on clients subscribe again at once. */
export const UNSUBSCRIBE_REASONS = {
  insufficientState: { code: 2500, reason: 'insufficient state' },
} as const

/** Why a subscription was ended. */
export type UnsubscribeReason = (typeof UNSUBSCRIBE_REASONS)[keyof typeof UNSUBSCRIBE_REASONS]
