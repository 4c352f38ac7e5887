import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { isAddressInRanges, rateLimitAddress } from '../http/network-address.ts'
import { makeErrorBoundary } from './error-boundary.ts'
import type { Logger } from './logger.ts'
import type { Metrics } from './metrics.ts'

/** Where something from outside reaches the process over HTTP. */
export type HttpSurface = 'public' | 'admin' | 'ops'

/** What a listener's boundary works with. */
export interface ListenerDeps {
  readonly surface: HttpSurface
  readonly metrics: Pick<Metrics, 'edgeErrors'>
  readonly log: Logger
}

/** Events that carry something of one connection: their first argument is the request, or the socket itself. */
const CONNECTION_EVENTS: ReadonlySet<string | symbol> = new Set([
  'request',
  'checkContinue',
  'checkExpectation',
  'upgrade',
  'connect',
  'connection',
])

/** Events that want an answer: their second argument is the response. */
const REQUEST_EVENTS: ReadonlySet<string | symbol> = new Set([
  'request',
  'checkContinue',
  'checkExpectation',
])

/** Requests of one connection that may wait for their answers, those that its client does not read among them. */
const MAX_UNANSWERED_REQUESTS = 8
/** Bytes of answers that may lie unsent on a connection when it asks for more. */
const MAX_UNSENT_BYTES = 1_048_576
/** A connection on which nothing moves for so long is closed: its client reads no answer. No answer takes as long. */
const IDLE_TIMEOUT_MS = 120_000
/** The same for a connection that has been refused. */
const REJECTED_IDLE_TIMEOUT_MS = 5_000

/**
 * Bounds what one connection may have asked for without an answer. HTTP/1.1 lets a client send requests one behind the other: each
 * costs it forty bytes, and its answer lies in memory until the client reads it. The first one too many, or the first one behind
 * more unsent bytes than 1 MiB, is answered 429 behind those before it, and the connection is closed.
 */
const makePipelineLimit = ({ surface, metrics }: Pick<ListenerDeps, 'surface' | 'metrics'>) => {
  const waiting = new WeakMap<Socket, Set<ServerResponse>>()
  const refused = new WeakSet<Socket>()
  return (socket: Socket, response: ServerResponse): boolean => {
    if (refused.has(socket)) return false
    const unanswered = waiting.get(socket) ?? new Set()
    if (unanswered.size < MAX_UNANSWERED_REQUESTS && unsentBytes(unanswered) <= MAX_UNSENT_BYTES) {
      waiting.set(socket, unanswered.add(response))
      response.once('close', () => unanswered.delete(response))
      return true
    }
    refused.add(socket)
    metrics.edgeErrors.inc({ surface, reason: 'pipelined' })
    socket.pause()
    socket.setTimeout(REJECTED_IDLE_TIMEOUT_MS)
    response.writeHead(429, { connection: 'close', 'retry-after': '1', 'content-length': '0' })
    response.end()
    return false
  }
}

/** The first answer has the socket and counts its bytes too; those behind it hold their own until it is sent. */
const unsentBytes = (unanswered: ReadonlySet<ServerResponse>): number =>
  [...unanswered].reduce((sum, { writableLength }) => sum + writableLength, 0)

/**
 * Keeps what one connection does to itself: an exception that a listener of the server throws at once closes that connection, is
 * logged at most once a second and counted as `exception`; more unanswered requests than eight, or one behind 1 MiB that is not sent, are refused, counted as `pipelined`.
 * Rejections of handlers are Fastify's, or the caller's to catch. Call it before the server listens.
 */
