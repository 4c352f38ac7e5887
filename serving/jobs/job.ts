import type { Job as JobRow } from '../../schemas/wire.ts'

/** How a job stands; only `pending` changes any more. `failed`: it ended without what was wanted, `error`: it could not be carried out. */
export type JobStatus = 'pending' | 'completed' | 'failed' | 'error'

/** Work that continues behind an answer, such as a transaction that was sent. */
export interface Job {
  readonly id: string
  readonly orgId: string
  /** What made it: the name by which its maker finds its own again. */
  readonly kind: string
  readonly status: JobStatus
  /** Transaction hash or signature; empty where there is none. */
  readonly hash: string
  readonly result: Readonly<Record<string, unknown>>
  /** Why it did not complete, as a word for programs and a sentence for people; empty otherwise. */
  readonly error: string
  readonly message: string
  /** Grows by one with every change, from 1 on. */
  readonly revision: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** What a change of a job may set. */
export type JobChange = Partial<Pick<Job, 'status' | 'hash' | 'result' | 'error' | 'message'>>

/** True for a job that changes no more. */
export const isFinished = ({ status }: Pick<Job, 'status'>): boolean => status !== 'pending'

/** The row of a job in the log. */
export const toJobRow = (job: Job): JobRow => ({
  job_id: job.id,
  org_id: job.orgId,
  kind: job.kind,
  status: job.status,
  hash: job.hash,
  result: JSON.stringify(job.result),
  error: job.error,
  message: job.message,
  revision: job.revision,
  created_at: job.createdAtMs,
  updated_at: job.updatedAtMs,
})

const STATUSES: readonly JobStatus[] = ['pending', 'completed', 'failed', 'error']

/** The job of a row; a state that this version does not know counts as `error`. */
export const fromJobRow = (row: JobRow): Job => ({
  id: row.job_id,
  orgId: row.org_id,
  kind: row.kind,
  status: STATUSES.find((status) => status === row.status) ?? 'error',
  hash: row.hash,
  result: JSON.parse(row.result),
  error: row.error,
  message: row.message,
  revision: row.revision,
  createdAtMs: row.created_at,
  updatedAtMs: row.updated_at,
})
