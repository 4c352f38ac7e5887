import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { ulid } from 'ulid'
import type { Config } from '../../core/config.ts'
import { Fault } from '../../core/fault.ts'
import type { Logger } from '../../core/log.ts'
import type { Metrics } from '../../core/metrics.ts'
import { Problem } from '../../schemas/api/common.ts'
import { type ApiDocument, openapiOptions } from './openapi.ts'
import { hasLeft, installPlane, type PlaneDeps, planeOptions } from './plane.ts'
import { faultOf, problemMedia, problemOf } from './problem.ts'
import { type KnownRoute, methodsAt } from './routing.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Every route so far, with its method. */
    readonly knownRoutes: readonly KnownRoute[]
  }
}

/** What every HTTP server of the house needs. */
export interface BaseDeps extends Pick<PlaneDeps, 'tls'> {
  readonly metrics: Metrics
  readonly log: Logger
  readonly config: PlaneDeps['config'] &
    Pick<Config, 'docsUrl' | 'errorsStatusMode' | 'bodyLimitBytes'>
  readonly nowMs: () => number
}

const INBOUND_ID = /^[A-Za-z0-9_-]{8,64}$/
const REQUEST_LIMIT_MS = 30_000

/**
 * A server without routes: request ids, metrics, the one error body, 404 and 405, and the document's settings. `first`
 * is registered before anything can refuse a request.
 */
export const makeBaseApp = async (
  deps: BaseDeps,
  document: ApiDocument,
  first: (app: FastifyInstance) => Promise<void> = async () => undefined,
): Promise<FastifyInstance> => {
  const app = newApp(deps)
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
  app.decorate('knownRoutes', { getter: () => routes })
  await first(app)
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) throw unknownPath(methodsAt(routes, pathOf(request)), reply)
  })
  acceptEmptyJson(app)
  app.addSchema(Problem)
  await app.register(swagger, openapiOptions(document))
  app.setErrorHandler((error, request, reply) => sendProblem(deps, error, request, reply))
  return app
}

const newApp = (deps: BaseDeps): FastifyInstance =>
  Fastify({
    logger: false,
    ...planeOptions(deps),
    bodyLimit: deps.config.bodyLimitBytes,
    requestTimeout: REQUEST_LIMIT_MS,
    forceCloseConnections: true,
    requestIdHeader: false,
    genReqId: ({ headers }) => {
      const given = headers['x-request-id']
      return typeof given === 'string' && INBOUND_ID.test(given) ? given : ulid()
    },
    routerOptions: { querystringParser: parseQuery, maxParamLength: 512 },
    ajv: { customOptions: { allErrors: true, coerceTypes: 'array', removeAdditional: false } },
    frameworkErrors: (error, request, reply) => sendProblem(deps, error, request, reply),
  })

/** Clients name JSON on calls that have no body too; then there is none. Everything else is read as ever. */
const acceptEmptyJson = (app: FastifyInstance): void => {
  const read = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string' },
    (request, body, done) => (body === '' ? done(null, undefined) : read(request, body, done)),
  )
}

/** Repeated keys become arrays; `key[]` is the same as `key` (contract/rest.md 1.8). */
const parseQuery = (text: string): Record<string, string | string[]> => {
  const values = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(text)) {
    const key = name.endsWith('[]') ? name.slice(0, -2) : name
    const list = values.get(key)
    if (list) list.push(value)
    else values.set(key, [value])
  }
  return Object.fromEntries(
    [...values].map(([key, list]) => [key, list.length === 1 ? (list[0] ?? '') : list]),
  )
}

/** Thrown before the body is read: what was sent to a wrong path or method does not matter. */
const unknownPath = (allowed: readonly string[], reply: FastifyReply): Fault => {
  if (allowed.length === 0) return new Fault('NOT_FOUND', 'No such path')
  reply.header('Allow', allowed.join(', '))
  return new Fault('METHOD_NOT_ALLOWED')
}

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0] ?? url

const sendProblem = (
  { config, log, nowMs }: BaseDeps,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply => {
  const fault = faultOf(error, {
    querystring: request.query,
    params: request.params,
    body: request.body,
  })
  if (fault.status >= 500 && !hasLeft(request))
    log.error({ err: error, requestId: request.id }, 'request failed')
  const body = problemOf(fault, {
    requestId: request.id,
    instance: pathOf(request),
    nowMs: nowMs(),
    docsUrl: config.docsUrl,
    statusMode: config.errorsStatusMode,
  })
  reply.header('X-Request-Id', request.id)
  if (body.status === 503) reply.header('Retry-After', 1)
  return reply
    .status(body.status)
    .header('Content-Type', problemMedia(request.headers.accept))
    .serializer(JSON.stringify)
    .send(body)
}
