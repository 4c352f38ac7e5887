import { FAULTS, type FaultName } from '../../core/errors.ts'
import { problemStatus, type StatusMode } from './problem-details.ts'

/** An operation as the document sees it; `path` is without its version. */
interface Operation {
  readonly method: string
  readonly path: string
  readonly scopes: readonly string[]
}

/** Faults that every operation with a credential can answer with. */
const COMMON_FAULTS: readonly FaultName[] = [
  ...(['BAD_REQUEST', 'UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMIT'] as const),
  ...(['INTERNAL_SERVER_ERROR', 'DATABASE_ERROR'] as const),
]

/** Operations that answer without asking the engine for rows. */
const OPERATIONS_WITHOUT_QUERIES =
  /^\/(?:account|oauth|webhook\/endpoint(?!\/:id\/(?:attempt|message|stats))|watchlist|dexscr)\b|\/calculate-pnl$/

/** Operations whose parameters name a record or a chain that may not exist. */
const OPERATIONS_WITH_LOOKUPS = /\/:chain|^\/token\/search$|^\/dex$/

/** Faults that operations have beyond those of every one, by what they do. */
const CONDITIONAL_FAULTS: readonly {
  readonly when: (operation: Operation) => boolean
  readonly faults: readonly FaultName[]
}[] = [
  { when: ({ path }) => OPERATIONS_WITH_LOOKUPS.test(path), faults: ['NOT_FOUND'] },
  {
    when: ({ path }) => path.includes('/endpoint/:id'),
    faults: ['WEBHOOKS_APPLICATION_NOT_FOUND'],
  },
  {
    when: ({ path }) => /:msgId(?!\/attempt)/.test(path),
    faults: ['WEBHOOK_MESSAGE_NOT_FOUND'],
  },
  {
    when: ({ path }) => !OPERATIONS_WITHOUT_QUERIES.test(path),
    faults: ['QUERY_TOO_EXPENSIVE', 'SERVER_BUSY'],
  },
  {
    when: ({ method }) => method !== 'GET',
    faults: ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'],
  },
  { when: ({ scopes }) => scopes.length > 0, faults: ['INSUFFICIENT_PERMISSIONS'] },
]

/** What single operations have beyond that. */
const FAULTS_BY_OPERATION: Readonly<Record<string, readonly FaultName[]>> = {
  'GET /token/:chain/:tokenAddress/similar': ['NOT_IMPLEMENTED'],
  'POST /webhook/endpoint': ['WEBHOOKS_ENDPOINT_LIMIT_REACHED', 'IDEMPOTENCY_CONFLICT'],
  'PATCH /webhook/endpoint': ['WEBHOOKS_APPLICATION_NOT_FOUND', 'CONFLICT'],
  'PATCH /webhook/endpoint/:id': ['CONFLICT'],
  'PUT /webhook/endpoint/:id': ['CONFLICT'],
  'POST /webhook/message/:msgId/endpoint/:id/resend': ['CONFLICT'],
  'POST /webhook/endpoint/:id/recover': ['CONFLICT'],
  'POST /webhook/endpoint/:id/replay': ['CONFLICT'],
  'POST /webhook/endpoint/:id/send-example': ['CONFLICT'],
  'GET /webhook/endpoint/:id/task/:taskId': ['NOT_FOUND'],
}

/** Faults that the admin API can answer with. */
export const ADMIN_FAULTS: readonly FaultName[] = [
  ...(['BAD_REQUEST', 'UNAUTHORIZED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'] as const),
  ...(['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'RATE_LIMIT'] as const),
  ...(['INTERNAL_SERVER_ERROR', 'DATABASE_ERROR'] as const),
]

/** Faults that a priced operation can answer with. */
export const operationFaults = (operation: Operation): readonly FaultName[] => [
  ...COMMON_FAULTS,
  ...CONDITIONAL_FAULTS.flatMap(({ when, faults }) => (when(operation) ? faults : [])),
  ...(FAULTS_BY_OPERATION[`${operation.method} ${operation.path}`] ?? []),
]

/** Answers to any request, of the HTTP parser, before there is a request; they have no body. */
export const PARSER_ERROR_RESPONSES = {
  408: { type: 'null', description: 'The request did not arrive in time' },
  431: { type: 'null', description: 'The header of the request is too large' },
} as const

/** What the document says of each status of `faults`. */
export const errorResponses = (
  faults: readonly FaultName[],
  statusMode: StatusMode,
): Readonly<Record<string, object>> => {
  const problem = { schema: { $ref: 'Problem#' } }
  const answer = (name: FaultName) => ({
    description: FAULTS[name].message,
    content: { 'application/problem+json': problem, 'application/json': problem },
  })
  return Object.fromEntries([
    ...faults
      .toReversed()
      .map((name) => [problemStatus({ faultName: name }, statusMode), answer(name)]),
  ])
}
