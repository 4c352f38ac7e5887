import type { Bus, ProducerRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { Fault } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { ReadinessCheck } from '../../core/ops/probes.ts'
import type { RecordSigner } from '../../core/security/record-signature.ts'
import { globalTopic } from '../../schemas/topics.ts'
import type { Operation, WebhookEndpoint, WebhookRequest, WebhookTask } from '../../schemas/wire.ts'
import { openControlLog } from '../auth/control-log.ts'
import { decodeControlRecord } from '../auth/decode-control-record.ts'
import { createEndpointIndex, type EndpointIndex } from './endpoint-index.ts'
import { createIdempotencyStore, type IdempotencyStore, REQUESTS_TOPIC } from './idempotency.ts'
import { createTaskStore, TASKS_TOPIC, type TaskChange, type TaskStore } from './task-store.ts'

const ENDPOINTS_TOPIC = globalTopic('controlWebhooks')
const OPERATIONS_TOPIC = globalTopic('webhookOps')

/** Every endpoint of the installation, in memory; writes can be read when they return. */
export interface EndpointStore {
  get(endpointId: string): WebhookEndpoint | undefined
  /** By id or uid, within an organization. */
  find(orgId: string, idOrUid: string): WebhookEndpoint | undefined
  /** Oldest first. */
  ofOrg(orgId: string): readonly WebhookEndpoint[]
  /** Enabled endpoints by channel and subject. */
  readonly index: EndpointIndex
  /** Responses of create calls with an idempotency key. */
  readonly requests: Pick<IdempotencyStore, 'find'>
  /**
   * One atomic step: `step` sees the newest state and gives the endpoint to store, or null to delete it; undefined
   * changes nothing. It may run again. What it throws is passed on. `orgId`: the organization in whose queue the write waits; absent: the installation's own.
   */
  change(
    endpointId: string,
    step: (current: WebhookEndpoint | undefined) => EndpointChange,
    orgId?: string,
  ): Promise<void>
  /** Deletes every endpoint of a deleted organization. */
  removeOrg(orgId: string): Promise<void>
  /** Recoveries and replays. */
  readonly tasks: Pick<TaskStore, 'get' | 'ofEndpoint' | 'running'>
  /**
   * One atomic step of a task, with what it queues: `step` sees the newest state; undefined changes nothing. It may run
   * again. What it throws is passed on.
   */
  changeTask(
    id: { readonly endpointId: string; readonly taskId: string },
    step: (current: WebhookTask | undefined) => TaskChange,
    orgId?: string,
  ): Promise<void>
  /** Records for other webhook topics, made from the newest state in one atomic step. */
  publish(compute: () => readonly ProducerRecord[], orgId?: string): Promise<void>
  readonly check: ReadinessCheck
  stop(): Promise<void>
}

/** Result of a step, with the type of its operational event. */
export type EndpointChange =
  | {
      readonly endpoint: WebhookEndpoint | null
      readonly event: string
      /** The call behind it, where it may be repeated. */
      readonly request?: WebhookRequest
    }
  | undefined

/** Dependencies of the store. */
export interface EndpointStoreDeps {
  readonly bus: Bus
  readonly codec: Codec
  readonly nowMs: () => number
  readonly log: Logger
  readonly signer: RecordSigner
  readonly metrics: Pick<Metrics, 'controlRecordsRefused'>
}

/** Opens the store; returns when the control topic has been read to its end. The topic must exist. */
export const openEndpointStore = async (deps: EndpointStoreDeps): Promise<EndpointStore> => {
  const byId = new Map<string, WebhookEndpoint>()
  const index = createEndpointIndex()
  const byOrg = new Map<string, Map<string, WebhookEndpoint>>()
  const put = (endpointId: string, endpoint: WebhookEndpoint | null): void => {
    const previous = byId.get(endpointId)
    if (previous) byOrg.get(previous.org_id)?.delete(endpointId)
    byId.delete(endpointId)
    index.put(endpointId, endpoint)
    if (!endpoint) return
    byId.set(endpointId, endpoint)
    const endpoints = byOrg.get(endpoint.org_id) ?? new Map<string, WebhookEndpoint>()
    byOrg.set(endpoint.org_id, endpoints.set(endpointId, endpoint))
  }
  const requests = createIdempotencyStore(deps.codec, deps.nowMs)
  const tasks = createTaskStore(deps.codec)
  const control = await openControlLog({
    ...deps,
    topics: [ENDPOINTS_TOPIC, REQUESTS_TOPIC, TASKS_TOPIC],
    writerId: 'control-webhooks-writer',
    apply: (record) => {
      if (record.topic === REQUESTS_TOPIC) {
        const request = decodeControlRecord(deps, 'control.WebhookRequest', record)
        if (request !== undefined) requests.put(record.key, request)
        return
      }
      if (record.topic === TASKS_TOPIC) {
        const task = decodeControlRecord(deps, 'control.WebhookTask', record)
        if (task !== undefined) tasks.put(record.key, task)
        return
      }
      const endpoint = decodeControlRecord(deps, 'control.WebhookEndpoint', record)
      if (endpoint !== undefined) put(record.key, endpoint)
    },
  })
  const ofOrg = (orgId: string): readonly WebhookEndpoint[] =>
    [...(byOrg.get(orgId)?.values() ?? [])].toSorted((one, other) =>
      one.endpoint_id < other.endpoint_id ? -1 : 1,
    )
  return {
    get: (endpointId) => byId.get(endpointId),
    find: (orgId, idOrUid) => {
      const endpoints = byOrg.get(orgId)
      return (
        endpoints?.get(idOrUid) ??
        [...(endpoints?.values() ?? [])].find(({ uid }) => uid === idOrUid)
      )
    },
    ofOrg,
    index,
    requests,
    change: (endpointId, step, orgId) =>
      control.update(() => {
        const current = byId.get(endpointId)
        const changed = step(current)
        if (!changed) return []
        const records = changeRecords(deps, endpointId, current, changed)
        return changed.request ? [...records, ...requests.recordsOf(changed.request)] : records
      }, orgId),
    removeOrg: (orgId) =>
      control.update(() =>
        ofOrg(orgId).flatMap((current) =>
          changeRecords(deps, current.endpoint_id, current, {
            event: 'endpoint.deleted',
            endpoint: null,
          }),
        ),
      ),
    tasks,
    changeTask: ({ endpointId, taskId }, step, orgId) =>
      control.update(() => {
        const changed = step(tasks.get(endpointId, taskId))
        return changed ? [...tasks.recordsOf(changed.task), ...(changed.records ?? [])] : []
      }, orgId),
    publish: (compute, orgId) => control.update(compute, orgId),
    check: {
      name: 'webhook endpoints',
      run: () => (control.isFresh() ? { ok: true } : { ok: false, detail: 'control topic stale' }),
    },
    stop: () => control.stop(),
  }
}

const changeRecords = (
  { codec, nowMs }: EndpointStoreDeps,
  endpointId: string,
  current: WebhookEndpoint | undefined,
  { endpoint, event }: NonNullable<EndpointChange>,
): readonly ProducerRecord[] => {
  const value = endpoint && codec.encode('control.WebhookEndpoint', endpoint)
  const orgId = endpoint?.org_id ?? current?.org_id ?? ''
  return [
    { topic: ENDPOINTS_TOPIC, partition: 0, key: endpointId, value },
    operationRecord(codec, {
      type: event,
      org_id: orgId,
      endpoint_id: endpointId,
      message_id: '',
      at: nowMs(),
      detail: endpoint?.disabled_reason ? { reason: endpoint.disabled_reason } : {},
    }),
  ]
}

/** An operational event as a record. */
export const operationRecord = (codec: Codec, operation: Operation): ProducerRecord => ({
  topic: OPERATIONS_TOPIC,
  key: operation.endpoint_id,
  value: codec.encode('webhook.Operation', operation),
})

/** The fault for an id that the organization does not have, whoever else has it. */
export const endpointNotFound = (): Fault => new Fault('WEBHOOKS_APPLICATION_NOT_FOUND')
