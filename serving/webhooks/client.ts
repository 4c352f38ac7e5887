import {
  type AddressRules,
  codeOf,
  failureOf,
  type Outbound,
  type OutboundReply,
  openOutbound,
  type Resolve,
} from '../../core/outbound.ts'
import { type ErrorKind, type Outcome, retryAfterOf } from './schedule.ts'

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

/** A connection that breaks this soon is tried once more within the attempt. */
const EARLY_MS = 1_000
const READ_BYTES = 16_384
const KEPT_BYTES = 4_096

/** Makes a poster: one connection pool per origin, no redirects, answers read to 16 KiB at most. */
export const makePoster = (deps: PosterDeps): Poster => {
  const outbound = openOutbound({ ...deps, plainHttp: 'listed' })
  return {
    post: async (post) => {
      const startedMs = performance.now()
      const signal = AbortSignal.timeout(post.timeoutMs)
      const first = await attemptOnce(outbound, post, signal, deps.nowMs)
      const elapsedMs = performance.now() - startedMs
      const again = first.errorKind === 'connect' && elapsedMs < EARLY_MS && !signal.aborted
      const last = again ? await attemptOnce(outbound, post, signal, deps.nowMs) : first
      return { ...last, durationMs: Math.round(performance.now() - startedMs) }
    },
    close: () => outbound.close(),
  }
}

type Answer = Omit<Outcome, 'durationMs'>

const attemptOnce = async (
  outbound: Outbound,
  { url, headers, body, timeoutMs }: Post,
  signal: AbortSignal,
  nowMs: () => number,
): Promise<Answer> => {
  let response: OutboundReply
  try {
    response = await outbound.request(url, { method: 'POST', headers, body, timeoutMs, signal })
  } catch (error) {
    return failed(0, failureOf(error), error)
  }
  const { status } = response
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
    const kind = failureOf(error) === 'timeout' ? 'timeout' : 'body'
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
