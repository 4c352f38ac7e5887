import { Fault } from '../../core/errors.ts'
import { DAY_MS } from '../../core/time.ts'
import { isFinished, type Job } from './job.ts'

/** How long a job is remembered after its last change. */
const RETENTION_MS = DAY_MS
/** Jobs of one organization; then its oldest finished ones are forgotten. */
const MAX_JOBS_PER_ORG = 1_000

/** Jobs in memory, by organization and id. */
export interface JobTable {
  put(key: string, job: Job | null): void
  get(key: string): Job | undefined
  unfinished(kind: string): readonly Job[]
  /** Jobs of the organization that have to be forgotten before one more is kept. Throws `Fault` API_USAGE_LIMIT_EXCEEDED. */
  assertCapacity(orgId: string): readonly Job[]
}

/** Empty. Jobs are put in the order of the log, so that those that changed least lately come first. */
export const createJobTable = (nowMs: () => number): JobTable => {
  const byKey = new Map<string, Job>()
  const byOrg = new Map<string, Map<string, Job>>()
  const isOld = ({ updatedAtMs }: Job): boolean => updatedAtMs <= nowMs() - RETENTION_MS
  const forget = (key: string): void => {
    const job = byKey.get(key)
    if (!job) return
    byKey.delete(key)
    const own = byOrg.get(job.orgId)
    own?.delete(key)
    if (own?.size === 0) byOrg.delete(job.orgId)
  }
  return {
    put: (key, job) => {
      forget(key)
      for (const [first, oldest] of byKey) {
        if (!isOld(oldest)) break
        forget(first)
      }
      if (!job || isOld(job)) return
      byKey.set(key, job)
      const own = byOrg.get(job.orgId) ?? new Map<string, Job>()
      byOrg.set(job.orgId, own.set(key, job))
    },
    get: (key) => {
      const job = byKey.get(key)
      return job && !isOld(job) ? job : undefined
    },
    unfinished: (kind) =>
      [...byKey.values()].filter((job) => job.kind === kind && !isFinished(job) && !isOld(job)),
    assertCapacity: (orgId) => {
      const own = [...(byOrg.get(orgId)?.values() ?? [])]
      const tooMany = own.length + 1 - MAX_JOBS_PER_ORG
      if (tooMany <= 0) return []
      const ended = own.filter((job) => isFinished(job) || isOld(job)).slice(0, tooMany)
      if (ended.length < tooMany) {
        throw new Fault('API_USAGE_LIMIT_EXCEEDED', 'Too many unfinished jobs', {
          max_allowed: MAX_JOBS_PER_ORG,
        })
      }
      return ended
    },
  }
}
