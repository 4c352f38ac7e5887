import { timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Secret } from '../config/secret.ts'
import { bindScope, toUrlHost } from '../http/network-address.ts'
import { sha256 } from '../sha256.ts'
import { guardServer, rejectInvalidHttp } from './http-server-guard.ts'
import type { Logger } from './logger.ts'
import type { Metrics } from './metrics.ts'
import { handleProbe, type ReadinessCheck } from './probes.ts'

/**
 * A further request of operators: answers with what is sent as JSON. Throws `InvalidOpsRequest` for invalid parameters. The signal aborts
 * when the server stops: the client has its answer by then, and what the handler gives or throws afterwards is dropped.
 */
export type OpsHandler = (query: URLSearchParams, signal: AbortSignal) => Promise<object>

/** A request with invalid parameters. */
export class InvalidOpsRequest extends Error {}

/** What a role tells its operators, on a port of its own. */
export interface OpsOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** Bearer token that everything but `/health` and `/ready` asks for; absent or empty = none. */
  readonly token?: Secret
  readonly metrics: Metrics
  /** Read at every `/ready`, so that parts may add theirs later. */
  readonly checks: readonly ReadinessCheck[]
  /** Paths beside `/health`, `/ready` and `/metrics`, e.g. `/status`. */
  readonly handlers: Readonly<Record<string, OpsHandler>>
  readonly log: Logger
  /** Takes secrets out of an answer. */
  readonly scrub?: (text: string) => string
}

/** The running ops server. */
export interface OpsServer {
  readonly url: string
  stop(): Promise<void>
}

interface OpsResponse {
  readonly status: number
  readonly type: string
  readonly body: string
  readonly allow?: { readonly allow: string }
}

/** Times in which a request must be there, milliseconds, and the most that its headers may take. */
const SERVER_LIMITS = {
  requestTimeout: 10_000,
  headersTimeout: 10_000,
  maxHeaderSize: 16_384,
} as const

const JSON_TYPE = 'application/json'
const jsonResponse = (status: number, value: object): OpsResponse => ({
  status,
  type: JSON_TYPE,
  body: JSON.stringify(value),
})

/** Serves `/health`, `/ready`, `/metrics` and the given paths. */
export const openOpsServer = async (options: OpsOptions): Promise<OpsServer> => {
  const { host, port, log, scrub = (text: string) => text } = options
  const edge = { surface: 'ops', metrics: options.metrics, log } as const
  const waiting = createWaitingRequests()
  const server = createServer(SERVER_LIMITS, (request, response) => {
    waiting
      .untilStopped(response, handleRequest(options, request, waiting.signal))
      .catch((error: unknown) => toErrorResponse(options, error))
      .then(({ status, type, body, allow }) => {
        const headers = { 'content-type': type, 'cache-control': 'no-store', ...allow }
        response.writeHead(status, headers).end(scrub(body))
      })
      .catch((error: unknown) => {
        log.error({ err: error }, 'failed to send response')
        response.destroy()
      })
  })
  server.maxConnections = MAX_CONNECTIONS
  guardServer(server, edge)
  server.on('clientError', rejectInvalidHttp(edge))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const address = server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port
  return {
    url: `http://${toUrlHost(host)}:${bound}`,
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      await waiting.stop()
      server.closeAllConnections()
      await closed
    },
  }
}

/** The answer to what still waits when the server stops. */
const STOPPING_RESPONSE = jsonResponse(503, {
  error: 'the process is stopping',
  code: 'SHUTTING_DOWN',
})

