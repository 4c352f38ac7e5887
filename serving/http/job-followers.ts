import { Readable } from 'node:stream'
import { Fault } from '../../core/errors.ts'
import { MAX_FOLLOWED_JOBS } from '../../schemas/plans.ts'
import { isRevoked } from '../auth/is-revoked.ts'
import type { Guard, Principal, RevokedCredential } from '../interfaces.ts'
import { isFinished, type Job } from '../jobs/job.ts'
import type { JobKey, JobStore } from '../jobs/job-store.ts'
import { jobEventText } from './job-body.ts'

/** Comments between events, so that proxies do not take the connection for dead. */
const KEEP_ALIVE_MS = 15_000
/** A stream ends after that; its client asks again from its last event on. */
const MAX_STREAM_MS = 600_000
/** What a client leaves unread. */
const MAX_UNREAD_BYTES = 262_144
/** Just below the 15 s that the first of the known clients waits for an answer. */
const MAX_WAIT_MS = 14_000

/** What following needs. */
export interface JobFollowersDeps {
  readonly jobs: Pick<JobStore, 'get' | 'watch'>
  readonly guard: Pick<Guard, 'onRevoked'>
}

/** Subscribers to changes of jobs; all of them end with the server, and with the credential of their caller. */
export interface JobFollowers {
  /** Server-sent events of a job's changes behind revision `seen`, until it has ended. Throws `Fault` CONCURRENCY_LIMIT. */
  stream(principal: Principal, job: Job, seen: number): Readable
  /** The job when it has ended, or as it is after 14 s, or when `left` says that its caller is gone. Throws `Fault` CONCURRENCY_LIMIT. */
  wait(principal: Principal, job: Job, left: AbortSignal): Promise<Job>
  close(): void
}

/** Makes the followers of one server. */
export const createJobFollowers = ({ jobs, guard }: JobFollowersDeps): JobFollowers => {
  const open = createOpenFollowers()
  const stopListening = guard.onRevoked(open.revoke)
  return {
    stream: (principal, job, seen) => {
      const stream = createEventStream(jobs, job, seen)
      const release = open.add({ principal, end: stream.end })
      stream.readable.once('close', release)
      stream.start()
      return stream.readable
    },
    wait: (principal, job, left) =>
      new Promise((resolve, reject) => {
        const key = keyOf(job)
        const end = (): void => {
          clearTimeout(timer)
          stopWatching()
          left.removeEventListener('abort', end)
          release()
          resolve(jobs.get(key) ?? job)
        }
        let release: () => void
        try {
          release = open.add({ principal, end })
        } catch (error) {
          return reject(error)
        }
        const timer = setTimeout(end, MAX_WAIT_MS)
        const stopWatching = jobs.watch(key, (changed) => {
          if (isFinished(changed)) end()
        })
        left.addEventListener('abort', end)
        if (isFinished(job) || left.aborted) end()
      }),
    close: () => {
      stopListening()
      open.endAll()
    },
  }
}

const keyOf = ({ orgId, id }: Job): JobKey => ({ orgId, id })

interface Follower {
  readonly principal: Principal
  readonly end: () => void
}

/** Followers by organization, so many of each. */
const createOpenFollowers = () => {
  const byOrg = new Map<string, Set<Follower>>()
  const endWhere = (ends: (follower: Follower) => boolean): void => {
    const all = [...byOrg.values()].flatMap((own) => [...own])
    for (const follower of all) if (ends(follower)) follower.end()
  }
  return {
    add: (follower: Follower) => {
      const { orgId } = follower.principal
      const own = byOrg.get(orgId) ?? new Set<Follower>()
      if (own.size >= MAX_FOLLOWED_JOBS) {
        throw new Fault('CONCURRENCY_LIMIT', 'Too many jobs are followed at the same time', {
          max_allowed: MAX_FOLLOWED_JOBS,
        })
      }
      byOrg.set(orgId, own.add(follower))
      return () => {
        own.delete(follower)
        if (own.size === 0 && byOrg.get(orgId) === own) byOrg.delete(orgId)
      }
    },
    revoke: (gone: RevokedCredential): void =>
      endWhere(({ principal }) => isRevoked(gone, principal)),
    endAll: () => endWhere(() => true),
  }
}

/** The events of a job as a stream that has not begun. */
const createEventStream = (jobs: Pick<JobStore, 'get' | 'watch'>, job: Job, seen: number) => {
  const readable = new Readable({ read: () => undefined })
  let isOpen = true
  let sentRevision = seen
  const push = (text: string): void => {
    if (!isOpen) return
    if (readable.readableLength > MAX_UNREAD_BYTES) readable.destroy()
    else readable.push(text)
  }
  const end = (): void => {
    if (isOpen) readable.push(null)
    isOpen = false
  }
  const notify = (changed: Job): void => {
    if (changed.revision > sentRevision) push(jobEventText(changed))
    sentRevision = Math.max(sentRevision, changed.revision)
    if (isFinished(changed)) end()
  }
  const start = (): void => {
    const stopWatching = jobs.watch(keyOf(job), notify)
    // A comment at once sends the headers: the first event may be minutes away.
    const keepAlive = setInterval(() => push(':\n\n'), KEEP_ALIVE_MS)
    const limit = setTimeout(end, MAX_STREAM_MS)
    readable.once('close', () => {
      isOpen = false
      clearInterval(keepAlive)
      clearTimeout(limit)
      stopWatching()
    })
    push(':\n\n')
    notify(jobs.get(keyOf(job)) ?? job)
  }
  return { readable, start, end }
}
