import { FAULTS, type FaultName } from '../../core/errors.ts'
import { PaymentRequired } from '../../schemas/api/payment.ts'
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
  // Where the signature of a contract wallet cannot be checked.
  ...(['CHAIN_CONNECTION_ERROR', 'PROVIDER_NOT_INITIALIZED', 'SERVER_BUSY'] as const),
]

/** Operations that answer without asking the engine for rows. */
const OPERATIONS_WITHOUT_QUERIES =
  /^\/(?:account|oauth|webhook\/endpoint(?!\/:id\/(?:attempt|message|stats))|jobs?|ky[at]|ipfs|watchlist|dexscr)\b|\/(?:calculate-pnl|estimate-gas-limit|dex\/:chain\/create|(?:transaction|redpacket)\/:chain\/send)$/

/** Operations whose parameters name a record or a chain that may not exist. */
const OPERATIONS_WITH_LOOKUPS = /\/:chain|^\/token\/search$|^\/dex$|^\/jobs?\//

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
  {
    when: ({ method, path }) => method === 'GET' && path.startsWith('/kyt/'),
    faults: ['NOT_FOUND'],
  },
  { when: ({ scopes }) => scopes.length > 0, faults: ['INSUFFICIENT_PERMISSIONS'] },
]

/** Refusals of a swap that is asked for, whatever is made of it. */
const SWAP_FAULTS: readonly FaultName[] = [
  ...(['LIQUIDITY_INSUFFICIENT', 'PRICE_IMPACT_TOO_HIGH', 'DEX_ROUTE_BUILD_FAILED'] as const),
  ...(['DEX_NOT_FOUND', 'CHAIN_SYNC_ERROR'] as const),
]

/** Refusals of an unsigned transaction of a swap. */
const BUILD_FAULTS: readonly FaultName[] = [
  ...SWAP_FAULTS,
  ...(['NOT_IMPLEMENTED', 'INSUFFICIENT_BALANCE', 'DEX_SWAP_SIMULATED_FAILED'] as const),
  ...(['PROVIDER_NOT_INITIALIZED', 'CHAIN_CONNECTION_ERROR'] as const),
]

/** What can go wrong with an aggregator elsewhere, where one is configured. */
const AGGREGATOR_FAULTS: readonly FaultName[] = [
  ...(['JUPITER_API_UNAUTHORIZED', 'JUPITER_API_RATE_LIMIT', 'JUPITER_API_BAD_REQUEST'] as const),
  ...(['JUPITER_API_ERROR', 'EXTERNAL_API_ERROR'] as const),
]

/** Refusals of an unsigned transaction that makes a token. */
const CREATION_FAULTS: readonly FaultName[] = [
  ...(['NOT_IMPLEMENTED', 'DEX_NOT_FOUND', 'INSUFFICIENT_BALANCE'] as const),
  ...(['LIQUIDITY_INSUFFICIENT', 'DEX_ROUTE_BUILD_FAILED'] as const),
  ...(['DEX_SWAP_SIMULATED_FAILED', 'TRANSACTION_SIZE_EXCEEDED'] as const),
  ...(['PROVIDER_NOT_INITIALIZED', 'CHAIN_CONNECTION_ERROR'] as const),
]

/** Refusals of a signed transaction. */
const SEND_FAULTS: readonly FaultName[] = [
  ...(['TRANSACTION_SIZE_EXCEEDED', 'NOT_IMPLEMENTED', 'API_USAGE_LIMIT_EXCEEDED'] as const),
  ...(['INSUFFICIENT_BALANCE', 'PROVIDER_NOT_INITIALIZED', 'CHAIN_CONNECTION_ERROR'] as const),
]

/** Refusals of an unsigned transaction of a red packet. */
const PACKET_FAULTS: readonly FaultName[] = [
  ...(['NOT_IMPLEMENTED', 'PROVIDER_NOT_INITIALIZED', 'CHAIN_CONNECTION_ERROR'] as const),
  'TRANSACTION_FAILED',
]

