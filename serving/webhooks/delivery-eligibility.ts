import { DAY_MS } from '../../core/time.ts'
import type { Delivery, Org, WebhookEndpoint } from '../../schemas/wire.ts'
import type { AttemptResult, Trigger } from './retry-policy.ts'

/** A first attempt that could not begin for this long is dropped. */
const MAX_FIRST_ATTEMPT_DELAY_MS = DAY_MS
/** Matcher and sender may be two processes; within this time both have read a change of an endpoint. */
const ENDPOINT_PROPAGATION_MS = 60_000
/** The secret is encrypted under another key than this process has: nothing was sent. */
export const UNSIGNED_OUTCOME: AttemptResult = {
  status: 0,
  errorKind: 'blocked',
  error: 'the signing secret cannot be read',
  response: '',
  durationMs: 0,
  retryAfterMs: null,
  directive: null,
}

/** Looks an organization up; undefined = there is none. */
export type FindOrg = (orgId: string) => Pick<Org, 'suspended'> | undefined

/**
 * One delivery per endpoint, enabling and message is pending at a time: one from before the endpoint was enabled again is
 * canceled and takes no later one with it. Manual ones have a key of their own.
 */
export const deliveryKey = (delivery: Delivery): string => {
  const { endpoint_id, message_id, trigger, queued_at, enabled_at } = delivery
  return trigger === 'manual'
    ? `${endpoint_id}/${message_id}/${trigger}/${queued_at}`
    : `${endpoint_id}/${message_id}/${enabled_at}`
}

/** The trigger of a delivery; an unknown value of another version counts as scheduled. */
export const parseTrigger = ({ trigger }: Delivery): Trigger =>
  trigger === 'manual' || trigger === 'replay' ? trigger : 'scheduled'

/** The current endpoint and organization of a delivery. */
export interface DeliveryTarget {
  readonly endpoint: WebhookEndpoint | undefined
  readonly org: Pick<Org, 'suspended'> | undefined
}

/** Whether a delivery may be sent: `canceled` and `dropped` are terminal, `later` = the endpoint may not have been read yet. */
export type DeliveryEligibility = 'good' | 'later' | 'canceled' | 'dropped'

/** Checks a delivery before its attempt. Enabling an endpoint again does not resume what was canceled. */
export const checkEligibility = (
  delivery: Delivery,
  { endpoint, org }: DeliveryTarget,
  nowMs: number,
): DeliveryEligibility => {
  const waitedMs = nowMs - delivery.queued_at
  if (!endpoint || !org || delivery.enabled_at > endpoint.enabled_at) {
    return waitedMs < ENDPOINT_PROPAGATION_MS ? 'later' : 'canceled'
  }
  if (endpoint.disabled || endpoint.enabled_at > delivery.enabled_at) return 'canceled'
  return delivery.attempt === 1 && waitedMs > MAX_FIRST_ATTEMPT_DELAY_MS ? 'dropped' : 'good'
}

/** True while the endpoint has the URL and enabling that the attempt was sent to: a response says nothing about another target. */
export const isSameEndpointTarget = (
  attempted: Pick<WebhookEndpoint, 'url' | 'enabled_at'>,
  current: Pick<WebhookEndpoint, 'url' | 'enabled_at'> | undefined,
): boolean => current?.url === attempted.url && current.enabled_at === attempted.enabled_at
