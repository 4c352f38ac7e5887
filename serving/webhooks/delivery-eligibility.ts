import { DAY_MS } from '../../core/time.ts'
import type { Delivery, Org, WebhookEndpoint } from '../../schemas/wire.ts'
import type { AttemptResult, Trigger } from './retry-policy.ts'

/** A first attempt that could not begin for this long is dropped. */
const MAX_FIRST_ATTEMPT_DELAY_MS = DAY_MS
/** Matcher and sender may be two processes; within this time both know what an endpoint is. */
const ENDPOINT_PROPAGATION_MS = 60_000
/** Sealed under another key than this process has: nothing was sent. */
export const UNSIGNED_OUTCOME: AttemptResult = {
  status: 0,
  errorKind: 'blocked',
  error: 'the signing secret cannot be read',
  response: '',
  durationMs: 0,
  retryAfterMs: null,
  wish: null,
}

/** Looks an organization up; undefined = there is none. */
export type FindOrg = (orgId: string) => Pick<Org, 'suspended'> | undefined

/** One delivery per endpoint and message waits at a time; those made by hand stand beside it. */
export const deliveryKey = ({ endpoint_id, message_id, trigger, queued_at }: Delivery): string =>
  trigger === 'manual'
    ? `${endpoint_id}/${message_id}/${trigger}/${queued_at}`
    : `${endpoint_id}/${message_id}`

/** How a delivery came about; a word of another build counts as scheduled. */
export const parseTrigger = ({ trigger }: Delivery): Trigger =>
  trigger === 'manual' || trigger === 'replay' ? trigger : 'scheduled'

/** What a sender knows of a delivery's addressee now. */
export interface DeliveryTarget {
  readonly endpoint: WebhookEndpoint | undefined
  readonly org: Pick<Org, 'suspended'> | undefined
}

/** How a delivery stands: `canceled` and `dropped` are its end, `later` is for a sender that may not know it all yet. */
export type DeliveryEligibility = 'good' | 'later' | 'canceled' | 'dropped'

/** Whether a delivery may be made. Another enabling does not resume what was canceled. */
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

/** True while an attempt's endpoint is what it was when the attempt began: its answer says nothing of another target. */
export const isSameEndpointTarget = (
  attempted: Pick<WebhookEndpoint, 'url' | 'enabled_at'>,
  known: Pick<WebhookEndpoint, 'url' | 'enabled_at'> | undefined,
): boolean => known?.url === attempted.url && known.enabled_at === attempted.enabled_at
