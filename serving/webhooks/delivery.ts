import type { Delivery, WebhookEndpoint } from '../../schemas/wire.ts'
import type { Outcome, Trigger } from './schedule.ts'

/** A first attempt that could not begin for this long is dropped. */
const LONGEST_WAIT_MS = 86_400_000
/** Sealed under another key than this process has: nothing was sent. */
export const UNSIGNED: Outcome = {
  ...{ status: 0, errorKind: 'blocked', error: 'the signing secret cannot be read' },
  ...{ response: '', durationMs: 0, retryAfterMs: null, wish: null },
}

/** One scheduled delivery per endpoint and message; manual ones and replays stand beside it. */
export const dueKey = ({ endpoint_id, message_id, trigger, queued_at }: Delivery): string =>
  trigger === 'scheduled'
    ? `${endpoint_id}/${message_id}`
    : `${endpoint_id}/${message_id}/${trigger}/${queued_at}`

/** How a delivery came about; a word of another build counts as scheduled. */
export const triggerOf = ({ trigger }: Delivery): Trigger =>
  trigger === 'manual' || trigger === 'replay' ? trigger : 'scheduled'

/** Why a delivery must not be made any more; null = it is good. Another enabling does not resume what was canceled. */
export const endStatus = (
  delivery: Delivery,
  endpoint: WebhookEndpoint | undefined,
  nowMs: number,
): 'canceled' | 'dropped' | null => {
  if (!endpoint || endpoint.disabled || endpoint.enabled_at !== delivery.enabled_at) {
    return 'canceled'
  }
  const waitedMs = nowMs - delivery.queued_at
  return delivery.attempt === 1 && waitedMs > LONGEST_WAIT_MS ? 'dropped' : null
}
