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
  /** Unfinished ones by kind: they are asked for every second. */
  const open = new Map<string, Map<string, Job>>()
  const isOld = ({ updatedAtMs }: Job): boolean => updatedAtMs <= nowMs() - RETENTION_MS
  const forget = (key: string): void => {
    const job = byKey.get(key)
    if (!job) return
    byKey.delete(key)
    removeFrom(byOrg, job.orgId, key)
    removeFrom(open, job.kind, key)
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
      addTo(byOrg, job.orgId, { key, job })
      if (!isFinished(job)) addTo(open, job.kind, { key, job })
    },
    get: (key) => {
      const job = byKey.get(key)
      return job && !isOld(job) ? job : undefined
    },
    unfinished: (kind) => [...(open.get(kind)?.values() ?? [])].filter((job) => !isOld(job)),
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

type Groups = Map<string, Map<string, Job>>

const addTo = (
  groups: Groups,
  group: string,
  { key, job }: { readonly key: string; readonly job: Job },
): void => {
  const own = groups.get(group) ?? new Map<string, Job>()
  groups.set(group, own.set(key, job))
}

const removeFrom = (groups: Groups, group: string, key: string): void => {
  const own = groups.get(group)
  own?.delete(key)
  if (own?.size === 0) groups.delete(group)
}
