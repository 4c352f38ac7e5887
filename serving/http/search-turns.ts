import type { FastifyReply } from 'fastify'
import { type Principal, statementOrgId } from '../interfaces.ts'
import { createConcurrencyLimit } from './concurrency-limit.ts'
import { createPlanningQueue } from './planning-queue.ts'

/** Runs a search of pools on the thread that answers everybody. Throws what the search throws. */
export type RunSearch = <T>(search: () => T) => Promise<T>

/** Begins a request that searches, and asks nodes for what was found. Throws `Fault` CONCURRENCY_LIMIT. */
export type SearchTurns = (principal: Principal | null, reply: FastifyReply) => RunSearch

/**
 * Turns of one process. A request that is refused costs no units, but as much of the thread as one with a route: an organization has as many
 * requests at the same time as its plan has queries, they search one after the other, and after long searches its next ones wait.
 */
export const createSearchTurns = (): SearchTurns => {
  const takeSlot = createConcurrencyLimit()
  const turns = createPlanningQueue()
  return (principal, reply) => {
    takeSlot(principal, reply)
    const orgId = principal === null ? '' : statementOrgId(principal)
    return (search) =>
      turns(orgId, async (computed) => {
        const startedMs = performance.now()
        try {
          return search()
        } finally {
          computed(performance.now() - startedMs)
        }
      })
  }
}
