import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '../../core/errors.ts'
import { JOB_STREAM_RESPONSES, JobBody, JobParams } from '../../schemas/api/job.ts'
import type { Principal } from '../interfaces.ts'
import { isFinished, type Job } from '../jobs/job.ts'
import type { JobStore } from '../jobs/job-store.ts'
import { clientDisconnectSignal } from '../queries/query-limiter.ts'
import { acceptedType } from './accepted-type.ts'
import { requirePrincipal } from './account.ts'
import { jobBody, jobEventBody } from './job-body.ts'
import type { JobFollowers } from './job-followers.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'

/** What the routes of jobs work with. */
export interface JobRouteDeps {
  readonly jobs: Pick<JobStore, 'get'>
  readonly followers: JobFollowers
}

const EVENT_STREAM = 'text/event-stream'

/** State of a job, and its changes as they come. Both spellings of the path answer alike. */
export const jobRoutes =
  (deps: JobRouteDeps, words: readonly ('job' | 'jobs')[] = ['job', 'jobs']): RoutePlugin =>
  async (app) => {
    for (const word of words) {
      app.get(
        `/${word}/:id`,
        {
          schema: {
            summary: 'State of a job, such as a transaction that was sent; for 24 hours',
            tags: ['job'],
            params: JobParams,
            response: { 200: JobBody },
          },
          config: pricedRoute(`GET /${word}/:id`),
        },
        async (request) =>
          jobBody(requireJob(deps, requirePrincipal(request.principal), request.params.id)),
      )
      app.get(
        `/${word}/:id/streaming`,
        {
          // Without a body there is nothing to follow.
          exposeHeadRoute: false,
          schema: {
            summary:
              'Changes of a job as server-sent events until it has ended; as JSON the state when it has ended, or after 14 s',
            tags: ['job'],
            params: JobParams,
            response: JOB_STREAM_RESPONSES,
          },
          config: pricedRoute(`GET /${word}/:id/streaming`),
        },
        async (request, reply) => {
          const principal = requirePrincipal(request.principal)
          const job = requireJob(deps, principal, request.params.id)
          const wanted = acceptedType(request.headers.accept, [EVENT_STREAM, 'application/json'])
          if (wanted !== 'application/json') {
            return sendEvents(deps, { principal, job, seen: lastEventId(request) }, reply)
          }
          const left = clientDisconnectSignal(reply)
          return reply.send(jobEventBody(await deps.followers.wait(principal, job, left)))
        },
      )
    }
  }

/** A job of another organization is none. */
const requireJob = ({ jobs }: JobRouteDeps, { orgId }: Principal, id: string): Job => {
  const job = jobs.get({ orgId, id })
  if (!job) throw new Fault('NOT_FOUND', 'No such job')
  return job
}

/** Number of the last change that the client has; 0 where it names none. Source: HTML, server-sent events, `Last-Event-ID`. */
const lastEventId = ({ headers }: FastifyRequest): number => {
  const header = headers['last-event-id']
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : 0
}

/** A client that has the last change is told not to ask again: it would do so for ever. */
const sendEvents = (
  { followers }: JobRouteDeps,
  { principal, job, seen }: { principal: Principal; job: Job; seen: number },
  reply: FastifyReply,
): FastifyReply => {
  if (isFinished(job) && seen >= job.revision) return reply.status(204).send()
  // Proxies of the nginx family hold a stream back otherwise.
  reply.header('X-Accel-Buffering', 'no').type(`${EVENT_STREAM}; charset=utf-8`)
  return reply.send(followers.stream(principal, job, seen))
}
