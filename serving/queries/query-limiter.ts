import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import {
  createLimitedReads,
  emptyWork,
  type QueryCaller,
  type QueryMetrics,
  type QueryWork,
  type ReadStore,
} from './limited-reads.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What the engine did for the request; null before its caller is known. */
    work: QueryWork | null
  }
}

/** What routes read from: `createLimitedReader`. */
export type QueryReader = Pick<Warehouse, 'query'>

/**
 * Whose request the code runs for: a key into the asynchronous context, not a value of the process. So every read of a
 * route counts for its caller, whether or not its author thought of it.
 */
const callers = new AsyncLocalStorage<QueryCaller>()

/** On whose behalf the code runs. Asking outside of a request is a bug. */
export const requireQueryCaller = (): QueryCaller => {
  const caller = callers.getStore()
  if (!caller) throw new Error('query outside of a request')
  return caller
}

/** Runs work for the same caller that ends with the signal instead of the client's connection. Calling it outside of a request is a bug. */
export const runSharedWork = <T>(signal: AbortSignal, work: () => T): T =>
  callers.run({ ...requireQueryCaller(), signal }, work)

/** Aborts when the client closes its connection before the answer is out. */
export const clientDisconnectSignal = (reply: FastifyReply): AbortSignal => {
  const left = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) left.abort()
  })
  return left.signal
}

/** Notes for all routes of `app` on whose behalf they read, and which organization's places they take; behind the guard. */
export const installQueryCaller = (
  app: FastifyInstance,
  orgIdOf: (principal: NonNullable<FastifyRequest['principal']>) => string,
): void => {
  app.addHook('preHandler', (request: FastifyRequest, reply, done) => {
    const { principal } = request
    if (!principal) return done()
    const { plan } = principal
    const orgId = orgIdOf(principal)
    const work = emptyWork()
    request.work = work
    callers.run({ orgId, plan, signal: clientDisconnectSignal(reply), work }, done)
  })
}

/**
 * The reader of all REST routes of a process, which makes one and hands it to all: cheap reads that have a share of the engine beside composed queries, within the budget of the
 * caller's plan, organizations in turn. Throws what `LimitedReads` throws; reading outside of a request is a bug.
 */
export const createLimitedReader = (store: ReadStore, metrics: QueryMetrics): QueryReader => {
  const reads = createLimitedReads(store, { share: 'point', surface: 'rest', metrics })
  return {
    query: async (query) => reads.query(query, requireQueryCaller()),
  }
}
