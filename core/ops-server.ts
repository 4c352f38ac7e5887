import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { urlHost } from './client-address.ts'
import type { Secret } from './config.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'
import { type Check, opsAnswer } from './ops.ts'

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
}

const JSON_TYPE = 'application/json'
const json = (status: number, value: object): Reply => ({
  status,
  type: JSON_TYPE,
  body: JSON.stringify(value),
})

/** Serves `/health`, `/ready`, `/metrics` and the given questions. */
export const openOps = async (options: OpsOptions): Promise<OpsServer> => {
  const { host, port, log } = options
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://ops')
    const known = request.method === 'GET' || request.method === 'HEAD'
    const { status, type, body } = !mayAsk(options, pathname, request.headers.authorization)
      ? json(401, { error: 'a bearer token is needed (OPS_TOKEN)' })
      : known
        ? await answer(options, pathname, searchParams).catch((error: unknown) =>
            refused(log, error),
          )
        : json(405, { error: 'GET only' })
    response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body)
  })
  server.maxConnections = MOST_CONNECTIONS
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

const refused = (log: Logger, error: unknown): Reply => {
  if (error instanceof OpsRefusal) return json(400, { error: error.message })
  log.error({ err: error }, 'ops question failed')
  return json(503, { error: error instanceof Error ? error.message : String(error) })
}
