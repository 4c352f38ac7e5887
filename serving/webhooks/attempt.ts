import type { Attempt, Delivery, Health, WebhookEndpoint } from '../../schemas/wire.ts'
import { sortableId } from './crockford.ts'
import type { EndpointCredentials } from './endpoint-credentials.ts'
import type { WebhookRequestSpec } from './http-client.ts'
import type { AttemptResult, RetryDecision } from './retry-policy.ts'
import { signatureHeaders } from './signature.ts'

/** Signature headers and timeout of the installation. */
export interface RequestOptions {
  readonly legacy: boolean
  readonly svix: boolean
  readonly timeoutMs: number
}

const USER_AGENT = 'Sluice-Webhooks/1'

/** The failed attempt after which an operational event is sent. */
const FAILING_EVENT_ATTEMPT = 4

/** Clock and guards of automatic disabling. */
const DISABLE_AFTER_MS = 432_000_000
const MIN_FAILURES = 10
const MIN_FAILURE_SPREAD_MS = 43_200_000

/** The request of one attempt; the body is what was stored, byte for byte. */
export const buildRequest = (
  endpoint: WebhookEndpoint,
  { message_id: id, body }: Pick<Delivery, 'message_id' | 'body'>,
  { credentials: { user, secrets }, nowMs, style }: RequestContext,
): WebhookRequestSpec => {
  const { legacy, svix, timeoutMs } = style
  const headers: Record<string, string> = { ...endpoint.headers }
  headers['content-type'] = 'application/json'
  headers['user-agent'] = USER_AGENT
  if (user !== '') headers.authorization = `Basic ${Buffer.from(user).toString('base64')}`
  signatureHeaders({ id, body, secrets, nowMs, legacy, svix }, headers)
  return { orgId: endpoint.org_id, url: endpoint.url, body, timeoutMs, headers }
}

/** What a request needs besides the endpoint and the message. */
export interface RequestContext {
  readonly credentials: EndpointCredentials
  readonly nowMs: number
  readonly style: RequestOptions
}

/** An attempt as it is recorded. */
export const buildAttempt = (
  delivery: Delivery,
  endpoint: Pick<WebhookEndpoint, 'url'> | undefined,
  { outcome, decision, nowMs }: { outcome: AttemptResult; decision: RetryDecision; nowMs: number },
): Attempt => ({
  id: attemptId(nowMs),
  message_id: delivery.message_id,
  endpoint_id: delivery.endpoint_id,
  org_id: delivery.org_id,
  channel: delivery.channel,
  trigger: delivery.trigger,
  url: endpoint?.url ?? '',
  at: nowMs,
  status: decision.status,
  response_status: outcome.status,
  response: outcome.response,
  duration_ms: outcome.durationMs,
  error_kind: outcome.errorKind ?? '',
  error: outcome.error,
  attempt: delivery.attempt,
  next_at: decision.nextAtMs ?? 0,
})

/** The terminal record of a message that is not retried: `canceled` with its endpoint, `dropped` by a limit. */
export const buildTerminalAttempt = (
  delivery: Delivery,
  endpoint: Pick<WebhookEndpoint, 'url'> | undefined,
  { status, nowMs }: { readonly status: 'canceled' | 'dropped'; readonly nowMs: number },
): Attempt => ({
  id: attemptId(nowMs),
  message_id: delivery.message_id,
  endpoint_id: delivery.endpoint_id,
  org_id: delivery.org_id,
  channel: delivery.channel,
  trigger: delivery.trigger,
  url: endpoint?.url ?? '',
  at: nowMs,
  status,
  response_status: 0,
  response: '',
  duration_ms: 0,
  error_kind: '',
  error: '',
  attempt: delivery.attempt - 1,
  next_at: 0,
})

/** Identifies a row and needs no secrecy: `Math.random` is enough. */
const attemptId = (nowMs: number): string => `atmpt_${sortableId(nowMs, Math.random)}`

/** Operational event of an attempt; null = none is sent. */
export const attemptEventType = ({ attempt }: Delivery, decision: RetryDecision): string | null => {
  if (decision.status === 'success') {
    return attempt > FAILING_EVENT_ATTEMPT ? 'message.attempt.recovered' : null
  }
  if (decision.exhausted) return 'message.attempt.exhausted'
  return decision.status === 'pending' && attempt === FAILING_EVENT_ATTEMPT
    ? 'message.attempt.failing'
    : null
}

const HEALTHY: Health = { first_failed_at: 0, last_failed_at: 0, failed_attempts: 0 }

/** Consecutive failures of an endpoint; a success resets them. The same object when nothing changes. */
export const updateHealth = (
  health: Health = HEALTHY,
  decision: RetryDecision,
  nowMs: number,
): Health => {
  if (decision.status === 'success') return health.failed_attempts === 0 ? health : HEALTHY
  return {
    first_failed_at: health.first_failed_at || nowMs,
    last_failed_at: nowMs,
    failed_attempts: health.failed_attempts + 1,
  }
}

/** What an attempt changes in its endpoint: disable it, start or stop its failure clock, or nothing. */
export type EndpointAction =
  | { readonly kind: 'disable'; readonly reason: 'gone' | 'receiver' | 'failing' }
  | { readonly kind: 'start-clock' }
  | { readonly kind: 'stop-clock' }
  | { readonly kind: 'none' }

/** Action on the endpoint after an attempt. Pure. */
export const decideEndpointAction = (
  endpoint: Pick<WebhookEndpoint, 'first_failure_at'>,
  decision: RetryDecision,
  { health, nowMs }: { readonly health: Health; readonly nowMs: number },
): EndpointAction => {
  if (decision.disable !== null) return { kind: 'disable', reason: decision.disable }
  const sinceMs = endpoint.first_failure_at
  if (decision.status === 'success') return { kind: sinceMs > 0 ? 'stop-clock' : 'none' }
  if (!decision.exhausted) return { kind: 'none' }
  if (sinceMs === 0) return { kind: 'start-clock' }
  const isSure =
    health.failed_attempts >= MIN_FAILURES &&
    health.last_failed_at - health.first_failed_at >= MIN_FAILURE_SPREAD_MS
  return nowMs - sinceMs >= DISABLE_AFTER_MS && isSure
    ? { kind: 'disable', reason: 'failing' }
    : { kind: 'none' }
}
