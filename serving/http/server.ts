import assert from 'node:assert/strict'
import cors from '@fastify/cors'
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { ulid } from 'ulid'
import { Fault } from '../../core/fault.ts'
import { opsAnswer } from '../../core/ops.ts'
import { Problem } from '../../schemas/api/common.ts'
import { boundedReader } from './bounded.ts'
import { candleRoutes } from './candles.ts'
import type { ServerDeps } from './deps.ts'
import { EXPOSED_HEADERS, installGuard } from './guard-hooks.ts'
import { openapiOptions } from './openapi.ts'
import { faultOf, problemMedia, problemOf, refuseInfinite } from './problem.ts'
import { type Family, type KnownRoute, methodsAt, VERSIONS } from './routing.ts'
import { tokenRoutes } from './token.ts'

const OPS_PATHS = ['/health', '/ready', '/metrics'] as const

const INBOUND_ID = /^[A-Za-z0-9_-]{8,64}$/
const REQUEST_LIMIT_MS = 30_000
const MAX_HEADER_BYTES = 16_384

/** Builds the API server with every route; listening is the caller's. `close()` ends open connections. */
export const makeServer = async (deps: ServerDeps): Promise<FastifyInstance> => {
  const app = newApp(deps)
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
  await app.register(cors, {
    origin: '*',
    exposedHeaders: [...EXPOSED_HEADERS],
    maxAge: 86_400,
    strictPreflight: false,
  })
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) throw unknownPath(methodsAt(routes, pathOf(request)), reply)
  })
  app.addSchema(Problem)
  await app.register(swagger, openapiOptions(deps.origin ?? 'the chains of this installation'))
  app.setErrorHandler((error, request, reply) => sendProblem(deps, error, request, reply))
  openRoutes(app, deps)
  const bounded = { ...deps, warehouse: boundedReader(deps.warehouse) }
  const families: readonly Family[] = [tokenRoutes(bounded), candleRoutes(bounded)]
  await app.register(async (guarded) => {
    guarded.addHook('onRoute', ({ url, config }) => {
      assert(config?.milliUnits !== undefined, `${url} has no price`)
    })
    guarded.addHook('preHandler', async ({ query }) => refuseInfinite(query))
    installGuard(guarded, deps)
    for (const prefix of VERSIONS) {
      for (const family of families) await guarded.register(family, { prefix })
    }
  })
  for (const plugin of deps.plugins ?? []) await app.register(plugin)
  await app.ready()
  return app
}

const newApp = (deps: ServerDeps): FastifyInstance =>
  Fastify({
    logger: false,
    bodyLimit: deps.config.bodyLimitBytes,
    requestTimeout: REQUEST_LIMIT_MS,
    forceCloseConnections: true,
    requestIdHeader: false,
    genReqId: ({ headers }) => {
      const given = headers['x-request-id']
      return typeof given === 'string' && INBOUND_ID.test(given) ? given : ulid()
    },
    http: { maxHeaderSize: MAX_HEADER_BYTES },
    routerOptions: { querystringParser: parseQuery, maxParamLength: 512 },
    ajv: { customOptions: { allErrors: true, coerceTypes: 'array', removeAdditional: false } },
    frameworkErrors: (error, request, reply) => sendProblem(deps, error, request, reply),
  })

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
  { config, log, nowMs }: ServerDeps,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply => {
  const fault = faultOf(error, {
    querystring: request.query,
    params: request.params,
    body: request.body,
  })
  if (fault.status >= 500) log.error({ err: error, requestId: request.id }, 'request failed')
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

const openRoutes = (app: FastifyInstance, deps: ServerDeps): void => {
  app.get('/openapi.json', { schema: { summary: 'This document', tags: ['ops'] } }, () =>
    app.swagger(),
  )
  for (const path of OPS_PATHS) {
    app.get(path, { schema: { summary: 'Operations', tags: ['ops'] } }, async (_request, reply) => {
      const answer = await opsAnswer(path, deps.metrics, deps.checks)
      return reply
        .status(answer?.status ?? 404)
        .header('Content-Type', answer?.type ?? 'text/plain')
        .send(answer?.body ?? '')
    })
  }
}
