import {
  type AddressRules,
  classifyFailure,
  errorCode,
  type OutboundClient,
  type OutboundShortResponse,
  openOutboundClient,
  type ResolveHost,
} from '../../core/http/guarded-client.ts'
import type { AddressRulesFor } from './address-rules.ts'
import { type AttemptResult, type ErrorKind, parseRetryAfter } from './retry-policy.ts'

/** One signed request. */
export interface WebhookRequestSpec {
  /** Whose webhook it is: what it may reach. */
  readonly orgId: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Limit of the whole attempt. */
  readonly timeoutMs: number
}

/** Sends webhooks; what a receiver does wrong is an outcome, never an exception. */
export interface WebhookClient {
  post(post: WebhookRequestSpec): Promise<AttemptResult>
  close(): Promise<void>
}

/** What a poster needs. */
export interface WebhookClientDeps {
  readonly rulesOf: AddressRulesFor
  /** Default: the system's name servers. */
  readonly resolve?: ResolveHost
  /** Further certificate authorities, PEM. */
  readonly ca?: string
  readonly nowMs: () => number
}

/** A connection that breaks this soon is tried once more within the attempt. */
const CONNECT_RETRY_WINDOW_MS = 1_000
const MAX_RESPONSE_BYTES = 16_384
const MAX_STORED_RESPONSE_BYTES = 4_096

/** Makes a poster: one connection pool per origin and set of rules, no redirects, answers read to 16 KiB at most. */
export const createWebhookClient = (deps: WebhookClientDeps): WebhookClient => {
  const clients = new Map<AddressRules, OutboundClient>()
  const outboundOf = (orgId: string): OutboundClient => {
    const rules = deps.rulesOf(orgId)
    const known = clients.get(rules) ?? openOutboundClient({ ...deps, rules, plainHttp: 'listed' })
    clients.set(rules, known)
    return known
  }
  return {
    post: async (post) => {
      const outbound = outboundOf(post.orgId)
      const startedMs = performance.now()
      const first = await sendOnce(outbound, post, deps.nowMs)
      const elapsedMs = performance.now() - startedMs
      const leftMs = Math.ceil(post.timeoutMs - elapsedMs)
      const isEarly =
        first.errorKind === 'connect' && elapsedMs < CONNECT_RETRY_WINDOW_MS && leftMs > 0
      const last = isEarly
        ? await sendOnce(outbound, { ...post, timeoutMs: leftMs }, deps.nowMs)
        : first
      return { durationMs: Math.round(performance.now() - startedMs), ...last }
    },
    close: async () => {
      await Promise.all([...clients.values()].map((each) => each.close()))
    },
  }
}

type Result = Omit<AttemptResult, 'durationMs'>

const sendOnce = async (
  outbound: OutboundClient,
  { url, headers, body, timeoutMs }: WebhookRequestSpec,
  nowMs: () => number,
): Promise<Result> => {
  let answer: OutboundShortResponse
  try {
    const mostBytes = MAX_RESPONSE_BYTES
    answer = await outbound.exchange(url, { method: 'POST', headers, body, timeoutMs, mostBytes })
  } catch (error) {
    return failedResult(0, classifyFailure(error), error)
  }
  const { status, start, broken } = answer
  const word = answer.headers['webhook-delivery']
  const wish = word === 'disable' || word === 'abort-message' ? word : null
  const retryAfterMs = parseRetryAfter(firstValue(answer.headers['retry-after']), nowMs())
  if (broken !== undefined) {
    const kind = classifyFailure(broken) === 'timeout' ? 'timeout' : 'body'
    return { ...failedResult(status, kind, broken), wish, retryAfterMs }
  }
  const isGood = status >= 200 && status < 300
  return {
    status,
    errorKind: isGood ? null : 'status',
    error: isGood ? '' : `answered ${status}`,
    response: responseText(start),
    retryAfterMs,
    wish,
  }
}

const firstValue = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : header?.[0]

const responseText = (start: Buffer): string =>
  start.byteLength === 0
    ? ''
    : new TextDecoder().decode(start.subarray(0, MAX_STORED_RESPONSE_BYTES))

const failedResult = (status: number, errorKind: ErrorKind, error: unknown): Result => ({
  status,
  errorKind,
  response: '',
  retryAfterMs: null,
  wish: null,
  error: ERROR_TEXTS[errorKind] ?? `${errorKind}: ${errorCode(error)}`,
})

/** Texts that tell nothing of what is behind the guard. */
const ERROR_TEXTS: Readonly<Partial<Record<ErrorKind, string>>> = {
  blocked: 'blocked address',
  timeout: 'no answer in time',
  dns: 'the name has no address',
}