/** What single operations have beyond that. */
const FAULTS_BY_OPERATION: Readonly<Record<string, readonly FaultName[]>> = {
  'GET /dex/:chain/quote': SWAP_FAULTS,
  'POST /dex/:chain/route': [...BUILD_FAULTS, ...AGGREGATOR_FAULTS],
  'POST /dex/:chain/swap': [...BUILD_FAULTS, 'POOL_NOT_FOUND'],
  'POST /dex/:chain/create': CREATION_FAULTS,
  'POST /account/keys': ['CONFLICT', 'NOT_FOUND'],
  'DELETE /account/keys/:keyId': ['NOT_FOUND'],
  'DELETE /account/wallets/:wallet/:address': ['NOT_FOUND'],
  'POST /x402/link-address': ['CONFLICT', 'NOT_FOUND'],
  'GET /redpacket': ['NOT_FOUND'],
  'GET /redpacket/:id': ['RED_PACKET_NOT_FOUND'],
  'GET /redpacket/:id/claims': ['RED_PACKET_NOT_FOUND'],
  'POST /redpacket/:chain/create': [...PACKET_FAULTS, 'INSUFFICIENT_BALANCE'],
  'POST /redpacket/:chain/claim': [
    ...PACKET_FAULTS,
    ...(['RED_PACKET_NOT_FOUND', 'RED_PACKET_WITHDRAWN', 'RED_PACKET_ALREADY_CLAIMED'] as const),
  ],
  'POST /ipfs/presign': ['SIGNED_URL_FAILED'],
  'GET /token/:chain/:tokenAddress/similar': ['NOT_IMPLEMENTED'],
  'POST /transaction/:chain/estimate-gas-limit': [
    ...(['TRANSACTION_FAILED', 'CONCURRENCY_LIMIT'] as const),
    ...(['PROVIDER_NOT_INITIALIZED', 'CHAIN_CONNECTION_ERROR'] as const),
  ],
  'POST /transaction/:chain/send': [
    ...SEND_FAULTS,
    'TRANSACTION_FAILED',
    'BUNDLE_PROCESSING_FAILED',
  ],
  'POST /redpacket/:chain/send': [...SEND_FAULTS, 'RED_PACKET_TRANSACTION_ERROR'],
  ...Object.fromEntries(
    [
      ...['POST /kyt/address', 'POST /kyt/transfer', 'POST /kyt/withdrawal'],
      'POST /kya/address/verify',
    ].map((name) => [
      name,
      ['KYT_USAGE_LIMIT_EXCEEDED', 'NOT_IMPLEMENTED', 'CHAIN_NOT_SUPPORTED'] as const,
    ]),
  ),
  'POST /webhook/endpoint': ['WEBHOOKS_ENDPOINT_LIMIT_REACHED', 'CONFLICT', 'IDEMPOTENCY_CONFLICT'],
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

const SALE_FAULTS: readonly FaultName[] = [
  ...(['RATE_LIMIT', 'NOT_IMPLEMENTED', 'INTERNAL_SERVER_ERROR'] as const),
]

/** Faults of operations that need no credential, by path. */
const OPEN_FAULTS: Readonly<Record<string, readonly FaultName[]>> = {
  '/openapi.json': ['RATE_LIMIT'],
  '/x402/pricing': SALE_FAULTS,
  '/x402/status': [...SALE_FAULTS, 'BAD_REQUEST'],
  '/x402/purchase': [
    ...SALE_FAULTS,
    ...(['BAD_REQUEST', 'PAYMENT_REQUIRED', 'FORBIDDEN', 'CONFLICT', 'DATABASE_ERROR'] as const),
  ],
}

/** Faults of what needs no credential; paths that are not listed tell theirs themselves. */
export const openFaults = (path: string, method: string): readonly FaultName[] => {
  const faults = OPEN_FAULTS[path] ?? []
  return method === 'GET' || faults.length === 0
    ? faults
    : [...faults, 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE']
}

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

/** Of answers to calls with a payment, where paying per call is on. */
export const RECEIPT_HEADER = {
  'PAYMENT-RESPONSE': {
    type: 'string',
    description: 'How the payment of the call ended (x402 version 2), base 64',
  },
}
const TERMS_HEADER = {
  'PAYMENT-REQUIRED': { type: 'string', description: 'Payment terms (x402 version 2), base 64' },
}
const TERMS_ANSWER = {
  schema: PaymentRequired,
  headers: { ...TERMS_HEADER, ...RECEIPT_HEADER },
}

/** What the document says of each status of `faults`. */
export const errorResponses = (
  faults: readonly FaultName[],
  statusMode: StatusMode,
): Readonly<Record<string, object>> => {
  const answer = (name: FaultName) => {
    const { headers, schema } =
      name === 'PAYMENT_REQUIRED'
        ? TERMS_ANSWER
        : { headers: undefined, schema: { $ref: 'Problem#' } }
    return {
      description: FAULTS[name].message,
      ...(headers && { headers }),
      content: { 'application/problem+json': { schema }, 'application/json': { schema } },
    }
  }
  return Object.fromEntries([
    ...faults
      .toReversed()
      .map((name) => [problemStatus({ faultName: name }, statusMode), answer(name)]),
  ])
}
