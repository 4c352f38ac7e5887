import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { WEBHOOK_DOCUMENT } from '../../schemas/api/webhook-payloads.ts'
import { MILLI_UNITS_PER_UNIT } from '../../schemas/plans.ts'
import type { Meter } from '../interfaces.ts'
import { limitByAddress } from './address-limit.ts'
import { type DocumentSubjects, withExamples } from './document-examples.ts'
import { entityTag, sendWithEntityTag } from './entity-tag.ts'
import { extractComponents } from './openapi-components.ts'
import {
  ADMIN_FAULTS,
  errorResponses,
  openFaults,
  operationFaults,
  PARSER_ERROR_RESPONSES,
  RECEIPT_HEADER,
} from './openapi-faults.ts'
import type { StatusMode } from './problem-details.ts'

const DOCUMENT_PATH = '/openapi.json'

/** The answer to a caller that has the body already; see `installEntityTags`. */
const NOT_MODIFIED_RESPONSE = {
  304: {
    type: 'null',
    description: 'The caller has this answer already: If-None-Match names its ETag',
    headers: { ETag: { type: 'string' } },
  },
}

const integerHeader = (description: string) => ({ type: 'integer', description })

/** Headers of a successful answer to a caller with a credential. */
const LIMIT_HEADERS = {
  'X-RateLimit-Limit': integerHeader('Requests per second of the organization'),
  'X-RateLimit-Remaining': integerHeader('Requests that may come at once now, the burst included'),
  'X-RateLimit-Reset': integerHeader('Unix second at which that is full again'),
  'X-CU-Cost': { type: 'number', description: 'Compute units that the call was charged' },
  'X-Quota-Remaining': { type: 'number', description: 'Units left this month, -1 = without end' },
}

const RETRY_HEADERS = { 'Retry-After': integerHeader('Seconds until the call may be repeated') }
const REPEATED_STATUSES: ReadonlySet<string> = new Set(['429', '503'])

/** The answers of a route with the headers that callers may count on; 429 and 503 can say when to come again. */
const withLimitHeaders = (response: object, isPayable: boolean): object =>
  Object.fromEntries(
    Object.entries(response).map(([status, answer]: [string, { readonly headers?: object }]) => {
      const own = {
        ...(status === '200' && LIMIT_HEADERS),
        ...(status === '200' && isPayable && RECEIPT_HEADER),
        ...(REPEATED_STATUSES.has(status) && RETRY_HEADERS),
      }
      const headers = { ...answer.headers, ...own }
      return [status, Object.keys(headers).length === 0 ? answer : { ...answer, headers }]
    }),
  )

const IF_NONE_MATCH_HEADER = {
  type: 'object',
  properties: {
    'If-None-Match': { type: 'string', description: 'The ETag of an answer that the caller has' },
  },
}

/** What a document is about, and how its callers say who they are. */
export interface ApiDocument {
  readonly title: string
  readonly description: string
  /** What is sent to callers, by name; absent: nothing. */
  readonly webhooks?: Readonly<Record<string, unknown>>
  readonly securitySchemes: NonNullable<
    NonNullable<
      NonNullable<FastifyDynamicSwaggerOptions['openapi']>['components']
    >['securitySchemes']
  >
}

/** The public API; `origin` says in words where the data are from: a simulated chain is called so here too. */
export const apiDocument = (origin: string): ApiDocument => ({
  title: 'Sluice',
  description: `On-chain data over REST, of ${origin}. Every /v2 path also answers under /v1. Where paying per call (x402) is on, operations with x-payable answer 402 with terms to a caller without a credential, and take a payment.`,
  webhooks: WEBHOOK_DOCUMENT,
  securitySchemes: {
    bearer_auth: {
      type: 'http',
      scheme: 'bearer',
      description:
        'An access token of POST /oauth/token (client credentials), or an API key. A linked wallet sends `Authorization: SIWX`, its message in base 64, a point and its signature.',
    },
    api_key_auth: { type: 'apiKey', in: 'header', name: 'X-API-KEY' },
  },
})

/** A name for generated clients: the method and the words of the path, `getV2TokenByChainByTokenAddressPrice`. */
const createOperationId = (method: string, url: string): string =>
  method.toLowerCase() +
  url
    .replaceAll(':', 'By-')
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('')

/** Version segments are not part of an operation's name in the tables. */
const VERSION_SEGMENT = /^\/v\d+(?=\/)|(?<=^\/wallet)\/v\d+/

