import { ulid } from 'ulid'
import type { Codec } from '../../core/codec/contract.ts'
import { Fault } from '../../core/errors.ts'
import { DAY_MS, toIsoTime } from '../../core/time.ts'
import type { RecoverWebhook, ReplayWebhook, WebhookTaskBody } from '../../schemas/api/webhook.ts'
import { EXAMPLE_TIME_MS, WEBHOOK_EXAMPLES } from '../../schemas/api/webhook-payloads.ts'
import { globalTopic } from '../../schemas/topics.ts'
import { channelChain, channelKind, type WebhookChannel } from '../../schemas/webhooks.ts'
import type { WebhookEndpoint, WebhookTask } from '../../schemas/wire.ts'
import type { EndpointStore } from './endpoint-store.ts'
import { webhookBody } from './message.ts'

/** Dependencies of tasks and samples. */
export interface TaskApiDeps {
  readonly store: EndpointStore
  readonly codec: Codec
  readonly nowMs: () => number
}

/** How far back tasks reach: attempts and messages are kept longer. */
const MAX_AGE_MS = 14 * DAY_MS
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/

/** A moment of a request, epoch milliseconds. Throws `Fault` INVALID_TIMESTAMP. */
export const readMoment = (moment: string | number, parameter: string): number => {
  if (typeof moment === 'number') return moment
  const ms = DATE_TIME.test(moment) ? Date.parse(moment) : Number.NaN
  if (!Number.isNaN(ms)) return ms
  throw new Fault('INVALID_TIMESTAMP', `${parameter} must be ISO 8601 with its zone`, {
    parameter,
    value: moment,
  })
}

const disabledFault = (): Fault =>
  new Fault('CONFLICT', 'The endpoint is disabled', { reason: 'disabled' })

/** Starts a recovery or a replay; one of an endpoint at a time. Throws `Fault` for a window or an endpoint that does not do. */
export const startTask = async (
  { store, nowMs }: TaskApiDeps,
  endpointId: string,
  request:
    | { readonly kind: 'recover'; readonly body: RecoverWebhook }
    | { readonly kind: 'replay'; readonly body: ReplayWebhook },
): Promise<WebhookTask> => {
  const atMs = nowMs()
  const { kind, body } = request
  const since = readMoment(body.since, 'since')
  const until = Math.min(atMs, body.until === undefined ? atMs : readMoment(body.until, 'until'))
  if (since < atMs - MAX_AGE_MS) {
    throw new Fault('INVALID_PARAMETER', 'since is more than 14 days ago', { parameter: 'since' })
  }
  if (since >= until) {
    throw new Fault('INVALID_PARAMETER', 'since must be before until', { parameter: 'since' })
  }
  const task_id = `task_${ulid(atMs)}`
  const channels = request.kind === 'replay' ? (request.body.channels ?? null) : null
  const initial = { queued: 0, looked_at: 0, cursor: '', error: '', status: 'running' }
  await store.changeTask(
    { endpointId, taskId: task_id },
    () => {
      const endpoint = store.get(endpointId)
      if (!endpoint || endpoint.disabled) throw disabledFault()
      const running = store.tasks.ofEndpoint(endpointId).find(({ status }) => status === 'running')
      if (running) {
        throw new Fault('CONFLICT', 'Another task of the endpoint is running', {
          reason: 'running',
          taskId: running.task_id,
        })
      }
      const { endpoint_id, org_id } = endpoint
      const window = { since, until, channels, created_at: atMs, updated_at: atMs }
      return { task: { ...initial, ...window, task_id, endpoint_id, org_id, kind } }
    },
    store.get(endpointId)?.org_id,
  )
  return requireTask(store, endpointId, task_id)
}

/** A task of an endpoint. Throws `Fault` NOT_FOUND. */
export const requireTask = (
  { tasks }: Pick<EndpointStore, 'tasks'>,
  endpointId: string,
  taskId: string,
): WebhookTask => {
  const task = tasks.get(endpointId, taskId)
  if (!task) throw new Fault('NOT_FOUND', 'No such task')
  return task
}

/** A task as it is answered. */
export const taskBody = (task: WebhookTask): WebhookTaskBody => ({
  id: task.task_id,
  endpointId: task.endpoint_id,
  kind: task.kind,
  status: task.status,
  since: toIsoTime(task.since),
  until: toIsoTime(task.until),
  queued: task.queued,
  lookedAt: task.looked_at,
  error: task.error || null,
  createdAt: toIsoTime(task.created_at),
  updatedAt: toIsoTime(task.updated_at),
})

/** The body of a sample: signed and sent like any message, and never mistaken for one by its id. */
const exampleBody = (id: string, channel: WebhookChannel): string =>
  webhookBody(
    {
      id,
      channel,
      timeMs: EXAMPLE_TIME_MS,
      data: WEBHOOK_EXAMPLES[channelKind(channel)],
      chain: channelChain(channel),
      slot: 1,
      tx: '',
      path: '',
      commitment: 'finalized',
    },
    { lane: 0, seq: 0 },
    'full',
  )

/** Queues a sample for an endpoint and gives its id. A failure is not repeated. Throws `Fault` where the endpoint is off. */
export const sendExample = async (
  { store, codec, nowMs }: TaskApiDeps,
  { endpoint_id: endpointId }: Pick<WebhookEndpoint, 'endpoint_id'>,
  channel: WebhookChannel,
): Promise<string> => {
  const message_id = `msg_test_${ulid(nowMs())}`
  await store.publish(() => {
    const endpoint = store.get(endpointId)
    if (!endpoint || endpoint.disabled) throw disabledFault()
    const { endpoint_id, org_id, enabled_at } = endpoint
    const atMs = nowMs()
    const value = codec.encode('webhook.Delivery', {
      message_id,
      endpoint_id,
      org_id,
      channel,
      body: exampleBody(message_id, channel),
      enabled_at,
      event_time: EXAMPLE_TIME_MS,
      queued_at: atMs,
      due_at: atMs,
      trigger: 'manual',
      attempt: 1,
    })
    return [{ topic: globalTopic('webhookOutbox'), key: endpoint_id, value }]
  }, store.get(endpointId)?.org_id)
  return message_id
}
