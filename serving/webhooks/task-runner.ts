import { setImmediate as nextTurn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
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
import { createLogProgress } from './log-progress.ts'
import { matchStoredMessage } from './match-stored.ts'
import { TASKS_TOPIC, type TaskStatus } from './task-store.ts'
import { createTaskTurns } from './task-turns.ts'
import { TASKS_GROUP } from './topics.ts'

/** Dependencies of recoveries and replays. */
export interface TaskRunnerDeps {
  readonly bus: Bus
  readonly codec: Codec
  readonly store: EndpointStore
  readonly warehouse: Pick<Warehouse, 'query'>
  readonly config: Pick<Config, 'retention'>
  readonly log: Logger
  readonly nowMs: () => number
}

/** Messages that one task looks at in a second, and queues at most: a receiver that was away gets them beside what is new. */
const MAX_PER_SECOND = 100
/** Messages that one task queues in all: the queue of an endpoint holds no more. */
const MAX_QUEUED = 100_000
/** Tasks that continue in one second, in turns where there are more. */
const MAX_RUNNING = 8
/** Pages in memory; the page of a task that waits long for its turn is read again. */
const MAX_PAGES = 32
/** Filters that are evaluated before other work of the process gets its turn. */
const FILTERS_PER_YIELD = 20
const PAGE_ROWS = 1_000
const TICK_MS = 1_000
/**
 * Time after the end of a window in which the sender records what ended in it: attempts that were on their way, and the sweep that
 * cancels what waited while the endpoint was disabled.
 */
const SETTLE_MS = 3_000

/** Messages that were read and are not queued yet, behind a task's cursor. */
interface Page {
  readonly cursor: string
  readonly messages: readonly StoredMessage[]
}

/** Runs the tasks of the installation, in the one process that has the lane. After a crash it resumes at the last step. */
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
  const pages = new LRUCache<string, Page>({ max: MAX_PAGES })
  const filterOf = createFilterCache()
  const isLogComplete = createLogProgress(deps)
  const nextTasks = createTaskTurns(MAX_RUNNING)
  let nextAtMs = 0
  while (!lane.signal.aborted) {
    const records = await lane.take({ maxRecords: 500, maxWaitMs: TICK_MS })
    const last = records.at(-1)
    if (last) {
      const { topic, partition, offset } = last
      const next = [{ topic, partition, offset: offset + 1 }]
      await lane.writer.commit({ records: [], offsets: { group: TASKS_GROUP, next } })
    }
    if (nowMs() < nextAtMs) continue
    nextAtMs = nowMs() + TICK_MS
    for (const task of nextTasks(store.tasks.running())) {
      if (lane.signal.aborted) return
      await stepTask({ ...deps, pages, filterOf, isLogComplete }, task).catch((err: unknown) =>
        log.warn({ err, taskId: task.task_id }, 'webhook task step failed, retrying'),
      )
    }
  }
}

interface StepDeps extends TaskRunnerDeps {
  readonly pages: LRUCache<string, Page>
  readonly filterOf: ReturnType<typeof createFilterCache>
  readonly isLogComplete: ReturnType<typeof createLogProgress>
}

/** Queues the next messages of a task, once the tables show its whole window; it ends at an empty page. */
const stepTask = async (deps: StepDeps, task: WebhookTask): Promise<void> => {
  const { store, nowMs, pages, isLogComplete } = deps
  const endpoint = store.get(task.endpoint_id)
  if (!endpoint || endpoint.disabled) return endTask(deps, task, { status: 'canceled' })
  const settledMs = task.until + SETTLE_MS
  if (nowMs() < settledMs) return
  try {
    if (!(await isLogComplete(settledMs))) return
    const cached = pages.get(task.task_id)
    pages.delete(task.task_id)
    const messages =
      cached?.cursor === task.cursor ? cached.messages : await readPage(deps, task, endpoint)
    const step = await nextStep(deps, { task, endpoint, messages })
    await queueStep(deps, task, step)
    const rest = messages.slice(step.lookedAt.length)
    if (rest.length > 0) {
      pages.set(task.task_id, { cursor: step.lookedAt.at(-1)?.id ?? '', messages: rest })
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    await endTask(deps, task, { status: 'failed', error: error.message })
  }
}

/** A recovery up to its own start takes in what the sender canceled right after it. */
const recoveryEndMs = ({ until, created_at }: WebhookTask): number =>
  until === created_at ? until + SETTLE_MS : until

const readPage = async (
  { warehouse }: StepDeps,
  task: WebhookTask,
  endpoint: WebhookEndpoint,
): Promise<readonly StoredMessage[]> => {
  const { endpoint_id: endpointId, since: sinceMs, until: untilMs, cursor: after } = task
  const search = { endpointId, sinceMs, untilMs, after, rows: PAGE_ROWS }
  const channels = task.channels ?? endpointChannels(endpoint)
  const query: Query =
    task.kind === 'recover'
      ? failedMessagesQuery({ ...search, untilMs: recoveryEndMs(task) })
      : unattemptedMessagesQuery(search, channels)
  const { rows } = await warehouse.query<StoredMessage>(query, { budget: PLANS.enterprise.budget })
  return rows
}

/** Messages of one step, and those of them that are queued. */
interface Step {
  readonly endpoint: WebhookEndpoint
  readonly lookedAt: readonly StoredMessage[]
  readonly queued: readonly StoredMessage[]
}

/** Takes as many messages as the endpoint takes in a second; those that its filter drops do not count. */
const nextStep = async (
  { filterOf }: StepDeps,
  {
    task,
    endpoint,
    messages,
  }: Pick<Step, 'endpoint'> & {
    readonly task: WebhookTask
    readonly messages: readonly StoredMessage[]
  },
): Promise<Step> => {
  const most = Math.max(1, Math.min(MAX_PER_SECOND, endpoint.rate_limit || MAX_PER_SECOND))
  const lookedAt: StoredMessage[] = []
  const queued: StoredMessage[] = []
  for (const message of messages.slice(0, MAX_PER_SECOND)) {
    if (queued.length >= most) break
    lookedAt.push(message)
    if (lookedAt.length % FILTERS_PER_YIELD === 0) await nextTurn()
    if (task.kind === 'recover' || matchStoredMessage(endpoint, message, filterOf)) {
      queued.push(message)
    }
  }
  return { endpoint, lookedAt, queued }
}

const queueStep = (
  { store, codec, nowMs }: StepDeps,
  task: WebhookTask,
  { endpoint, lookedAt, queued }: Step,
): Promise<void> =>
  store.changeTask({ endpointId: task.endpoint_id, taskId: task.task_id }, (current) => {
    // Another process may have the lane by now, and have gone further; the endpoint may have been changed.
    const isCurrent = current?.cursor === task.cursor && store.get(task.endpoint_id) === endpoint
    if (current?.status !== 'running' || !isCurrent) return undefined
    const total = current.queued + queued.length
    const status: TaskStatus =
      lookedAt.length === 0 ? 'done' : total >= MAX_QUEUED ? 'limited' : 'running'
    return {
      task: {
        ...current,
        cursor: lookedAt.at(-1)?.id ?? current.cursor,
        queued: total,
        looked_at: current.looked_at + lookedAt.length,
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
  store.changeTask({ endpointId, taskId }, (current) =>
    current?.status === 'running'
      ? { task: { ...current, status, error, updated_at: nowMs() } }
      : undefined,
  )
