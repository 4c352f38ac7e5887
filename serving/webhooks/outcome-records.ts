import type { OutRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { Attempt, Delivery, WebhookEndpoint } from '../../schemas/wire.ts'
import { endOf } from './attempt.ts'
import { operationRecord } from './endpoints.ts'

const ATTEMPTS = globalTopic('webhookAttempts')

/** A delivery under its key in the due store. */
export interface Held {
  readonly key: string
  readonly delivery: Delivery
}

/** An attempt as a record. */
export const attemptRecord = (codec: Codec, attempt: Attempt): OutRecord => ({
  topic: ATTEMPTS,
  key: attempt.endpoint_id,
  value: codec.encode('webhook.Attempt', attempt),
})

/** Ends of messages that are not tried any more, as records. */
export const endRecords = (
  codec: Codec,
  held: readonly Held[],
  {
    endpoint,
    ...end
  }: {
    readonly endpoint: WebhookEndpoint | undefined
    readonly status: 'canceled' | 'dropped'
    readonly nowMs: number
  },
): readonly OutRecord[] =>
  held.map(({ delivery }) => attemptRecord(codec, endOf(delivery, endpoint, end)))

/** An operational event that a delivery gave cause for. */
export const deliveryOperation = (
  codec: Codec,
  type: string,
  { org_id, endpoint_id, message_id, attempt }: Delivery,
  at: number,
): OutRecord => {
  const detail = { attempt: String(attempt) }
  return operationRecord(codec, { type, org_id, endpoint_id, message_id, at, detail })
}
