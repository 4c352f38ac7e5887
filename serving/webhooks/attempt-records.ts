import type { ProducerRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { Attempt, Delivery, WebhookEndpoint } from '../../schemas/wire.ts'
import { buildTerminalAttempt } from './attempt.ts'
import { operationRecord } from './endpoint-store.ts'

const ATTEMPTS_TOPIC = globalTopic('webhookAttempts')

/** A delivery under its key in the due store. */
export interface PendingDelivery {
  readonly key: string
  readonly delivery: Delivery
}

/** An attempt as a record. */
export const attemptRecord = (codec: Codec, attempt: Attempt): ProducerRecord => ({
  topic: ATTEMPTS_TOPIC,
  key: attempt.endpoint_id,
  value: codec.encode('webhook.Attempt', attempt),
})

/** Ends of messages that are not tried any more, as records. */
export const terminalAttemptRecords = (
  codec: Codec,
  held: readonly PendingDelivery[],
  {
    endpoint,
    ...end
  }: {
    readonly endpoint: WebhookEndpoint | undefined
    readonly status: 'canceled' | 'dropped'
    readonly nowMs: number
  },
): readonly ProducerRecord[] =>
  held.map(({ delivery }) => attemptRecord(codec, buildTerminalAttempt(delivery, endpoint, end)))

/** An operational event that a delivery gave cause for. */
export const deliveryEventRecord = (
  codec: Codec,
  type: string,
  { org_id, endpoint_id, message_id, attempt }: Delivery,
  at: number,
): ProducerRecord => {
  const detail = { attempt: String(attempt) }
  return operationRecord(codec, { type, org_id, endpoint_id, message_id, at, detail })
}
