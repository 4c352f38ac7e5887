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
  let response: OutboundShortResponse
  try {
    const mostBytes = MAX_RESPONSE_BYTES
    response = await outbound.exchange(url, { method: 'POST', headers, body, timeoutMs, mostBytes })
  } catch (error) {
    return failedResult(0, classifyFailure(error), error)
  }
  const { status, start, broken } = response
  const header = response.headers['webhook-delivery']
  const directive = header === 'disable' || header === 'abort-message' ? header : null
  const retryAfterMs = parseRetryAfter(firstValue(response.headers['retry-after']), nowMs())
  if (broken !== undefined) {
    const kind = classifyFailure(broken) === 'timeout' ? 'timeout' : 'body'
    return { ...failedResult(status, kind, broken), directive, retryAfterMs }
  }
  const isGood = status >= 200 && status < 300
  return {
    status,
    errorKind: isGood ? null : 'status',
    error: isGood ? '' : `HTTP status ${status}`,
    response: responseText(start),
    retryAfterMs,
    directive,
  }
}

const responseText = (start: Buffer): string =>
  start.byteLength === 0
    ? ''
    : new TextDecoder().decode(start.subarray(0, MAX_STORED_RESPONSE_BYTES))

const failedResult = (status: number, errorKind: ErrorKind, error: unknown): Result => ({
  status,
  errorKind,
  response: '',
  retryAfterMs: null,
  directive: null,
  error: ERROR_TEXTS[errorKind] ?? `${errorKind}: ${errorCode(error)}`,
})

/** Texts that reveal nothing about the network behind the address check. */
const ERROR_TEXTS: Readonly<Partial<Record<ErrorKind, string>>> = {
  blocked: 'blocked address',
  timeout: 'no response within the timeout',
  dns: 'the host name does not resolve',
}
