import type { ProducerRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { WebhookTask } from '../../schemas/wire.ts'

/** Control topic of recoveries and replays. */
export const TASKS_TOPIC = globalTopic('controlWebhookTasks')

/** Tasks of one endpoint; beyond that the oldest are removed. */
const MAX_TASKS_PER_ENDPOINT = 20

/** Status of a task; `limited`: it ended at its limit, and another task from there on continues. */
export type TaskStatus = 'running' | 'done' | 'limited' | 'canceled' | 'failed'

/** Result of a step of a task, with the records of the same commit. */
export type TaskChange =
  | { readonly task: WebhookTask; readonly records?: readonly ProducerRecord[] }
  | undefined

/** Tasks in memory, read from the control topic. */
export interface TaskStore {
  put(recordKey: string, task: WebhookTask | null): void
  get(endpointId: string, taskId: string): WebhookTask | undefined
  /** Newest first. */
  ofEndpoint(endpointId: string): readonly WebhookTask[]
  /** Those that have not ended, oldest first. */
  running(): readonly WebhookTask[]
  /** Records that store a task, and tombstones of surplus ones of its endpoint. */
  recordsOf(task: WebhookTask): readonly ProducerRecord[]
}

/** Starts empty. Ids of tasks grow with time. */
export const createTaskStore = (codec: Codec): TaskStore => {
  const byEndpoint = new Map<string, Map<string, WebhookTask>>()
  const ofEndpoint = (endpointId: string): readonly WebhookTask[] =>
    [...(byEndpoint.get(endpointId)?.values() ?? [])].toSorted(newestFirst)
  return {
    put: (recordKey, task) => {
      const [endpointId = '', taskId = ''] = recordKey.split('/')
      const tasks = byEndpoint.get(endpointId) ?? new Map<string, WebhookTask>()
      tasks.delete(taskId)
      if (task) tasks.set(taskId, task)
      if (tasks.size > 0) byEndpoint.set(endpointId, tasks)
      else byEndpoint.delete(endpointId)
    },
    get: (endpointId, taskId) => byEndpoint.get(endpointId)?.get(taskId),
    ofEndpoint,
    running: () =>
      [...byEndpoint.values()]
        .flatMap((tasks) => [...tasks.values()].filter(({ status }) => status === 'running'))
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
