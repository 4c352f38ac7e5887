import { orPoison } from '../../core/bus/dead-letter.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { Malformed } from '../../core/errors.ts'
import type { Delivery, WebhookEndpoint } from '../../schemas/wire.ts'
import { attemptOf, eventOf, postOf } from './attempt.ts'
import { type Standing, standingOf, triggerOf, UNSIGNED } from './delivery.ts'
import type { Part } from './group-commit.ts'
import type { HealthRow } from './health-book.ts'
import { attemptRecord, deliveryOperation, endRecords, type Held } from './outcome-records.ts'
import { dueChange } from './retry-store.ts'
import { type Outcome, type Verdict, verdictOf } from './schedule.ts'
import { addresseeOf, type SenderDeps } from './sender-deps.ts'

/** How a message ends without an attempt. */
export type EndStatus = Extract<Standing, 'canceled' | 'dropped'>

/** An attempt that was made. */
export interface Sent {
  readonly kind: 'sent'
  readonly delivery: Delivery
  readonly endpoint: WebhookEndpoint
  readonly outcome: Outcome
  readonly verdict: Verdict
}

/** What came of a message that was due. */
export type Ended =
  | Sent
  | { readonly kind: 'later'; readonly delivery: Delivery }
  | { readonly kind: 'over'; readonly delivery: Delivery; readonly status: EndStatus }

/** One request, or why there is none; nothing of it is stored yet. */
export const send = async (
  deps: SenderDeps,
  delivery: Delivery,
  dueAtMs: number,
): Promise<Ended> => {
  const { poster, nowMs, metrics, scheduleMs, random, style } = deps
  const { endpoint, org } = addresseeOf(deps, delivery.endpoint_id)
  const startedMs = nowMs()
  const standing = standingOf(delivery, { endpoint, org }, startedMs)
  if (standing === 'later') return { kind: 'later', delivery }
  if (standing !== 'good' || !endpoint) {
    return { kind: 'over', delivery, status: standing === 'good' ? 'canceled' : standing }
  }
  metrics.webhookDueLagSeconds.set(Math.max(0, startedMs - dueAtMs) / 1_000)
  const opened = orPoison(() => deps.credentialsOf(endpoint, startedMs))
  if (opened instanceof Malformed) {
    deps.log.error(
      { endpointId: endpoint.endpoint_id, err: opened },
      'cannot decrypt signing secret',
    )
  }
  const outcome =
    opened instanceof Malformed
      ? UNSIGNED
      : await poster.post(
          postOf(endpoint, delivery, { credentials: opened.value, nowMs: startedMs, style }),
        )
  const trigger = triggerOf(delivery)
  const plan = { attempt: delivery.attempt, trigger, scheduleMs, nowMs: nowMs(), random }
  return { kind: 'sent', delivery, endpoint, outcome, verdict: verdictOf(outcome, plan) }
}

/** Where and when an attempt is recorded. */
export interface RecordPlace {
  readonly key: string
  readonly partition: number
  readonly nowMs: number
  /** Rows of the endpoint's health that the attempt changes. */
  readonly rows: readonly HealthRow[]
}

/** The delivery of the next attempt; null = there is none. */
const againOf = ({ delivery, verdict }: Sent): Delivery | null =>
  verdict.nextAtMs === null
    ? null
    : { ...delivery, attempt: delivery.attempt + 1, due_at: verdict.nextAtMs }

/** The record of an attempt and what follows from it, for one commit. */
export const sentPart = (
  codec: Codec,
  sent: Sent,
  { key, partition, nowMs, rows }: RecordPlace,
): Part => {
  const { delivery, endpoint, outcome, verdict } = sent
  const again = againOf(sent)
  const event = eventOf(delivery, verdict)
  const attempt = attemptRecord(codec, attemptOf(delivery, endpoint, { outcome, verdict, nowMs }))
  const row = dueChange(partition, key, again && codec.encode('webhook.Delivery', again))
  return {
    records:
      event === null ? [attempt] : [attempt, deliveryOperation(codec, event, delivery, nowMs)],
    state: [row, ...rows.map((health) => dueChange(partition, health.key, health.value))],
  }
}

/** The end of one endpoint's messages, told as an operational event where there is a name for it. */
export const endingPart = (
  { codec, metrics, store, nowMs }: SenderDeps,
  held: readonly Held[],
  { status, partition, event }: EndingPlace,
): Part => {
  const [first] = held
  if (first === undefined) return {}
  const atMs = nowMs()
  const endpoint = store.get(first.delivery.endpoint_id)
  metrics.webhookAttempts.inc({ result: status, kind: 'none' }, held.length)
  return {
    records: [
      ...endRecords(codec, held, { endpoint, status, nowMs: atMs }),
      ...(event ? [deliveryOperation(codec, event, first.delivery, atMs)] : []),
    ],
    state: held.map(({ key }) => dueChange(partition, key, null)),
  }
}

/** How messages end, and what that is called in the operational events. */
export interface EndingPlace {
  readonly status: EndStatus
  readonly partition: number
  readonly event?: string
}
