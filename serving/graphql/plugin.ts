import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  onRequestAsyncHookHandler,
} from 'fastify'
import type { Config } from '../../core/config/settings.ts'
import { Fault, InvalidInput } from '../../core/errors.ts'
import { isJsonObject, parseJson } from '../../core/json.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { GRAPHQL_RESPONSES, GraphqlBody, GraphqlQuery } from '../../schemas/api/graphql.ts'
import { MILLI_UNITS_PER_UNIT } from '../../schemas/plans.ts'
import type { QuotaMeter } from '../billing/meter.ts'
import { acceptedType } from '../http/accepted-type.ts'
import { limitByAddress } from '../http/address-limit.ts'
import { createConcurrencyLimit } from '../http/concurrency-limit.ts'
import { installGuard } from '../http/guard-hooks.ts'
import { problemBody, retryAfterSeconds, toFault } from '../http/problem-details.ts'
import { reportFault } from '../http/report-fault.ts'
import type { FreshnessReader, Guard } from '../interfaces.ts'
import type { LimitedReads } from '../queries/limited-reads.ts'
import { clientDisconnectSignal } from '../queries/query-limiter.ts'
import { type AnswerFormat, formatFor, validateFormat } from './answer-format.ts'
import { createGraphqlEngine, type GraphqlEngineDeps } from './engine.ts'
import { errorEnvelope, type PublicError, publicErrors } from './errors.ts'
import { executePlan } from './execute.ts'
import { explorerPage, installExplorerFiles } from './explorer-page.ts'
import { QUERY_LIMITS, type QueryLimits } from './limits.ts'
import type { GraphqlRequest, Plan } from './plan.ts'
import { planWithQuota } from './plan-with-quota.ts'
import { runAndCharge } from './run-and-charge.ts'

