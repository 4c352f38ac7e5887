import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../core/config.ts'
import { Fault } from '../../core/fault.ts'
import type { Logger } from '../../core/log.ts'
import type { Metrics } from '../../core/metrics.ts'
import type { Warehouse } from '../../core/warehouse.ts'
import { CUBES } from '../../schemas/cubes/all.ts'
import type { QuotaMeter } from '../billing/meter.ts'
import type { Freshness, Guard } from '../contract.ts'
import { installGuard } from '../http/guard-hooks.ts'
import { hasLeft } from '../http/plane.ts'
import { faultOf, problemOf } from '../http/problem.ts'
import { failure, publicErrors } from './answer.ts'
import { execute } from './execute.ts'
import { QUERY_LIMITS, type QueryLimits } from './limits.ts'
import { type GraphqlRequest, makePlanner, type Plan } from './plan.ts'
import { catalogueOf } from './schema.ts'

/** What the GraphQL surface works with. */
export interface GraphqlDeps {
  readonly warehouse: Pick<Warehouse, 'queryText'>
  readonly guard: Guard
  readonly meter: QuotaMeter
  readonly freshness: Freshness
  /** Chains that this installation holds data of, by internal id. */
  readonly chains: readonly string[]
  readonly config: Pick<Config, 'docsUrl' | 'errorsStatusMode'>
  readonly metrics: Pick<Metrics, 'authFailures'>
  readonly log: Logger
  readonly nowMs: () => number
  readonly limits?: Partial<QueryLimits>
}

const PATH = '/graphql'
const OTHER_METHODS = ['PUT', 'PATCH', 'DELETE'] as const
const JSON_TYPE = 'application/json; charset=utf-8'

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const parsedVariables = (value: unknown): Fields | undefined => {
  if (value === undefined || value === null || value === '') return {}
  if (isFields(value)) return value
  if (typeof value !== 'string') return undefined
  try {
    const parsed: unknown = JSON.parse(value)
    return parsed === null ? {} : isFields(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

/** Reads a body or a query string. Throws `Fault` BAD_REQUEST. */
const requestOf = (given: unknown): GraphqlRequest => {
  if (Array.isArray(given)) throw new Fault('BAD_REQUEST', 'A list of queries is not served')
  if (!isFields(given)) throw new Fault('BAD_REQUEST', 'The body must be a JSON object')
  const { query, operationName } = given
  if (typeof query !== 'string' || query.trim() === '')
    throw new Fault('BAD_REQUEST', `'query' must be a text`)
  const variables = parsedVariables(given.variables)
  if (!variables) throw new Fault('BAD_REQUEST', `'variables' must be an object`)
  if (operationName !== undefined && operationName !== null && typeof operationName !== 'string')
    throw new Fault('BAD_REQUEST', `'operationName' must be a text`)
  return { query, variables, ...(operationName && { operationName }) }
}

/** Aborts when the client closes its connection before the answer is out. */
const clientSignal = (reply: FastifyReply): AbortSignal => {
  const left = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) left.abort()
  })
  return left.signal
}

/** The gateway object: the failure envelope with the fields of the error body (contract/graphql.md 1). */
const sendFault = (
  { config, log, nowMs }: GraphqlDeps,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply => {
  const fault = faultOf(error)
  if (fault.status >= 500 && !hasLeft(request))
    log.error({ err: error, requestId: request.id }, 'query failed')
  const problem = problemOf(fault, {
    requestId: request.id,
    instance: PATH,
    nowMs: nowMs(),
    docsUrl: config.docsUrl,
    statusMode: config.errorsStatusMode,
  })
  if (problem.status === 503) reply.header('Retry-After', 1)
  const errors = [{ message: problem.message, locations: [] }]
  return reply
    .status(problem.status)
    .type(JSON_TYPE)
    .serializer((body: unknown) => JSON.stringify(body))
    .send({ data: null, errors, ...problem })
}

/** Serves POST and GET `/graphql` with its own guard and error shape (contract/graphql.md 1). */
export const graphqlPlugin = (deps: GraphqlDeps): FastifyPluginAsync => {
  const limits = { ...QUERY_LIMITS, ...deps.limits }
  const planner = makePlanner(catalogueOf(CUBES, deps.chains), limits)
  const answer = async (
    given: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const asked = requestOf(given)
    try {
      const plan = planner(asked)
      const body = await charged(deps, limits, plan, request, reply)
      return await reply.type(JSON_TYPE).send(body)
    } catch (error) {
      const errors = publicErrors(error)
      if (!errors) throw error
      return await reply.type(JSON_TYPE).send(failure(errors))
    }
  }
  return async (app) => {
    await app.register(async (scope) => {
      scope.removeContentTypeParser('text/plain')
      installGuard(scope, deps, 'graphql')
      scope.setErrorHandler((error, request, reply) => sendFault(deps, error, request, reply))
      mount(scope, answer)
    })
  }
}

const mount = (
  scope: FastifyInstance,
  answer: (given: unknown, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void => {
  const tags = ['graphql']
  scope.post(PATH, { schema: { summary: 'GraphQL', tags } }, (request, reply) =>
    answer(request.body, request, reply),
  )
  scope.get(PATH, { schema: { summary: 'GraphQL by query string', tags } }, (request, reply) =>
    answer(request.query, request, reply),
  )
  scope.route({
    method: [...OTHER_METHODS],
    url: PATH,
    schema: { hide: true },
    handler: (_request, reply) => {
      reply.header('Allow', 'GET, POST')
      throw new Fault('METHOD_NOT_ALLOWED')
    },
  })
}

/** Holds the worst case, runs, and settles what the rows cost. */
const charged = async (
  { warehouse, freshness, meter, nowMs }: GraphqlDeps,
  limits: QueryLimits,
  plan: Plan,
  { principal }: FastifyRequest,
  reply: FastifyReply,
): Promise<Buffer> => {
  const reservation = principal && meter.reserve(principal, plan.worstMilliUnits, 'graphql')
  try {
    const deps = { warehouse, freshness, limits, nowMs }
    const { body, milliUnits } = await execute(plan, deps, clientSignal(reply))
    reservation?.settle(milliUnits)
    return body
  } catch (error) {
    reservation?.release()
    throw error
  }
}
