import { finished } from 'node:stream'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../core/config/settings.ts'
import { Fault, InvalidInput } from '../../core/errors.ts'
import { isJsonObject, parseJson } from '../../core/json.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { GRAPHQL_RESPONSES, GraphqlBody, GraphqlQuery } from '../../schemas/api/graphql.ts'
import { CUBES } from '../../schemas/cubes/all.ts'
import { maxConcurrentQueries, PLANS } from '../../schemas/plans.ts'
import type { QuotaMeter } from '../billing/meter.ts'
import { installGuard } from '../http/guard-hooks.ts'
import { hasDisconnected } from '../http/plane.ts'
import { isOverload, problemBody, retryAfterSeconds, toFault } from '../http/problem-details.ts'
import { clientDisconnectSignal } from '../http/query-limiter.ts'
import type { FreshnessReader, Guard, Principal } from '../interfaces.ts'
import {
  createLimitedReads,
  emptyWork,
  type LimitedReads,
  queryWorkMilliUnits,
  type ReadStore,
} from '../queries/limited-reads.ts'
import { errorEnvelope, publicErrors } from './errors.ts'
import { executePlan } from './execute.ts'
import { QUERY_LIMITS, type QueryLimits } from './limits.ts'
import { createPlanner, type GraphqlRequest, type Plan } from './plan.ts'
import { planWithQuota } from './plan-with-quota.ts'
import { createPlanningQueue } from './planning-queue.ts'
import { buildCubeSchema } from './schema.ts'

/** What the GraphQL surface works with. */
export interface GraphqlDeps {
  readonly warehouse: ReadStore
  readonly guard: Guard
  readonly meter: QuotaMeter
  readonly freshness: FreshnessReader
  /** Chains that this installation holds data of, by internal id. */
  readonly chains: readonly string[]
  readonly config: Pick<Config, 'docsUrl' | 'errorsStatusMode'>
  readonly metrics: Pick<Metrics, 'authFailures' | 'queryRejected'>
  readonly log: Logger
  readonly nowMs: () => number
  readonly limits?: Partial<QueryLimits>
}

const GRAPHQL_PATH = '/graphql'
const OTHER_METHODS = ['PUT', 'PATCH', 'DELETE'] as const
const JSON_TYPE = 'application/json; charset=utf-8'

type JsonObject = Readonly<Record<string, unknown>>

/** Of variables in a query string; a filter of ours nests half as deep. */
const MAX_VARIABLES_DEPTH = QUERY_LIMITS.maxDepth + 1

const parseVariables = (value: unknown): JsonObject | undefined => {
  if (value === undefined || value === null || value === '') return {}
  if (isJsonObject(value)) return value
  if (typeof value !== 'string') return undefined
  try {
    const parsed = parseJson(value, { maxDepth: MAX_VARIABLES_DEPTH })
    return parsed === null ? {} : isJsonObject(parsed) ? parsed : undefined
  } catch (error) {
    if (error instanceof InvalidInput) return undefined
    throw error
  }
}

/** Reads a body or a query string. Throws `Fault` BAD_REQUEST. */
const parseRequest = (given: unknown): GraphqlRequest => {
  if (Array.isArray(given)) throw new Fault('BAD_REQUEST', 'A list of queries is not served')
  if (!isJsonObject(given)) throw new Fault('BAD_REQUEST', 'The body must be a JSON object')
  const { query, operationName } = given
  if (typeof query !== 'string' || query.trim() === '')
    throw new Fault('BAD_REQUEST', `'query' must be a text`)
  const variables = parseVariables(given.variables)
  if (!variables) throw new Fault('BAD_REQUEST', `'variables' must be an object`)
  if (operationName !== undefined && operationName !== null && typeof operationName !== 'string')
    throw new Fault('BAD_REQUEST', `'operationName' must be a text`)
  return { query, variables, ...(operationName && { operationName }) }
}