/** What the GraphQL surface works with. */
export interface GraphqlDeps extends GraphqlEngineDeps {
  readonly guard: Guard
  readonly meter: QuotaMeter
  readonly freshness: FreshnessReader
  readonly config: Pick<Config, 'docsUrl' | 'errorsStatusMode'>
  readonly metrics: Pick<Metrics, 'authFailures' | 'edgeErrors'> & GraphqlEngineDeps['metrics']
  readonly log: Logger
  readonly nowMs: () => number
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
const parseRequest = (input: unknown): GraphqlRequest => {
  if (Array.isArray(input))
    throw new Fault('BAD_REQUEST', 'Batched queries are not supported: send one query per request')
  if (!isJsonObject(input)) throw new Fault('BAD_REQUEST', 'The body must be a JSON object')
  const { query, operationName } = input
  if (typeof query !== 'string' || query.trim() === '')
    throw new Fault('BAD_REQUEST', `'query' must be a text`)
  const variables = parseVariables(input.variables)
  if (!variables) throw new Fault('BAD_REQUEST', `'variables' must be an object`)
  if (operationName !== undefined && operationName !== null && typeof operationName !== 'string')
    throw new Fault('BAD_REQUEST', `'operationName' must be a text`)
  return { query, variables, ...(operationName && { operationName }) }
}

/** The gateway object: the failure envelope with the fields of the error body. */
const sendFault = (
  { config, log, metrics, nowMs }: GraphqlDeps,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply => {
  const fault = toFault(error)
  reportFault(
    { log, metrics },
    { request, error, fault, surface: 'public', message: 'query failed' },
  )
  const problem = problemBody(fault, {
    requestId: request.id,
    instance: GRAPHQL_PATH,
    nowMs: nowMs(),
    docsUrl: config.docsUrl,
    statusMode: config.errorsStatusMode,
  })
  const seconds = retryAfterSeconds(fault)
  if (seconds !== undefined && !reply.hasHeader('Retry-After')) reply.header('Retry-After', seconds)
  const { message, name: code } = problem
  const errors: readonly PublicError[] = [{ message, locations: [], extensions: { code } }]
  return reply
    .status(problem.status)
    .type(JSON_TYPE)
    .serializer((body: unknown) => JSON.stringify(body))
    .send({ data: null, errors, ...problem })
}

/** Serves POST and GET `/graphql` with its own guard and error shape. Without an engine that others share it makes its own. */
export const graphqlPlugin = (
  deps: GraphqlDeps,
  engine = createGraphqlEngine(deps),
): FastifyPluginAsync => {
  const { planner, turns, reads, limits } = engine
  const takeSlot = createConcurrencyLimit()
  const answer = async (
    input: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const parsedRequest = parseRequest(input)
    const format = formatFor(request.headers.accept)
    try {
      const { principal } = request
      takeSlot(principal, reply)
      const plan = await planWithQuota(parsedRequest, principal, {
        planner,
        meter: deps.meter,
        limits,
        turns,
      })
      validateFormat(plan, format)
      const running = { ...deps, reads, limits, format }
      const body = await answerPlan(running, plan, request, reply)
      return await reply.type(`${format.mediaType}; charset=utf-8`).send(body)
    } catch (error) {
      const errors = publicErrors(error)
      if (!errors) throw error
      // Without an envelope of its own the format would take it for rows.
      if (format.rowsOnly) reply.status(400)
      return await reply.type(JSON_TYPE).send(errorEnvelope(errors))
    }
  }
  return async (app) => {
    installExplorerFiles(app, deps)
    await app.register(async (scope) => {
      scope.removeContentTypeParser('text/plain')
      // The page stands before the guard: a browser that opens it has no credential yet.
      scope.addHook('onRequest', explorerHook(deps))
      installGuard(scope, deps, 'graphql')
      scope.setErrorHandler((error, request, reply) => sendFault(deps, error, request, reply))
      mountRoutes(scope, answer)
    })
  }
}

const JSON_MEDIA_TYPE = 'application/json'
const HTML_MEDIA_TYPE = 'text/html'

/** Answers a browser with GraphiQL: a GET that would rather have a page than JSON. */
const explorerHook = ({ meter }: Pick<GraphqlDeps, 'meter'>): onRequestAsyncHookHandler => {
  const limit = limitByAddress(meter)
  return async (request, reply) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return
    const type = acceptedType(request.headers.accept, [JSON_MEDIA_TYPE, HTML_MEDIA_TYPE])
    if (type !== HTML_MEDIA_TYPE) return
    await limit(request, reply)
    explorerPage(request, reply.header('Vary', 'Accept'))
    return reply
  }
}

const mountRoutes = (
  scope: FastifyInstance,
  answer: (input: unknown, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void => {
  const common = {
    tags: ['graphql'],
    security: [{ bearer_auth: [] }, { api_key_auth: [] }],
    response: GRAPHQL_RESPONSES,
  }
  // The schemas are for the document: `parseRequest` reads what came, and says more of what is wrong with it.
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

/** The body of a plan's answer, charged to the caller. */
const answerPlan = async (
  {
    reads,
    freshness,
    meter,
    nowMs,
    limits,
    format,
  }: Omit<GraphqlDeps, 'limits'> & {
    readonly reads: LimitedReads
    readonly limits: QueryLimits
    readonly format: AnswerFormat
  },
  plan: Plan,
  { principal }: FastifyRequest,
  reply: FastifyReply,
): Promise<Buffer> => {
  if (principal === null) throw new Fault('UNAUTHORIZED')
  const running = { reads, freshness, limits, nowMs, format }
  const signal = clientDisconnectSignal(reply)
  const { body, milliUnits } = await runAndCharge(
    { plan, principal, meter, signal },
    async (caller) => {
      const value = await executePlan(plan, running, caller)
      return { value, milliUnits: value.milliUnits }
    },
  )
  if (format.rowsOnly) reply.header('X-CU-Cost', String(milliUnits / MILLI_UNITS_PER_UNIT))
  return body
}
