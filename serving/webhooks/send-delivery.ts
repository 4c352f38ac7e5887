import { tryDecode } from '../../core/bus/dead-letters.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { Delivery, WebhookEndpoint } from '../../schemas/wire.ts'
import { attemptEventType, buildAttempt, buildRequest } from './attempt.ts'
import {
  attemptRecord,
  deliveryEventRecord,
  type PendingDelivery,
  terminalAttemptRecords,
} from './attempt-records.ts'
import {
  checkEligibility,
  type DeliveryEligibility,
  parseTrigger,
  UNSIGNED_OUTCOME,
} from './delivery-eligibility.ts'
import type { HealthRow } from './endpoint-health.ts'
import type { CommitPart } from './group-commit.ts'
import { dueStateChange, type PendingDeliveries } from './pending-deliveries.ts'
import { type AttemptResult, decideRetry, type RetryDecision } from './retry-policy.ts'
import { findTarget, type SenderDeps } from './sender-deps.ts'

/** Status of a message that ends without an attempt. */
export type TerminalStatus = Extract<DeliveryEligibility, 'canceled' | 'dropped'>

/** An attempt that was made. */
export interface CompletedAttempt {
  readonly kind: 'sent'
  readonly delivery: Delivery
  readonly endpoint: WebhookEndpoint
  readonly outcome: AttemptResult
  readonly decision: RetryDecision
}

/** Outcome of a message that was due. */
export type DeliveryOutcome =
  | CompletedAttempt
  | { readonly kind: 'later'; readonly delivery: Delivery }
  | { readonly kind: 'over'; readonly delivery: Delivery; readonly status: TerminalStatus }

/** Sends one request, or says why none was sent; stores nothing. */
export const sendDelivery = async (
  deps: SenderDeps,
  delivery: Delivery,
  dueAtMs: number,
): Promise<DeliveryOutcome> => {
  const { client, nowMs, metrics, scheduleMs, random, style } = deps
  const { endpoint, org } = findTarget(deps, delivery.endpoint_id)
  const startedMs = nowMs()
  const eligibility = checkEligibility(delivery, { endpoint, org }, startedMs)
  if (eligibility === 'later') return { kind: 'later', delivery }
  if (eligibility !== 'good' || !endpoint) {
    return { kind: 'over', delivery, status: eligibility === 'good' ? 'canceled' : eligibility }
  }
  metrics.webhookDueLagSeconds.set(Math.max(0, startedMs - dueAtMs) / 1_000)
  const credentials = tryDecode(() => deps.credentialsOf(endpoint, startedMs))
  if (credentials instanceof InvalidInput) {
    deps.log.error(
      { endpointId: endpoint.endpoint_id, err: credentials },
      'cannot decrypt signing secret',
    )
  }
  const outcome =
    credentials instanceof InvalidInput
      ? UNSIGNED_OUTCOME
      : await client.post(
          buildRequest(endpoint, delivery, {
            credentials: credentials.value,
            nowMs: startedMs,
            style,
          }),
        )
  const trigger = parseTrigger(delivery)
  const context = { attempt: delivery.attempt, trigger, scheduleMs, nowMs: nowMs(), random }
  return { kind: 'sent', delivery, endpoint, outcome, decision: decideRetry(outcome, context) }
}

/** Where and when an attempt is recorded. */
export interface AttemptRecordOptions {
  readonly due: Pick<PendingDeliveries, 'end'>
  readonly key: string
  readonly partition: number
  readonly nowMs: number
  /** Rows of the endpoint's health that the attempt changes. */
  readonly rows: readonly HealthRow[]
}

/** The delivery of the next attempt; null = there is none. */
const nextDelivery = ({ delivery, decision }: CompletedAttempt): Delivery | null =>
  decision.nextAtMs === null
    ? null
    : { ...delivery, attempt: delivery.attempt + 1, due_at: decision.nextAtMs }

/** The record of an attempt and what follows from it, for one commit; the delivery ends with the call. */
export const attemptCommitPart = (
  codec: Codec,
  sent: CompletedAttempt,
  { due, key, partition, nowMs, rows }: AttemptRecordOptions,
): CommitPart => {
  const { delivery, endpoint, outcome, decision } = sent
  const nextAttempt = nextDelivery(sent)
  const event = attemptEventType(delivery, decision)
  const attempt = attemptRecord(
    codec,
    buildAttempt(delivery, endpoint, { outcome, decision, nowMs }),
  )
  const changes = due.end(key, nextAttempt && codec.encode('webhook.Delivery', nextAttempt))
  return {
    records:
      event === null ? [attempt] : [attempt, deliveryEventRecord(codec, event, delivery, nowMs)],
    state: [
      ...changes,
      ...rows.map((health) => dueStateChange(partition, health.key, health.value)),
    ],
  }
}

/** The end of one endpoint's messages, reported as an operational event where there is a name for it. */
export const terminalCommitPart = (
  { codec, metrics, store, nowMs }: SenderDeps,
  pending: readonly PendingDelivery[],
  { due, status, event }: TerminalOptions,
): CommitPart => {
  const [first] = pending
  if (first === undefined) return {}
  const atMs = nowMs()
  const endpoint = store.get(first.delivery.endpoint_id)
  metrics.webhookAttempts.inc({ result: status, kind: 'none' }, pending.length)
  return {
    records: [
      ...terminalAttemptRecords(codec, pending, { endpoint, status, nowMs: atMs }),
      ...(event ? [deliveryEventRecord(codec, event, first.delivery, atMs)] : []),
    ],
    state: pending.flatMap(({ key }) => due.end(key, null)),
  }
}

/** How messages end, and what that is called in the operational events. */
export interface TerminalOptions {
  readonly due: Pick<PendingDeliveries, 'end'>
  readonly status: TerminalStatus
  readonly event?: string
}
