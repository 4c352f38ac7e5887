import { Fault } from '../../core/errors.ts'

/** How much of the engine one surface may use at a time. */
export interface QueryQueueLimits {
  /** Statements at the same time. */
  readonly running: number
  /** Of these, one organization's: fewer than all, so that another one finds a place. */
  readonly runningPerOrg: number
  /** Statements that wait for a place. */
  readonly waiting: number
  readonly waitingPerOrg: number
  /** Longest wait. */
  readonly waitMs: number
}

/** Lets statements through, so many at a time, organizations in turn. */
export interface QueryQueue {
  /**
   * Runs the work when a place is free. Throws `Fault` CONCURRENCY_LIMIT when the organization's own statements are in the
   * way, SERVER_BUSY when everybody's are, the reason of the signal when it is given up first, and what the work throws.
   */
  run<T>(orgId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Statements of all organizations now. */
  depth(): { readonly running: number; readonly waiting: number }
}

interface WaitingQuery {
  readonly enter: () => void
}

interface OrgQueue {
  running: number
  readonly waiting: Set<WaitingQuery>
}

const concurrencyLimit = (limits: QueryQueueLimits): Fault =>
  new Fault('CONCURRENCY_LIMIT', undefined, { running: limits.runningPerOrg })

/** An empty queue. Organizations stand in a ring: who was let in goes to its end. */
export const createQueryQueue = (limits: QueryQueueLimits): QueryQueue => {
  const orgs = new Map<string, OrgQueue>()
  const total = { running: 0, waiting: 0 }
  const next = (): void => {
    for (const [orgId, org] of orgs) {
      if (total.running >= limits.running) return
      const [waiter] = org.waiting
      if (waiter === undefined || org.running >= limits.runningPerOrg) continue
      orgs.delete(orgId)
      orgs.set(orgId, org)
      waiter.enter()
    }
  }
  /** A place is free for the organization: who waits beside it may run no more for now. */
  const isFree = (org: OrgQueue): boolean =>
    total.running < limits.running && org.running < limits.runningPerOrg && org.waiting.size === 0
  const wait = (org: OrgQueue, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        org.waiting.delete(waiter)
        total.waiting -= 1
      }
      const waiter: WaitingQuery = {
        enter: () => {
          leave()
          org.running += 1
          total.running += 1
          resolve()
        },
      }
      const onAbort = (): void => {
        leave()
        reject(signal?.reason)
      }
      const timer = setTimeout(() => {
        leave()
        reject(
          org.running >= limits.runningPerOrg ? concurrencyLimit(limits) : new Fault('SERVER_BUSY'),
        )
      }, limits.waitMs)
      signal?.addEventListener('abort', onAbort, { once: true })
      org.waiting.add(waiter)
      total.waiting += 1
    })
  return {
    depth: () => ({ ...total }),
    run: async (orgId, work, signal) => {
      signal?.throwIfAborted()
      const org = orgs.get(orgId) ?? { running: 0, waiting: new Set() }
      if (org.waiting.size >= limits.waitingPerOrg) throw concurrencyLimit(limits)
      if (total.waiting >= limits.waiting) throw new Fault('SERVER_BUSY')
      if (isFree(org)) {
        orgs.delete(orgId)
        orgs.set(orgId, org)
        org.running += 1
        total.running += 1
      } else {
        orgs.set(orgId, org)
        try {
          await wait(org, signal)
        } finally {
          if (org.running === 0 && org.waiting.size === 0) orgs.delete(orgId)
        }
      }
      try {
        return await work()
      } finally {
        org.running -= 1
        total.running -= 1
        if (org.running === 0 && org.waiting.size === 0) orgs.delete(orgId)
        next()
      }
    },
  }
}
