import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import { listenKind, urlHost } from '../config/client-address.ts'
import type { Secret } from '../config/secret.ts'
import { guardServer, refuseUnreadable } from './guard-server.ts'
import { type Check, opsAnswer } from './health.ts'
import type { Logger } from './logger.ts'
import type { Metrics } from './metrics.ts'

/** A further question that operators ask: answers with what is sent as JSON. Throws `OpsRefusal` for a question it cannot take. */
export type OpsQuestion = (query: URLSearchParams) => Promise<object>

/** A question that cannot be answered as it is put. */
export class OpsRefusal extends Error {}

/** What a role tells its operators, on a port of its own. */
export interface OpsOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** Bearer token that everything but `/health` and `/ready` asks for; absent or empty = none. */
  readonly token?: Secret
  readonly metrics: Metrics
  /** Read at every `/ready`, so that parts may add theirs later. */
  readonly checks: readonly Check[]
  /** Paths beside `/health`, `/ready` and `/metrics`, e.g. `/status`. */
  readonly questions: Readonly<Record<string, OpsQuestion>>
  readonly log: Logger
  /** Takes secrets out of an answer. */
  readonly scrub?: (text: string) => string
}

/** The running ops server. */
export interface OpsServer {
  readonly url: string
  stop(): Promise<void>
}

interface Reply {
  readonly status: number
  readonly type: string
  readonly body: string
  readonly allow?: { readonly allow: string }
}

/** Times in which a request must be there, milliseconds, and the most that its headers may take. */
const LIMITS = { requestTimeout: 10_000, headersTimeout: 10_000, maxHeaderSize: 16_384 } as const

const JSON_TYPE = 'application/json'
const json = (status: number, value: object): Reply => ({
  status,
  type: JSON_TYPE,
  body: JSON.stringify(value),
})

/** Serves `/health`, `/ready`, `/metrics` and the given questions. */
export const openOps = async (options: OpsOptions): Promise<OpsServer> => {
  const { host, port, log, scrub = (text: string) => text } = options
  const edge = { surface: 'ops', metrics: options.metrics, log } as const
  const server = createServer(LIMITS, (request, response) => {
    replyTo(options, request)
      .catch((error: unknown) => refused(options, error))
      .then(({ status, type, body, allow }) => {
        const headers = { 'content-type': type, 'cache-control': 'no-store', ...allow }
        response.writeHead(status, headers).end(scrub(body))
      })
      .catch((error: unknown) => {
        log.error({ err: error }, 'failed to send response')
        response.destroy()
      })
  })
  server.maxConnections = MOST_CONNECTIONS
  guardServer(server, edge)
  server.on('clientError', refuseUnreadable(edge))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const address = server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port
  return {
    url: `http://${urlHost(host)}:${bound}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Origin form, or absolute form, whose host does not matter here. Source: RFC 9112 3.2. */
const TARGET = /^(?:https?:\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?/i

const replyTo = async (
  options: OpsOptions,
  { url = '', method, headers }: IncomingMessage,
): Promise<Reply> => {
  if (isOfWebPage(options, headers)) {
    return json(403, { error: 'operations are not for web pages' })
  }
  if (method !== 'GET' && method !== 'HEAD') {
    return { ...json(405, { error: 'GET only' }), allow: { allow: 'GET, HEAD' } }
  }
  const [, path = '', query = ''] = TARGET.exec(url) ?? []
  if (!mayAsk(options, path, headers.authorization)) {
    return json(401, { error: 'a bearer token is needed (OPS_TOKEN)' })
  }
  return answer(options, path, new URLSearchParams(query))
}

/**
 * Whether a page in a browser asks: one of another origin, or one whose name was made to mean this machine. On loopback only this
 * machine's own names are served. Source: W3C Fetch Metadata; DNS rebinding.
 */
const isOfWebPage = (
  { host }: Pick<OpsOptions, 'host'>,
  { origin, host: asked = '', 'sec-fetch-site': site = 'none' }: IncomingMessage['headers'],
): boolean => {
  if (origin !== undefined || (site !== 'none' && site !== 'same-origin')) return true
  if (asked === '' || listenKind(host) !== 'loopback') return false
  return listenKind(asked.replace(/:\d+$/, '')) !== 'loopback'
}

const MOST_CONNECTIONS = 256
const PROBES: ReadonlySet<string> = new Set(['/health', '/ready'])

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Probes are open; the rest wants the token, where there is one. */
const mayAsk = (
  { token, metrics }: OpsOptions,
  path: string,
  authorization: string | undefined,
): boolean => {
  const expected = token?.reveal() ?? ''
  if (expected === '' || PROBES.has(path)) return true
  const shown = /^bearer +(.+)$/i.exec(authorization ?? '')?.[1]
  if (shown !== undefined && timingSafeEqual(digest(shown), digest(expected))) return true
  const reason = shown === undefined ? 'missing_credential' : 'invalid_token'
  metrics.authFailures.inc({ surface: 'ops', reason })
  return false
}

const answer = async (
  { metrics, checks, questions }: OpsOptions,
  path: string,
  query: URLSearchParams,
): Promise<Reply> => {
  const known = await opsAnswer(path, metrics, checks)
  if (known !== undefined) return known
  const question = Object.hasOwn(questions, path) ? questions[path] : undefined
  return question === undefined
    ? json(404, {
        error: `no such path; there are /health, /ready, /metrics, ${Object.keys(questions).join(', ')}`,
      })
    : json(200, await question(query))
}

const refused = ({ log, metrics }: OpsOptions, error: unknown): Reply => {
  if (error instanceof OpsRefusal) return json(400, { error: error.message })
  metrics.edgeErrors.inc({ surface: 'ops', reason: 'exception' })
  log.error({ err: error }, 'ops request failed')
  return json(503, { error: error instanceof Error ? error.message : String(error) })
}
