import assert from 'node:assert/strict'
import { ulid } from 'ulid'
import type { Bus, ProducerRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { Fault } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { ReadinessCheck } from '../../core/ops/probes.ts'
import type { RecordSigner } from '../../core/security/record-signature.ts'
import { globalTopic } from '../../schemas/topics.ts'
import { openControlLog } from '../auth/control-log.ts'
import { decodeControlRecord } from '../auth/decode-control-record.ts'
import { fromJobRow, isFinished, type Job, type JobChange, toJobRow } from './job.ts'
import { createJobTable, type JobTable } from './job-table.ts'

const JOBS_TOPIC = globalTopic('controlJobs')

/** A job remembers what became of something, not the thing itself. */
const MAX_RESULT_BYTES = 16_384

/** Whose job it is, and which. */
export interface JobKey {
  readonly orgId: string
  readonly id: string
}

/** What a job begins with. */
export interface NewJob extends JobChange {
  readonly orgId: string
  readonly kind: string
  /** Given where the same work must be the same job, however often it is asked for; default: a new id. */
  readonly id?: string
}

/** Jobs of every organization, in memory and in the log: what a call has returned survives a crash of the process. */
export interface JobStore {
  /**
   * Keeps a job, or answers the unfinished one that the organization has under the same id; one that has ended begins again, as new but for
   * its revision. Throws `Fault` API_USAGE_LIMIT_EXCEEDED while the
   * organization has too many unfinished ones; `Outage`.
   */
  create(job: NewJob): Promise<Job>
  /**
   * One atomic step: `step` sees the newest state of an unfinished job; undefined changes nothing. It may run again. A finished job
   * stays as it is. Throws `Fault` NOT_FOUND; `Outage`.
   */
  update(key: JobKey, step: (current: Job) => JobChange | undefined): Promise<Job>
  /** A job of the organization that changed within the last 24 hours. */
  get(key: JobKey): Job | undefined
  /** Unfinished jobs of a kind, whoever's: those that their maker takes up again after a start. */
  unfinished(kind: string): readonly Job[]
  /** Calls back after each change of a job, also one that another process made; returns the way to stop that. */
  watch(key: JobKey, listener: (job: Job) => void): () => void
  readonly check: ReadinessCheck
  stop(): Promise<void>
}

/** What the store needs. */
export interface JobStoreDeps {
  readonly bus: Bus
  readonly codec: Codec
  readonly nowMs: () => number
  readonly log: Logger
  readonly signer: RecordSigner
  readonly metrics: Pick<Metrics, 'controlRecordsRefused'>
}

/** Opens the store; returns when the topic has been read to its end. The topic must exist. */
export const openJobStore = async (deps: JobStoreDeps): Promise<JobStore> => {
  const { codec, nowMs } = deps
  const table = createJobTable(nowMs)
  const listeners = createListeners()
  const control = await openControlLog({
    ...deps,
    topics: [JOBS_TOPIC],
    writerId: 'control-jobs-writer',
    apply: (record) => {
      const row = decodeControlRecord(deps, 'control.Job', record)
      if (row === undefined) return
      const job = row && fromJobRow(row)
      table.put(record.key, job)
      if (job) listeners.tell(record.key, job)
    },
  })
  const recordOf = (key: JobKey, job: Job | null): ProducerRecord => ({
    topic: JOBS_TOPIC,
    partition: 0,
    key: textOf(key),
    value: job && codec.encode('control.Job', toJobRow(job)),
  })
  const get = (key: JobKey): Job | undefined => table.get(textOf(key))
  const requireJob = (key: JobKey): Job => {
    const job = get(key)
    if (!job) throw new Fault('NOT_FOUND', 'No such job')
    return job
  }
  return {
    create: async (request) => {
      const key = { orgId: request.orgId, id: request.id ?? `job_${ulid(nowMs())}` }
      await control.update(() => {
        const known = get(key)
        if (known && !isFinished(known)) return []
        const job = firstState(key, request, {
          atMs: nowMs(),
          revision: (known?.revision ?? 0) + 1,
        })
        const ended = known ? [] : table.assertCapacity(key.orgId)
        return [...ended.map((old) => recordOf(old, null)), recordOf(key, job)]
      }, key.orgId)
      return requireJob(key)
    },
    update: async (key, step) => {
      await control.update(() => {
        const current = requireJob(key)
        const change = isFinished(current) ? undefined : step(current)
        return change ? [recordOf(key, changed(current, change, nowMs()))] : []
      }, key.orgId)
      return requireJob(key)
    },
    get,
    unfinished: table.unfinished,
    watch: (key, listener) => listeners.add(textOf(key), listener),
    check: {
      name: 'jobs',
      run: () => (control.isFresh() ? { ok: true } : { ok: false, detail: 'control topic stale' }),
    },
    stop: () => control.stop(),
  }
}

const textOf = ({ orgId, id }: JobKey): Parameters<JobTable['get']>[0] => `${orgId}/${id}`

const firstState = (
  { orgId, id }: JobKey,
  request: NewJob,
  { atMs, revision }: { readonly atMs: number; readonly revision: number },
): Job =>
  checked({
    status: 'pending',
    hash: '',
    result: {},
    error: '',
    message: '',
    ...request,
    id,
    orgId,
    revision,
    createdAtMs: atMs,
    updatedAtMs: atMs,
  })

const changed = (current: Job, change: JobChange, atMs: number): Job =>
  checked({ ...current, ...change, revision: current.revision + 1, updatedAtMs: atMs })

const checked = (job: Job): Job => {
  const bytes = Buffer.byteLength(JSON.stringify(job.result))
  assert(bytes <= MAX_RESULT_BYTES, `the result of a ${job.kind} job has ${bytes} bytes`)
  return job
}

/** Who waits for changes of which job. */
const createListeners = () => {
  const byKey = new Map<string, Set<(job: Job) => void>>()
  return {
    tell: (key: string, job: Job): void => {
      for (const listener of byKey.get(key) ?? []) listener(job)
    },
    add: (key: string, listener: (job: Job) => void) => {
      const own = byKey.get(key) ?? new Set()
      byKey.set(key, own.add(listener))
      return () => {
        own.delete(listener)
        if (own.size === 0 && byKey.get(key) === own) byKey.delete(key)
      }
    },
  }
}
