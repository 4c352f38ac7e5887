import type { FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '../../core/errors.ts'
import type { Meter } from '../interfaces.ts'

/** An `onRequest` hook of paths that need no credential: throws `Fault` RATE_LIMIT beyond the rate of an address. */
export const limitByAddress =
  (meter: Pick<Meter, 'take'>) =>
  async ({ caller }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { allowed, limit, resetAt, retryAfterSeconds } = await meter.take({ ip: caller })
    if (allowed) return
    reply.header('Retry-After', retryAfterSeconds)
    throw new Fault('RATE_LIMIT', undefined, { limit, remaining: 0, reset_at: resetAt })
  }