export const guardServer = (server: Server, { surface, metrics, log }: ListenerDeps): void => {
  const boundary = makeErrorBoundary({ surface, metrics, log, nowMs: Date.now })
  const mayAsk = makePipelineLimit({ surface, metrics })
  server.timeout = IDLE_TIMEOUT_MS
  const emit = server.emit.bind(server) as (event: string | symbol, ...args: unknown[]) => boolean
  server.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    if (!CONNECTION_EVENTS.has(event)) return emit(event, ...args)
    const socket = socketOf(args[0])
    if (socket && REQUEST_EVENTS.has(event) && !mayAsk(socket, args[1] as ServerResponse))
      return true
    try {
      return emit(event, ...args)
    } catch (error) {
      boundary.failed('exception', error)
      socket?.destroy()
      return true
    }
  }
}

/** Connections that an address may hold however few there are in all. */
const MIN_CONNECTIONS_PER_ADDRESS = 256

/** What one address may hold of all connections of a listener: a quarter. */
const maxConnectionsPerAddress = (all: number): number =>
  Math.max(MIN_CONNECTIONS_PER_ADDRESS, all >>> 2)

/** Counts connections by address. Trusted proxies, which carry those of others, are not counted. */
const makeAddressCounter = (most: number, trusted: readonly string[]) => {
  const held = new Map<string, number>()
  return {
    /** A connection of the address came; false: it holds its share already, and this one was not counted. */
    opened: (address: string): boolean => {
      if (isAddressInRanges(address, trusted)) return true
      const bucket = rateLimitAddress(address)
      const count = held.get(bucket) ?? 0
      if (count >= most) return false
      held.set(bucket, count + 1)
      return true
    },
    /** A counted one is gone. */
    closed: (address: string): void => {
      const bucket = rateLimitAddress(address)
      const left = (held.get(bucket) ?? 0) - 1
      if (left > 0) held.set(bucket, left)
      else held.delete(bucket)
    },
  }
}

/** Closes new connections of an address that holds its share; counted as `connections`. */
export const limitConnectionsPerAddress = (
  server: Server,
  { surface, metrics }: Pick<ListenerDeps, 'surface' | 'metrics'>,
  { most, trusted }: { readonly most: number; readonly trusted: readonly string[] },
): void => {
  const shares = makeAddressCounter(maxConnectionsPerAddress(most), trusted)
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address = '' } = socket
    if (shares.opened(address)) {
      socket.once('close', () => shares.closed(address))
      return
    }
    metrics.edgeErrors.inc({ surface, reason: 'connections' })
    socket.destroy()
  })
}

const socketOf = (subject: unknown): Socket | undefined => {
  const { socket } = subject as { readonly socket?: Socket }
  return socket ?? (subject as Socket | undefined)
}

/** Answers to what the HTTP parser refuses, by the code of its error; everything else is a bad request. */
const PARSER_ERROR_RESPONSES: Readonly<Record<string, readonly [line: string, reason: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'timeout'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'too-large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Payload Too Large', 'too-large'],
}

/** Refuses what is not an HTTP request, closes its connection and counts it; a client that merely left is neither refused nor counted. */
export const rejectInvalidHttp =
  ({ surface, metrics }: Pick<ListenerDeps, 'surface' | 'metrics'>) =>
  (error: Error & { readonly code?: string }, socket: Socket): void => {
    const { code = '' } = error
    if (isDisconnectError(error) || socket.destroyed) {
      socket.destroy()
      return
    }
    const [line, reason] = Object.hasOwn(PARSER_ERROR_RESPONSES, code)
      ? (PARSER_ERROR_RESPONSES[code] ?? BAD_REQUEST)
      : BAD_REQUEST
    metrics.edgeErrors.inc({ surface, reason })
    if (socket.writable) {
      socket.write(`HTTP/1.1 ${line}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
    }
    socket.destroySoon()
  }

const BAD_REQUEST = ['400 Bad Request', 'unreadable'] as const

/** Codes of errors that a peer causes by going away while something is read from it or written to it. */
const DISCONNECT_CODES: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED'])

/** Whether an error only says that the other side of one connection left. */
export const isDisconnectError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && DISCONNECT_CODES.has(error.code)
