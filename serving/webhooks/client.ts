import { promises as dns } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, type Dispatcher, request } from 'undici'
import type { AddressRules } from './address.ts'
import { type ErrorKind, type Outcome, retryAfterOf } from './schedule.ts'
import type { Resolve } from './target.ts'

/** One signed request. */
export interface Post {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Limit of the whole attempt. */
  readonly timeoutMs: number
}

/** Sends webhooks; what a receiver does wrong is an outcome, never an exception. */
export interface Poster {
  post(post: Post): Promise<Outcome>
  close(): Promise<void>
}

/** What a poster needs. */
export interface PosterDeps {
  readonly rules: AddressRules
  /** Default: the system's name servers. */
  readonly resolve?: Resolve
  /** Further certificate authorities, PEM. */
  readonly ca?: string
  readonly nowMs: () => number
}

const CONNECT_MS = 5_000
const DNS = { timeout: 2_000, tries: 2 }
/** A connection that breaks this soon is tried once more within the attempt. */
const EARLY_MS = 1_000
const READ_BYTES = 16_384
const KEPT_BYTES = 4_096
const IDLE_MS = 4_000
const CONNECTION_MS = 60_000

/** The guard refused the address; which one it was is told to nobody. */
class Blocked extends Error {
  readonly code = 'BLOCKED'
}

/** Name servers are asked without the thread pool, so that a slow one holds up nothing else. */
export const systemResolve: Resolve = async (hostname) => {
  if (hostname === 'localhost') return ['127.0.0.1', '::1']
  const resolver = new dns.Resolver(DNS)
  const answers = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ])
  const addresses = answers.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
  const [failed] = answers.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  if (addresses.length === 0) throw failed ?? new Error('the name has no address')
  return addresses
}

/** Connects to vetted addresses only: what was checked is what is connected to, so a name that changes cannot help. */
const guardedConnect = ({ rules, resolve = systemResolve, ca }: PosterDeps) => {
  const connectorFor = (mayReach: (address: string) => boolean): buildConnector.connector => {
    const lookup: LookupFunction = (hostname, options, callback) => {
      resolve(hostname)
        .then((addresses) => {
          if (addresses.length === 0 || !addresses.every(mayReach)) throw new Blocked()
          const vetted = addresses.map((address) => ({ address, family: isIP(address) }))
          const [first = { address: '', family: 0 }] = vetted
          if (options.all) callback(null, vetted)
          else callback(null, first.address, first.family)
        })
        .catch((error: NodeJS.ErrnoException) => callback(error, '', 0))
    }
    const connect = buildConnector({
      timeout: CONNECT_MS,
      allowH2: false,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
      autoSelectFamily: true,
      lookup,
      ...(ca !== undefined && { ca }),
    })
    return (options, callback) => {
      const host = options.hostname.replace(/^\[|\]$/g, '')
      if (isIP(host) !== 0 && !mayReach(host)) return callback(new Blocked(), null)
      return connect(options, callback)
    }
  }
  const secure = connectorFor(rules.isOpen)
  const plain = connectorFor(rules.isListed)
  const connect: buildConnector.connector = (options, callback) =>
    (options.protocol === 'https:' ? secure : plain)(options, callback)
  return connect
}

/** Makes a poster: one connection pool per origin, no redirects, answers read to 16 KiB at most. */
export const makePoster = (deps: PosterDeps): Poster => {
  const agent = new Agent({
    connect: guardedConnect(deps),
    pipelining: 1,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: CONNECTION_MS,
    clientTtl: CONNECTION_MS,
  })
  return {
    post: async (post) => {
      const startedMs = performance.now()
      const signal = AbortSignal.timeout(post.timeoutMs)
      const first = await attemptOnce(agent, post, signal, deps.nowMs)
      const elapsedMs = performance.now() - startedMs
      const again = first.errorKind === 'connect' && elapsedMs < EARLY_MS && !signal.aborted
      const last = again ? await attemptOnce(agent, post, signal, deps.nowMs) : first
      return { ...last, durationMs: Math.round(performance.now() - startedMs) }
    },
    close: () => agent.destroy(),
  }
}

type Answer = Omit<Outcome, 'durationMs'>

const attemptOnce = async (
  dispatcher: Dispatcher,
  { url, headers, body, timeoutMs }: Post,
  signal: AbortSignal,
  nowMs: () => number,
): Promise<Answer> => {
  let response: Dispatcher.ResponseData
  try {
    response = await request(url, {
      ...{ method: 'POST', headers, body, dispatcher, signal },
      ...{ headersTimeout: timeoutMs, bodyTimeout: timeoutMs },
    })
  } catch (error) {
    return failed(0, errorKindOf(error), error)
  }
  const { statusCode: status } = response
  const wish = response.headers['webhook-delivery']
  const known = {
    status,
    retryAfterMs: retryAfterOf(single(response.headers['retry-after']), nowMs()),
    wish: wish === 'disable' || wish === 'abort-message' ? wish : null,
  } as const
  try {
    const text = await startOf(response.body)
    const isGood = status >= 200 && status < 300
    const error = isGood ? '' : `answered ${status}`
    return { ...known, errorKind: isGood ? null : 'status', error, response: text }
  } catch (error) {
    const kind = errorKindOf(error) === 'timeout' ? 'timeout' : 'body'
    return { ...failed(status, kind, error), wish: known.wish, retryAfterMs: known.retryAfterMs }
  }
}

const single = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : header?.[0]

/** The first part of a body as text; the rest is not read and its connection closed. */
const startOf = async (body: AsyncIterable<Buffer>): Promise<string> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    bytes += chunk.byteLength
    if (bytes >= READ_BYTES) break
  }
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, KEPT_BYTES))
}

const failed = (status: number, errorKind: ErrorKind, error: unknown): Answer => ({
  ...{ status, errorKind, response: '', retryAfterMs: null, wish: null },
  error: TEXTS[errorKind] ?? `${errorKind}: ${codeOf(error)}`,
})

/** Texts that tell nothing of what is behind the guard. */
const TEXTS: Readonly<Partial<Record<ErrorKind, string>>> = {
  blocked: 'blocked address',
  timeout: 'no answer in time',
  dns: 'the name has no address',
}

const codeOf = (error: unknown): string => {
  const coded: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof coded === 'string' ? coded : 'UNKNOWN'
}

const DNS_CODES =
  /^(ENOTFOUND|EAI_AGAIN|ENODATA|ESERVFAIL|EBADNAME|ETIMEOUT|EREFUSED|EBADRESP|ENOTIMP)$/
const TLS_CODES =
  /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED|EPROTO|HOSTNAME_MISMATCH)/

const errorKindOf = (error: unknown): ErrorKind => {
  const code = codeOf(error)
  if (error instanceof Error && /^(TimeoutError|AbortError)$/.test(error.name)) return 'timeout'
  if (code === 'BLOCKED') return 'blocked'
  if (/TIMEOUT|ETIMEDOUT/.test(code) && code !== 'ETIMEOUT') return 'timeout'
  if (DNS_CODES.test(code)) return 'dns'
  return TLS_CODES.test(code) ? 'tls' : 'connect'
}
