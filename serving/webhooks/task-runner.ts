import type { Bus, Lane, ProducerRecord, RunningTask } from '../../core/bus/contract.ts'
import { deadLetterSpec } from '../../core/bus/topic-specs.ts'
import type { Query, Warehouse } from '../../core/clickhouse/client.ts'
import type { Codec } from '../../core/codec/contract.ts'
import type { Config } from '../../core/config/settings.ts'
import { Fault } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import { PLANS } from '../../schemas/plans.ts'
import { deadLetterTopic, globalTopic } from '../../schemas/topics.ts'
import type { WebhookEndpoint, WebhookTask } from '../../schemas/wire.ts'
import {
  failedMessagesQuery,
  type StoredMessage,
  unattemptedMessagesQuery,
} from '../queries/webhook-tasks.ts'
import { endpointChannels } from './endpoint-index.ts'
import type { EndpointStore } from './endpoint-store.ts'
import { createFilterCache } from './filter.ts'
import { matchStoredMessage } from './match-stored.ts'
import { TASKS_TOPIC, type TaskStatus } from './task-store.ts'
import { TASKS_GROUP } from './topics.ts'

/** What recoveries and replays work with. */
export interface TaskRunnerDeps {
  readonly bus: Bus
  readonly codec: Codec
  readonly store: EndpointStore
  readonly warehouse: Pick<Warehouse, 'query'>
  readonly config: Pick<Config, 'retention'>
  readonly log: Logger
  readonly nowMs: () => number
}

/** Messages that one task queues: a receiver that was away gets them beside what is new. */
const MAX_PER_SECOND = 100
/** Messages that one task queues at all: the queue of an endpoint holds no more. */
const MAX_QUEUED = 100_000
/** Tasks that continue at the same time; others wait for them. */
const MAX_RUNNING = 8
const PAGE_ROWS = 1_000
const TICK_MS = 1_000
/** The log of attempts is this far behind at most while all is well. */
const LOG_SETTLE_MS = 3_000

/** Messages that were read and are not queued yet, behind a task's cursor. */
interface Page {
  readonly cursor: string
  readonly messages: readonly StoredMessage[]
}

/** Runs the tasks of the installation, in the one process that has the lane. Killed, it continues at the last step. */
export const startTaskRunner = async (deps: TaskRunnerDeps): Promise<RunningTask> => {
  await deps.bus.createTopics([deadLetterSpec(deadLetterTopic(TASKS_GROUP), deps.config.retention)])
  return deps.bus.subscribe({
    group: TASKS_GROUP,
    topics: [TASKS_TOPIC],
    run: (lane) => runTasks(deps, lane),
  })
}

const runTasks = async (deps: TaskRunnerDeps, lane: Lane): Promise<void> => {
  const { store, nowMs, log } = deps
  const pages = new Map<string, Page>()
  const filterOf = createFilterCache()
  let nextAtMs = 0
  while (!lane.signal.aborted) {
    const taken = await lane.take({ maxRecords: 500, maxWaitMs: TICK_MS })
    const last = taken.at(-1)
    if (last) {
      const { topic, partition, offset } = last
      const next = [{ topic, partition, offset: offset + 1 }]
      await lane.writer.commit({ records: [], offsets: { group: TASKS_GROUP, next } })
    }
    if (nowMs() < nextAtMs) continue
    nextAtMs = nowMs() + TICK_MS
    for (const task of store.tasks.running().slice(0, MAX_RUNNING)) {
      if (lane.signal.aborted) return
      await stepTask({ ...deps, pages, filterOf }, task).catch((err: unknown) =>
        log.warn({ err, taskId: task.task_id }, 'webhook task step failed, retrying'),
      )
    }
  }
}

interface StepDeps extends TaskRunnerDeps {
  readonly pages: Map<string, Page>
  readonly filterOf: ReturnType<typeof createFilterCache>
}

