import { finished } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { Fault } from '../../core/errors.ts'
import { maxConcurrentQueries, PLANS } from '../../schemas/plans.ts'
import type { Principal } from '../interfaces.ts'

/**
 * Requests of one organization at the same time, as many as its plan has queries; a request counts until its answer is out or its
 * caller gone. Throws `Fault` CONCURRENCY_LIMIT.
 */
export const createConcurrencyLimit = () => {
  const running = new Map<string, number>()
  return (principal: Principal | null, { raw }: FastifyReply): void => {
    if (principal === null) return
    const { orgId, plan } = principal
    const count = running.get(orgId) ?? 0
    const limit = maxConcurrentQueries(PLANS[plan])
    if (count >= limit) throw new Fault('CONCURRENCY_LIMIT', undefined, { limit })
    running.set(orgId, count + 1)
    finished(raw, () => {
      const left = (running.get(orgId) ?? 1) - 1
      if (left === 0) running.delete(orgId)
      else running.set(orgId, left)
    })
  }
}
