import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import { FAULTS } from '../../core/fault.ts'
import { MILLI } from '../../schemas/plans.ts'

/** Statuses that every priced route can answer with. */
const ERROR_STATUSES = [400, 401, 402, 403, 404, 429, 500] as const

const problem = (status: number) => ({
  description: Object.values(FAULTS).find((row) => row.status === status)?.message ?? 'Error',
  content: { 'application/problem+json': { schema: { $ref: 'Problem#' } } },
})

const ERRORS = Object.fromEntries(ERROR_STATUSES.map((status) => [status, problem(status)]))

const about = (origin: string) => ({
  title: 'Sluice',
  version: '2.0.0',
  description: `On-chain data over REST, of ${origin}. Every /v2 path also answers under /v1.`,
})

/**
 * Settings of the document at `/openapi.json`: written from the route schemas, with prices and credentials. `origin` says
 * in words where the data are from: a made-up chain is called so here too.
 */
export const openapiOptions = (origin: string): FastifyDynamicSwaggerOptions => ({
  openapi: {
    openapi: '3.1.0',
    info: about(origin),
    components: {
      securitySchemes: {
        bearer_auth: { type: 'http', scheme: 'bearer', description: 'An API key' },
        api_key_auth: { type: 'apiKey', in: 'header', name: 'X-API-KEY' },
      },
    },
  },
  refResolver: {
    buildLocalReference: (json, _baseUri, _fragment, index) => String(json.$id ?? `def-${index}`),
  },
  transform: ({ schema, url, route }) => {
    const { milliUnits, scopes = [] } = route.config ?? {}
    if (milliUnits === undefined) return { schema, url }
    return {
      url,
      schema: {
        ...schema,
        security: [{ bearer_auth: [...scopes] }, { api_key_auth: [] }],
        'x-cu-cost': milliUnits / MILLI,
        response: { ...ERRORS, ...(schema?.response as object | undefined) },
      },
    }
  },
})
