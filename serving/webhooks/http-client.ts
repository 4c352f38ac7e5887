import {
  type AddressRules,
  classifyFailure,
  errorCode,
  type OutboundClient,
  type OutboundShortResponse,
  openOutboundClient,
  type ResolveHost,
} from '../../core/http/guarded-client.ts'
import { firstValue } from '../../core/http/header-value.ts'
import type { AddressRulesFor } from './address-rules.ts'
import { type AttemptResult, type ErrorKind, parseRetryAfter } from './retry-policy.ts'

/** One signed request. */
export interface WebhookRequestSpec {
  /** The organization whose address rules apply. */
  readonly orgId: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Limit of the whole attempt. */
  readonly timeoutMs: number
}

/** Sends webhooks; a receiver's error is a result, never an exception. */
export interface WebhookClient {
  post(post: WebhookRequestSpec): Promise<AttemptResult>
  close(): Promise<void>
}

/** Dependencies of the client. */
export interface WebhookClientDeps {
  readonly rulesOf: AddressRulesFor
  /** Default: the system's name servers. */
  readonly resolve?: ResolveHost
  /** Further certificate authorities, PEM. */
  readonly ca?: string
  readonly nowMs: () => number
}

/** A connection that fails this early is retried once within the attempt. */
const CONNECT_RETRY_WINDOW_MS = 1_000
const MAX_RESPONSE_BYTES = 16_384
const MAX_STORED_RESPONSE_BYTES = 4_096

/** One connection pool per origin and set of rules, no redirects, responses read to 16 KiB at most. */
export const createWebhookClient = (deps: WebhookClientDeps): WebhookClient => {
  const clients = new Map<AddressRules, OutboundClient>()
  const outboundOf = (orgId: string): OutboundClient => {
    const rules = deps.rulesOf(orgId)
    const client = clients.get(rules) ?? openOutboundClient({ ...deps, rules, plainHttp: 'listed' })
    clients.set(rules, client)
    return client
  }
  return {
    post: async (post) => {
      const outbound = outboundOf(post.orgId)
      const startedMs = performance.now()
      const attempt = { outbound, startedMs, nowMs: deps.nowMs }
      const first = await sendOnce(post, post.timeoutMs, attempt)
      if (first.errorKind !== 'connect') return first
      const elapsedMs = performance.now() - startedMs
      const leftMs = Math.ceil(post.timeoutMs - elapsedMs)
      const isEarly = elapsedMs < CONNECT_RETRY_WINDOW_MS && leftMs > 0
      return isEarly ? sendOnce(post, leftMs, attempt) : first
    },
    close: async () => {
      await Promise.all([...clients.values()].map((each) => each.close()))
    },
  }
}

/** One attempt, which may take two connections. */
interface AttemptContext {
  readonly outbound: OutboundClient
  /** Start of the attempt, by `performance.now`. */
  readonly startedMs: number
  readonly nowMs: () => number
}

const sendOnce = (
  { url, headers, body }: WebhookRequestSpec,
  timeoutMs: number,
  { outbound, startedMs, nowMs }: AttemptContext,
): Promise<AttemptResult> => {
  const durationMs = (): number => Math.round(performance.now() - startedMs)
  return outbound
    .exchange(url, { method: 'POST', headers, body, timeoutMs, mostBytes: MAX_RESPONSE_BYTES })
    .then(
      (response) => attemptResult(response, durationMs(), nowMs),
      (error) =>
        failedResult(error, {
          status: 0,
          errorKind: classifyFailure(error),
          durationMs: durationMs(),
          retryAfterMs: null,
          directive: null,
        }),
    )
}

const attemptResult = (
  { status, headers, start, broken }: OutboundShortResponse,
  durationMs: number,
  nowMs: () => number,
): AttemptResult => {
  const header = headers['webhook-delivery']
  const directive = header === 'disable' || header === 'abort-message' ? header : null
  const retryAfter = headers['retry-after']
  const retryAfterMs =
    retryAfter === undefined ? null : parseRetryAfter(firstValue(retryAfter), nowMs())
  if (broken !== undefined) {
    const errorKind = classifyFailure(broken) === 'timeout' ? 'timeout' : 'body'
    return failedResult(broken, { status, errorKind, durationMs, retryAfterMs, directive })
  }
  const isGood = status >= 200 && status < 300
  return {
    status,
    errorKind: isGood ? null : 'status',
    error: isGood ? '' : `HTTP status ${status}`,
    response: responseText(start),
    durationMs,
    retryAfterMs,
    directive,
  }
}

const responseText = (start: Buffer): string =>
  start.byteLength === 0
    ? ''
    : new TextDecoder().decode(start.subarray(0, MAX_STORED_RESPONSE_BYTES))

const failedResult = (
  error: unknown,
  failure: Omit<AttemptResult, 'error' | 'response' | 'errorKind'> & {
    readonly errorKind: ErrorKind
  },
): AttemptResult => ({
  status: failure.status,
  errorKind: failure.errorKind,
  error: ERROR_TEXTS[failure.errorKind] ?? `${failure.errorKind}: ${errorCode(error)}`,
  response: '',
  durationMs: failure.durationMs,
  retryAfterMs: failure.retryAfterMs,
  directive: failure.directive,
})

/** Texts that reveal nothing about the network behind the address check. */
const ERROR_TEXTS: Readonly<Partial<Record<ErrorKind, string>>> = {
  blocked: 'blocked address',
  timeout: 'no response within the timeout',
  dns: 'the host name does not resolve',
}