/** Requests whose answer is not there yet; a stop answers them all. */
const createWaitingRequests = () => {
  const controller = new AbortController()
  const pending = new Map<ServerResponse, (answer: OpsResponse) => void>()
  return {
    signal: controller.signal,
    untilStopped: (response: ServerResponse, work: Promise<OpsResponse>): Promise<OpsResponse> =>
      new Promise<OpsResponse>((resolve, reject) => {
        if (controller.signal.aborted) resolve(STOPPING_RESPONSE)
        else pending.set(response, resolve)
        work.then(resolve, reject)
      }).finally(() => pending.delete(response)),
    /** Resolves when every answer is sent, or its client gone. */
    stop: async (): Promise<void> => {
      controller.abort()
      const answers = [...pending].map(([response, answer]) => {
        answer(STOPPING_RESPONSE)
        return response.closed ? undefined : once(response, 'close')
      })
      await Promise.all(answers)
    },
  }
}

/** Origin form, or absolute form, whose host does not matter here. Source: RFC 9112 3.2. */
const REQUEST_TARGET = /^(?:https?:\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?/i

const handleRequest = async (
  options: OpsOptions,
  { url = '', method, headers }: IncomingMessage,
  signal: AbortSignal,
): Promise<OpsResponse> => {
  if (isFromWebPage(options, headers)) {
    return jsonResponse(403, { error: 'operations are not for web pages' })
  }
  if (method !== 'GET' && method !== 'HEAD') {
    return { ...jsonResponse(405, { error: 'GET only' }), allow: { allow: 'GET, HEAD' } }
  }
  const [, path = '', query = ''] = REQUEST_TARGET.exec(url) ?? []
  if (!isAuthorized(options, path, headers.authorization)) {
    return jsonResponse(401, { error: 'a bearer token is needed (OPS_TOKEN)' })
  }
  return dispatchRequest(options, path, { query: new URLSearchParams(query), signal })
}

/**
 * Whether a page in a browser asks: one of another origin, or one whose name was made to mean this machine. On loopback only this
 * machine's own names are served. Source: W3C Fetch Metadata; DNS rebinding.
 */
const isFromWebPage = (
  { host }: Pick<OpsOptions, 'host'>,
  { origin, host: asked = '', 'sec-fetch-site': site = 'none' }: IncomingMessage['headers'],
): boolean => {
  if (origin !== undefined || (site !== 'none' && site !== 'same-origin')) return true
  if (asked === '' || bindScope(host) !== 'loopback') return false
  return bindScope(asked.replace(/:\d+$/, '')) !== 'loopback'
}

const MAX_CONNECTIONS = 256
const PROBE_PATHS: ReadonlySet<string> = new Set(['/health', '/ready'])

/** Probes are open; the rest wants the token, where there is one. */
const isAuthorized = (
  { token, metrics }: OpsOptions,
  path: string,
  authorization: string | undefined,
): boolean => {
  const expected = token?.reveal() ?? ''
  if (expected === '' || PROBE_PATHS.has(path)) return true
  const shown = /^bearer +(.+)$/i.exec(authorization ?? '')?.[1]
  if (shown !== undefined && timingSafeEqual(sha256(shown), sha256(expected))) return true
  const reason = shown === undefined ? 'missing_credential' : 'invalid_token'
  metrics.authFailures.inc({ surface: 'ops', reason })
  return false
}

const dispatchRequest = async (
  { metrics, checks, handlers }: OpsOptions,
  path: string,
  { query, signal }: { readonly query: URLSearchParams; readonly signal: AbortSignal },
): Promise<OpsResponse> => {
  const known = await handleProbe(path, metrics, checks)
  if (known !== undefined) return known
  const handler = Object.hasOwn(handlers, path) ? handlers[path] : undefined
  return handler === undefined
    ? jsonResponse(404, {
        error: `no such path; there are /health, /ready, /metrics, ${Object.keys(handlers).join(', ')}`,
      })
    : jsonResponse(200, await handler(query, signal))
}

const toErrorResponse = ({ log, metrics }: OpsOptions, error: unknown): OpsResponse => {
  if (error instanceof InvalidOpsRequest) return jsonResponse(400, { error: error.message })
  metrics.edgeErrors.inc({ surface: 'ops', reason: 'exception' })
  log.error({ err: error }, 'ops request failed')
  return jsonResponse(503, { error: error instanceof Error ? error.message : String(error) })
}
