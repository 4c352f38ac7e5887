import type { ProducerRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { WebhookTask } from '../../schemas/wire.ts'

/** Control topic of recoveries and replays. */
export const TASKS_TOPIC = globalTopic('controlWebhookTasks')

/** Tasks of one endpoint that are remembered; then the oldest are forgotten. */
const MAX_TASKS_PER_ENDPOINT = 20

/** How a task stands; `limited`: it ended at its bound, and another one from there on goes further. */
export type TaskStatus = 'running' | 'done' | 'limited' | 'canceled' | 'failed'

/** What a step of a task changes, with what it queues in the same commit. */
export type TaskChange =
  | { readonly task: WebhookTask; readonly records?: readonly ProducerRecord[] }
  | undefined

/** Tasks in memory, as the control topic tells. */
export interface TaskStore {
  put(recordKey: string, task: WebhookTask | null): void
  get(endpointId: string, taskId: string): WebhookTask | undefined
  /** Newest first. */
  ofEndpoint(endpointId: string): readonly WebhookTask[]
  /** Those that have not ended, oldest first. */
  running(): readonly WebhookTask[]
  /** Records that keep a task, and end the oldest of its endpoint where they are too many. */
  recordsOf(task: WebhookTask): readonly ProducerRecord[]
}

/** Empty. Ids of tasks grow with time. */
export const createTaskStore = (codec: Codec): TaskStore => {
  const byEndpoint = new Map<string, Map<string, WebhookTask>>()
  const ofEndpoint = (endpointId: string): readonly WebhookTask[] =>
    [...(byEndpoint.get(endpointId)?.values() ?? [])].toSorted(newestFirst)
  return {
    put: (recordKey, task) => {
      const [endpointId = '', taskId = ''] = recordKey.split('/')
      const own = byEndpoint.get(endpointId) ?? new Map<string, WebhookTask>()
      own.delete(taskId)
      if (task) own.set(taskId, task)
      if (own.size > 0) byEndpoint.set(endpointId, own)
      else byEndpoint.delete(endpointId)
    },
    get: (endpointId, taskId) => byEndpoint.get(endpointId)?.get(taskId),
    ofEndpoint,
    running: () =>
      [...byEndpoint.values()]
        .flatMap((own) => [...own.values()].filter(({ status }) => status === 'running'))
        .toSorted(newestFirst)
        .toReversed(),
    recordsOf: (task) => {
      const others = ofEndpoint(task.endpoint_id).filter(({ task_id }) => task_id !== task.task_id)
      return [
        ...others.slice(MAX_TASKS_PER_ENDPOINT - 1).map((each) => taskRecord(each, null)),
        taskRecord(task, codec.encode('control.WebhookTask', task)),
      ]
    },
  }
}

const newestFirst = ({ task_id: one }: WebhookTask, { task_id: other }: WebhookTask): number =>
  one > other ? -1 : 1

const taskRecord = (
  { endpoint_id, task_id }: WebhookTask,
  value: Uint8Array | null,
): ProducerRecord => ({
  topic: TASKS_TOPIC,
  partition: 0,
  key: `${endpoint_id}/${task_id}`,
  value,
})
