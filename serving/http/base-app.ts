import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { ulid } from 'ulid'
import type { Config } from '../../core/config/settings.ts'
import { Fault } from '../../core/errors.ts'
import {
  guardServer,
  type HttpSurface,
  type ListenerDeps,
  limitConnectionsPerAddress,
  rejectInvalidHttp,
} from '../../core/ops/http-server-guard.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { Problem } from '../../schemas/api/common.ts'
import { type ApiDocument, openapiOptions } from './openapi.ts'
import { installPlane, type PlaneDeps, planeServerOptions } from './plane.ts'
import { problemBody, problemMediaType, retryAfterSeconds, toFault } from './problem-details.ts'
import { reportFault } from './report-fault.ts'
import { allowedMethods, type KnownRoute } from './routing.ts'
import { createValidatorBuilder } from './schema-validator.ts'
import { installJsonParser, installTypedQueries, parseQuery } from './strict-parsing.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Every route so far, with its method. */
    readonly knownRoutes: readonly KnownRoute[]
  }
}

/** What every HTTP server needs. */
export interface BaseDeps extends Pick<PlaneDeps, 'tls'> {
  readonly metrics: Metrics
  readonly log: Logger
  readonly config: PlaneDeps['config'] &
    Pick<Config, 'docsUrl' | 'errorsStatusMode' | 'bodyLimitBytes'>
  readonly nowMs: () => number
}

const REQUEST_ID_PATTERN = /^[A-Za-z0-9_-]{8,64}$/
const REQUEST_TIMEOUT_MS = 30_000

/** What differs between the HTTP servers. */
export interface BaseOptions {
  readonly surface?: HttpSurface
  /** Registered before anything can refuse a request. */
  readonly first?: (app: FastifyInstance) => Promise<void>
}

/**
 * A server without routes: request ids, metrics, the one error body, 404 and 405, strict reading of queries and bodies, and
 * the document's settings.
 */
export const createBaseApp = async (
  deps: BaseDeps,
  document: ApiDocument,
  { surface = 'public', first = async () => undefined }: BaseOptions = {},
): Promise<FastifyInstance> => {
  const edge = { surface, metrics: deps.metrics, log: deps.log }
  const app = createFastify(deps, edge)
  guardServer(app.server, edge)
  const { httpConnections: most, trustedProxies: trusted } = deps.config
  limitConnectionsPerAddress(app.server, edge, { most, trusted })
  installPlane(app, deps)
  const routes: KnownRoute[] = []
  app.addHook('onRoute', ({ method, url }) => {
    for (const name of [method].flat()) if (url !== '*') routes.push({ method: name, url })
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.header('X-Request-Id', request.id)
  })
  app.addHook('onResponse', async (request, reply) => {
    const labels = { route: request.routeOptions.url ?? 'unknown', status: `${reply.statusCode}` }
    deps.metrics.requestSeconds.observe(labels, reply.elapsedTime / 1_000)
  })
  app.decorateRequest('terms', null)
  app.decorate('knownRoutes', { getter: () => routes })
  await first(app)
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) throw unknownRouteFault(allowedMethods(routes, requestPath(request)), reply)
  })
  installJsonParser(app)
  installTypedQueries(app)
  app.addSchema(Problem)
  await app.register(swagger, openapiOptions(document, deps.config.errorsStatusMode))
  app.setErrorHandler((error, request, reply) =>
    sendProblem({ ...deps, surface }, error, request, reply),
  )
  return app
}

const createFastify = (deps: BaseDeps, edge: ListenerDeps): FastifyInstance =>
  Fastify({
    logger: false,
    ...planeServerOptions(deps),
    bodyLimit: deps.config.bodyLimitBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    forceCloseConnections: true,
    requestIdHeader: false,
    genReqId: ({ headers }) => {
      const given = headers['x-request-id']
      return typeof given === 'string' && REQUEST_ID_PATTERN.test(given) ? given : ulid()
    },
    routerOptions: { querystringParser: parseQuery, maxParamLength: 512 },
    schemaController: { compilersFactory: { buildValidator: createValidatorBuilder() } },
    // The message of ours is made in `problem-details.ts`: this one would hold a line for each of thousands of wrong items.
    schemaErrorFormatter: () => new Error('not valid'),
    clientErrorHandler: rejectInvalidHttp(edge),
    frameworkErrors: (error, request, reply) =>
      sendProblem({ ...deps, surface: edge.surface }, error, request, reply),
  })

/** Thrown before the body is read: what was sent to a wrong path or method does not matter. */
const unknownRouteFault = (allowed: readonly string[], reply: FastifyReply): Fault => {
  if (allowed.length === 0) return new Fault('NOT_FOUND', 'No such path')
  reply.header('Allow', allowed.join(', '))
  return new Fault('METHOD_NOT_ALLOWED')
}

const requestPath = ({ url }: FastifyRequest): string => url.split('?', 1)[0] ?? url

const sendProblem = (
  { config, log, nowMs, metrics, surface }: BaseDeps & { readonly surface: HttpSurface },
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply => {
  const fault = toFault(error, {
    querystring: request.query,
    params: request.params,
    body: request.body,
  })
  reportFault({ log, metrics }, { request, error, fault, surface, message: 'request failed' })
  const body = problemBody(fault, {
    requestId: request.id,
    instance: requestPath(request),
    nowMs: nowMs(),
    docsUrl: config.docsUrl,
    statusMode: config.errorsStatusMode,
  })
  reply.header('X-Request-Id', request.id)
  const seconds = retryAfterSeconds(fault)
  if (seconds !== undefined && !reply.hasHeader('Retry-After')) reply.header('Retry-After', seconds)
  return reply
    .status(body.status)
    .header('Content-Type', problemMediaType(request.headers.accept))
    .serializer(JSON.stringify)
    .send(fault.faultName === 'PAYMENT_REQUIRED' ? { ...body, ...request.terms } : body)
}