/** The gateway object: the failure envelope with the fields of the error body. */
const sendFault = (
  { config, log, nowMs }: GraphqlDeps,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply => {
  const fault = toFault(error)
  if (fault.status >= 500 && !isOverload(fault) && !hasDisconnected(request))
    log.error({ err: error, requestId: request.id }, 'query failed')
  const problem = problemBody(fault, {
    requestId: request.id,
    instance: GRAPHQL_PATH,
    nowMs: nowMs(),
    docsUrl: config.docsUrl,
    statusMode: config.errorsStatusMode,
  })
  const seconds = retryAfterSeconds(fault)
  if (seconds !== undefined && !reply.hasHeader('Retry-After')) reply.header('Retry-After', seconds)
  const errors = [{ message: problem.message, locations: [] }]
  return reply
    .status(problem.status)
    .type(JSON_TYPE)
    .serializer((body: unknown) => JSON.stringify(body))
    .send({ data: null, errors, ...problem })
}

/** Serves POST and GET `/graphql` with its own guard and error shape. */
export const graphqlPlugin = (deps: GraphqlDeps): FastifyPluginAsync => {
  const limits = { ...QUERY_LIMITS, ...deps.limits }
  const reads = createLimitedReads(deps.warehouse, {
    share: 'scan',
    surface: 'graphql',
    metrics: deps.metrics,
  })
  const takeSlot = createConcurrencyLimit()
  const turns = createPlanningQueue()
  const planner = createPlanner(buildCubeSchema(CUBES, deps.chains), limits)
  const answer = async (
    given: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const asked = parseRequest(given)
    try {
      const { principal } = request
      takeSlot(principal, reply)
      const plan = await planWithQuota(asked, principal, {
        planner,
        meter: deps.meter,
        limits,
        turns,
      })
      const body = await executeAndCharge({ ...deps, reads }, limits, plan, request, reply)
      return await reply.type(JSON_TYPE).send(body)
    } catch (error) {
      const errors = publicErrors(error)
      if (!errors) throw error
      return await reply.type(JSON_TYPE).send(errorEnvelope(errors))
    }
  }
  return async (app) => {
    await app.register(async (scope) => {
      scope.removeContentTypeParser('text/plain')
      installGuard(scope, deps, 'graphql')
      scope.setErrorHandler((error, request, reply) => sendFault(deps, error, request, reply))
      mountRoutes(scope, answer)
    })
  }
}

const mountRoutes = (
  scope: FastifyInstance,
  answer: (given: unknown, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void => {
  const common = {
    tags: ['graphql'],
    security: [{ bearer_auth: [] }, { api_key_auth: [] }],
    response: GRAPHQL_RESPONSES,
  }
  // The schemas are for the document: `requestOf` reads what came, and says more of what is wrong with it.
  const attachValidation = true
  scope.post(
    GRAPHQL_PATH,
    { schema: { summary: 'GraphQL', ...common, body: GraphqlBody }, attachValidation },
    (request, reply) => answer(request.body, request, reply),
  )
  scope.get(
    GRAPHQL_PATH,
    {
      schema: { summary: 'GraphQL by query string', ...common, querystring: GraphqlQuery },
      attachValidation,
    },
    (request, reply) => answer(request.query, request, reply),
  )
  scope.route({
    method: [...OTHER_METHODS],
    url: GRAPHQL_PATH,
    schema: { hide: true },
    handler: (_request, reply) => {
      reply.header('Allow', 'GET, POST')
      throw new Fault('METHOD_NOT_ALLOWED')
    },
  })
}

/**
 * Counts a request of its organization until its answer is sent or its connection closed: an unsent answer holds memory.
 * Throws `Fault` CONCURRENCY_LIMIT where the plan allows no more.
 */
const createConcurrencyLimit = () => {
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

/** Holds the worst case, runs, and settles what the rows cost: what the engine did at least, also when it was in vain. */
const executeAndCharge = async (
  { reads, freshness, meter, nowMs }: GraphqlDeps & { readonly reads: LimitedReads },
  limits: QueryLimits,
  plan: Plan,
  { principal }: FastifyRequest,
  reply: FastifyReply,
): Promise<Buffer> => {
  if (principal === null) throw new Fault('UNAUTHORIZED')
  const reservation = meter.reserve(principal, plan.worstMilliUnits, 'graphql')
  const caller = { ...principal, signal: clientDisconnectSignal(reply), work: emptyWork() }
  try {
    const { body, milliUnits } = await executePlan(
      plan,
      { reads, freshness, limits, nowMs },
      caller,
    )
    reservation.settle(milliUnits)
    return body
  } catch (error) {
    const isOurs = !publicErrors(error) && !caller.signal.aborted
    reservation.settle(
      isOurs ? 0 : Math.min(plan.worstMilliUnits, queryWorkMilliUnits(caller.work)),
    )
    throw error
  }
}
