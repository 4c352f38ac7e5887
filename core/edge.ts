import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { makeBoundary } from './boundary.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'

/** Where something from outside reaches the process over HTTP. */
export type HttpSurface = 'public' | 'admin' | 'ops'

/** What a listener's boundary works with. */
export interface EdgeDeps {
  readonly surface: HttpSurface
  readonly metrics: Pick<Metrics, 'edgeErrors'>
  readonly log: Logger
}

/** Events that carry something of one connection: their first argument is the request, or the socket itself. */
const GUARDED: ReadonlySet<string | symbol> = new Set([
  'request',
  'checkContinue',
  'checkExpectation',
  'upgrade',
  'connect',
  'connection',
])

/**
 * Keeps what one connection does to itself: an exception that a listener of the server throws at once closes that connection, is
 * logged at most once a second and counted as `exception`. Rejections of handlers are Fastify's, or the caller's to catch. Call it before the server listens.
 */
export const guardServer = (server: Server, { surface, metrics, log }: EdgeDeps): void => {
  const boundary = makeBoundary({ surface, metrics, log, nowMs: Date.now })
  const emit = server.emit.bind(server) as (event: string | symbol, ...args: unknown[]) => boolean
  server.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    if (!GUARDED.has(event)) return emit(event, ...args)
    try {
      return emit(event, ...args)
    } catch (error) {
      boundary.failed('exception', error)
      socketOf(args[0])?.destroy()
      return true
    }
  }
}

const socketOf = (subject: unknown): Socket | undefined => {
  const { socket } = subject as { readonly socket?: Socket }
  return socket ?? (subject as Socket | undefined)
}

/** Answers to what the HTTP parser refuses, by the code of its error; everything else is a bad request. */
const REFUSALS: Readonly<Record<string, readonly [line: string, reason: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'timeout'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'too-large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Payload Too Large', 'too-large'],
}

/** Refuses what is no HTTP request, closes its connection and counts it; a client that merely left is neither refused nor counted. */
export const refuseUnreadable =
  ({ surface, metrics }: Pick<EdgeDeps, 'surface' | 'metrics'>) =>
  (error: Error & { readonly code?: string }, socket: Socket): void => {
    const { code = '' } = error
    if (isPeerError(error) || socket.destroyed) {
      socket.destroy()
      return
    }
    const [line, reason] = Object.hasOwn(REFUSALS, code)
      ? (REFUSALS[code] ?? UNREADABLE)
      : UNREADABLE
    metrics.edgeErrors.inc({ surface, reason })
    if (socket.writable) {
      socket.write(`HTTP/1.1 ${line}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
    }
    socket.destroySoon()
  }

const UNREADABLE = ['400 Bad Request', 'unreadable'] as const

/** Codes of errors that a peer causes by going away while something is read from it or written to it. */
const PEER_CODES: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED'])

/** Whether an error only says that the other side of one connection left. */
export const isPeerError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && PEER_CODES.has(error.code)
