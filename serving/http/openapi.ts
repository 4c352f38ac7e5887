import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { FAULTS } from '../../core/errors.ts'
import { MILLI } from '../../schemas/plans.ts'
import { entityTag, sendTagged } from './entity-tag.ts'
import { withNamedSchemas } from './named-schemas.ts'

/** Statuses that every priced route can answer with. */
const ERROR_STATUSES = [400, 401, 402, 403, 404, 429, 500] as const

const problem = (status: number) => ({
  description: Object.values(FAULTS).find((row) => row.status === status)?.message ?? 'Error',
  content: { 'application/problem+json': { schema: { $ref: 'Problem#' } } },
})

const ERRORS = Object.fromEntries(ERROR_STATUSES.map((status) => [status, problem(status)]))

/** What a document is about, and how its callers say who they are. */
export interface ApiDocument {
  readonly title: string
  readonly description: string
  readonly securitySchemes: NonNullable<
    NonNullable<
      NonNullable<FastifyDynamicSwaggerOptions['openapi']>['components']
    >['securitySchemes']
  >
}

/** The public API; `origin` says in words where the data are from: a made-up chain is called so here too. */
export const apiDocument = (origin: string): ApiDocument => ({
  title: 'Sluice',
  description: `On-chain data over REST, of ${origin}. Every /v2 path also answers under /v1.`,
  securitySchemes: {
    bearer_auth: {
      type: 'http',
      scheme: 'bearer',
      description: 'An access token of /oauth/token, or an API key',
    },
    api_key_auth: { type: 'apiKey', in: 'header', name: 'X-API-KEY' },
  },
})

/** A name for generated clients: the method and the words of the path, `getV2TokenByChainByTokenAddressPrice`. */
const operationIdOf = (method: string, url: string): string =>
  method.toLowerCase() +
  url
    .replaceAll(':', 'By-')
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('')

/** Settings of the document at `/openapi.json`: written from the route schemas, with prices, scopes and credentials. */
export const openapiOptions = ({
  title,
  description,
  securitySchemes,
}: ApiDocument): FastifyDynamicSwaggerOptions => ({
  openapi: {
    openapi: '3.1.0',
    info: { title, version: '2.0.0', description },
    components: { securitySchemes },
  },
  refResolver: {
    buildLocalReference: (json, _baseUri, _fragment, index) => String(json.$id ?? `def-${index}`),
  },
  transform: ({ schema, url, route }) => {
    const { milliUnits, scopes = [] } = route.config ?? {}
    const response = { ...ERRORS, ...(schema?.response as object | undefined) }
    const operationId = operationIdOf(String(route.method), url)
    if (milliUnits === undefined) {
      const described = schema?.security === undefined ? {} : { response }
      return { url, schema: { ...schema, operationId, ...described } }
    }
    return {
      url,
      schema: {
        ...schema,
        operationId,
        security: [{ bearer_auth: [...scopes] }, { api_key_auth: [] }],
        'x-cu-cost': milliUnits / MILLI,
        response,
      },
    }
  },
})

/** Serves the document. It is printed once: routes do not change once the plane listens. */
export const installDocument = (app: FastifyInstance): void => {
  let printed: { readonly body: string; readonly tag: string } | undefined
  const schema = { summary: 'This document', tags: ['ops'] }
  app.get('/openapi.json', { schema }, (request, reply) => {
    if (printed === undefined) {
      const body = JSON.stringify(withNamedSchemas({ ...app.swagger() }))
      printed = { body, tag: entityTag(body) }
    }
    reply.header('Cache-Control', 'public, no-cache').type('application/json; charset=utf-8')
    return sendTagged(request, reply, printed)
  })
}