/** Queues the next messages of a task; it ends at an empty page. */
const stepTask = async (deps: StepDeps, task: WebhookTask): Promise<void> => {
  const { store, nowMs, pages } = deps
  const endpoint = store.get(task.endpoint_id)
  if (!endpoint || endpoint.disabled) return endTask(deps, task, { status: 'canceled' })
  if (nowMs() < Math.min(task.until, task.created_at) + LOG_SETTLE_MS) return
  try {
    const held = pages.get(task.task_id)
    pages.delete(task.task_id)
    const messages =
      held?.cursor === task.cursor ? held.messages : await readPage(deps, task, endpoint)
    const pace = Math.max(1, Math.min(MAX_PER_SECOND, endpoint.rate_limit || MAX_PER_SECOND))
    const step = messages.slice(0, pace)
    const rest = messages.slice(pace)
    await queueStep(deps, task, step)
    if (rest.length > 0) pages.set(task.task_id, { cursor: step.at(-1)?.id ?? '', messages: rest })
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    await endTask(deps, task, { status: 'failed', error: error.message })
  }
}

const readPage = async (
  { warehouse }: StepDeps,
  task: WebhookTask,
  endpoint: WebhookEndpoint,
): Promise<readonly StoredMessage[]> => {
  const { endpoint_id: endpointId, since: sinceMs, until: untilMs, cursor: after } = task
  const search = { endpointId, sinceMs, untilMs, after, rows: PAGE_ROWS }
  const wanted = task.channels ?? endpointChannels(endpoint)
  const query: Query =
    task.kind === 'recover' ? failedMessagesQuery(search) : unattemptedMessagesQuery(search, wanted)
  const { rows } = await warehouse.query<StoredMessage>(query, { budget: PLANS.enterprise.budget })
  return rows
}

const queueStep = (
  { store, codec, nowMs, filterOf }: StepDeps,
  task: WebhookTask,
  step: readonly StoredMessage[],
): Promise<void> =>
  store.changeTask({ endpointId: task.endpoint_id, taskId: task.task_id }, (known) => {
    const endpoint = store.get(task.endpoint_id)
    // Another process may have the lane by now, and have gone further.
    if (known?.status !== 'running' || known.cursor !== task.cursor || !endpoint) return undefined
    const queued =
      task.kind === 'recover'
        ? step
        : step.filter((message) => matchStoredMessage(endpoint, message, filterOf))
    const total = known.queued + queued.length
    const status: TaskStatus =
      step.length === 0 ? 'done' : total >= MAX_QUEUED ? 'limited' : 'running'
    return {
      task: {
        ...known,
        cursor: step.at(-1)?.id ?? known.cursor,
        queued: total,
        looked_at: known.looked_at + step.length,
        status,
        updated_at: nowMs(),
      },
      records: queued.map((message) => taskDelivery(codec, endpoint, message, nowMs())),
    }
  })

const taskDelivery = (
  codec: Codec,
  { endpoint_id, org_id, enabled_at }: WebhookEndpoint,
  { id: message_id, channel, body, event_ms }: StoredMessage,
  atMs: number,
): ProducerRecord => ({
  topic: globalTopic('webhookOutbox'),
  key: endpoint_id,
  value: codec.encode('webhook.Delivery', {
    message_id,
    endpoint_id,
    org_id,
    channel,
    body,
    enabled_at,
    event_time: Number(event_ms),
    queued_at: atMs,
    due_at: atMs,
    trigger: 'replay',
    attempt: 1,
  }),
})

const endTask = (
  { store, nowMs }: StepDeps,
  { endpoint_id: endpointId, task_id: taskId }: WebhookTask,
  { status, error = '' }: { readonly status: TaskStatus; readonly error?: string },
): Promise<void> =>
  store.changeTask({ endpointId, taskId }, (known) =>
    known?.status === 'running'
      ? { task: { ...known, status, error, updated_at: nowMs() } }
      : undefined,
  )