/** What the document says of a route that has a price. */
const pricedRouteSchema = (
  { method, url, milliUnits, scopes, isPayable }: PricedRoute,
  statusMode: StatusMode,
): FastifySchema & { readonly 'x-cu-cost': number; readonly 'x-payable': boolean } => {
  const operation = { method, path: url.replace(VERSION_SEGMENT, ''), scopes }
  const faults = [
    ...operationFaults(operation),
    ...(isPayable ? (['PAYMENT_REQUIRED'] as const) : []),
  ]
  const isTagged = method === 'GET' && scopes.length === 0
  return {
    security: [{ bearer_auth: [...scopes] }, { api_key_auth: [] }],
    'x-cu-cost': milliUnits / MILLI_UNITS_PER_UNIT,
    'x-payable': isPayable,
    ...(isTagged && { headers: IF_NONE_MATCH_HEADER }),
    response: { ...(isTagged && NOT_MODIFIED_RESPONSE), ...errorResponses(faults, statusMode) },
  }
}

/** Settings of the document at `/openapi.json`: written from the route schemas, with prices, scopes and credentials. */
export const openapiOptions = (
  { title, description, securitySchemes, webhooks }: ApiDocument,
  statusMode: StatusMode,
): FastifyDynamicSwaggerOptions => ({
  openapi: {
    openapi: '3.1.0',
    info: { title, version: '2.0.0', description },
    components: { securitySchemes },
    ...(webhooks && { webhooks }),
  },
  refResolver: {
    buildLocalReference: (json, _baseUri, _fragment, index) => String(json.$id ?? `def-${index}`),
  },
  transform: ({ schema, url, route }) => {
    const { milliUnits, scopes = [], isPayable = false } = route.config ?? {}
    const method = String(route.method)
    const operationId = createOperationId(method, url)
    const own = schema?.response as object | undefined
    const isAdmin = milliUnits === undefined && schema?.security !== undefined
    const more: FastifySchema =
      milliUnits === undefined
        ? { response: errorResponses(isAdmin ? ADMIN_FAULTS : openFaults(url, method), statusMode) }
        : pricedRouteSchema({ method, url, milliUnits, scopes, isPayable }, statusMode)
    const response = {
      ...own,
      ...PARSER_ERROR_RESPONSES,
      ...(definesErrorResponses(own) ? {} : (more.response as object)),
    }
    const answers = milliUnits === undefined ? response : withLimitHeaders(response, isPayable)
    return { url, schema: { ...schema, operationId, ...more, response: answers } }
  },
})

/** Some routes have errors of another shape, which their schemas tell. */
const definesErrorResponses = (response: object = {}): boolean => Object.hasOwn(response, '400')

interface PricedRoute {
  readonly method: string
  readonly url: string
  readonly milliUnits: number
  readonly scopes: readonly string[]
  /** A client without an account can pay for the call. */
  readonly isPayable: boolean
}

/**
 * Serves the document. It is printed once, before the plane listens: that takes half a second, in which a request would keep all
 * others waiting. A whole product in one process prints it again with the first request after it has something that examples can be about.
 */
export const installOpenApiDocument = (
  app: FastifyInstance,
  {
    meter,
    documentSubjects: subjects = () => undefined,
  }: {
    readonly meter: Pick<Meter, 'take'>
    readonly documentSubjects?: () => DocumentSubjects | undefined
  },
): void => {
  // Bytes, not text: text is encoded anew for each answer, and lies in memory as often as it is unread.
  let printed = { body: Buffer.alloc(0), tag: '' }
  let shown: DocumentSubjects | undefined
  const print = (): void => {
    shown = subjects()
    const document = withExamples(extractComponents({ ...app.swagger() }), shown)
    const body = Buffer.from(JSON.stringify(document))
    printed = { body, tag: entityTag(body) }
  }
  app.addHook('onReady', async () => print())
  const response = { 200: { type: 'object', additionalProperties: true }, ...NOT_MODIFIED_RESPONSE }
  const schema = { summary: 'This document', tags: ['ops'], response }
  app.get(DOCUMENT_PATH, { schema, onRequest: limitByAddress(meter) }, (request, reply) => {
    if (subjects() !== shown) print()
    reply.header('Cache-Control', 'public, no-cache').type('application/json; charset=utf-8')
    return sendWithEntityTag(request, reply, printed)
  })
}
