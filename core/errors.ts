/** The public error table and the two error classes. */

/** One public error: wire code, name, HTTP status and whether a client may repeat the call. */
export interface FaultDefinition {
  readonly code: number
  readonly status: number
  /** HTTP status of the reference API, sent with `errors.statusMode = reference`. */
  readonly reference: number
  readonly message: string
  readonly retry: boolean
}

const defineFault = (
  code: number,
  status: number,
  message: string,
  { reference = status, retry = false } = {},
): FaultDefinition => ({ code, status, reference, message, retry })

/** Every error that a REST, GraphQL or socket client can meet, by name. */
export const FAULTS = {
  BAD_REQUEST: defineFault(400, 400, 'The request could not be read'),
  VALIDATION_ERROR: defineFault(40001, 400, 'The request is not valid'),
  INVALID_PARAMETER: defineFault(40002, 400, 'A parameter is not valid'),
  INVALID_TOKEN: defineFault(40003, 401, 'The access token is malformed', { reference: 400 }),
  MISSING_PARAMETER: defineFault(40004, 400, 'A required parameter is missing'),
  INVALID_ADDRESS: defineFault(40005, 400, 'The wallet address is not valid on this chain'),
  LIQUIDITY_INSUFFICIENT: defineFault(40006, 422, 'The pools do not hold that much', {
    reference: 400,
  }),
  PRICE_IMPACT_TOO_HIGH: defineFault(40007, 422, 'The swap would move the price too far', {
    reference: 400,
  }),
  SLIPPAGE_TOO_HIGH: defineFault(40008, 400, 'The slippage is larger than allowed'),
  INVALID_TOKEN_ADDRESS: defineFault(40009, 400, 'The token address is not valid on this chain'),
  TRANSACTION_FAILED: defineFault(40010, 422, 'The transaction would fail', { reference: 400 }),
  PARAMETER_ERROR: defineFault(40013, 400, 'Exactly one of totalAmount and fixedAmount is needed'),
  INVALID_AMOUNT: defineFault(40014, 400, 'The amount is not a whole number of base units'),
  AMOUNT_TOO_SMALL: defineFault(40015, 400, 'The amount is too small'),
  AMOUNT_TOO_LARGE: defineFault(40016, 400, 'The amount is larger than any token can hold'),
  SAME_TOKEN_SWAP: defineFault(40017, 400, 'Both tokens are the same'),
  INVALID_SLIPPAGE: defineFault(40018, 400, 'The slippage is not a percentage'),
  SLIPPAGE_TOO_LOW: defineFault(40019, 400, 'The slippage must be above 0'),
  POOL_NOT_SUPPORTED: defineFault(40020, 400, 'Swaps of this pool are not offered'),
  UNSUPPORTED_SWAP_MODE: defineFault(40021, 400, 'The swap mode is ExactIn or ExactOut'),
  FEE_PARAMETER_ERROR: defineFault(40022, 400, 'The fee parameters do not go together'),
  NOT_IMPLEMENTED: defineFault(40024, 501, 'This installation does not offer that', {
    reference: 400,
  }),
  TRANSACTION_NOT_SIGNED: defineFault(40025, 400, 'The transaction is not signed'),
  TRANSACTION_SIGNATURE_MISSING: defineFault(
    40026,
    400,
    'The signature of the transaction is not valid',
  ),
  INVALID_CURSOR: defineFault(40027, 400, 'The cursor is not valid or has expired'),
  TOKEN_ADDRESSES_LIMIT_EXCEEDED: defineFault(40028, 400, 'More than 100 token addresses'),
  WALLET_ADDRESSES_LIMIT_EXCEEDED: defineFault(40029, 400, 'More than 100 wallet addresses'),
  POOL_INPUT_MISMATCH: defineFault(40030, 400, 'The pool does not trade these tokens'),
  INVALID_TIMESTAMP: defineFault(40031, 400, 'The timestamp is not valid'),
  INVALID_RESOLUTION: defineFault(40032, 400, 'The resolution is not one of the listed ones'),
  INVALID_NUMBER_FORMAT: defineFault(40033, 400, 'The number is not valid'),
  TRANSACTION_SIZE_EXCEEDED: defineFault(40039, 422, 'The transaction is too large', {
    reference: 400,
  }),
  QUERY_TOO_EXPENSIVE: defineFault(40041, 422, 'The query needs more than the plan allows'),
  CURSOR_EXPIRED: defineFault(40042, 410, 'The cursor is too far back to be continued'),
  UNAUTHORIZED: defineFault(401, 401, 'No valid credential'),
  PAYMENT_REQUIRED: defineFault(402, 402, 'Payment required'),
  FORBIDDEN: defineFault(403, 403, 'Not allowed'),
  INSUFFICIENT_PERMISSIONS: defineFault(40301, 403, 'The credential lacks a scope'),
  NOT_FOUND: defineFault(404, 404, 'Not found'),
  POOL_NOT_FOUND: defineFault(40401, 404, 'No such pool'),
  MARKET_INFO_NOT_FOUND: defineFault(40402, 404, 'No market data for this token'),
  CHAIN_NOT_FOUND: defineFault(40405, 404, 'No such chain'),
  DEX_NOT_FOUND: defineFault(40406, 404, 'No such DEX'),
  METHOD_NOT_ALLOWED: defineFault(405, 405, 'Method not allowed'),
  CONFLICT: defineFault(409, 409, 'Conflict'),
  IDEMPOTENCY_CONFLICT: defineFault(40901, 409, 'The idempotency key was used for another request'),
  PAYLOAD_TOO_LARGE: defineFault(413, 413, 'The body is too large'),
  UNSUPPORTED_MEDIA_TYPE: defineFault(415, 415, 'Unsupported media type'),
  RATE_LIMIT: defineFault(429, 429, 'Too many requests', { retry: true }),
  API_USAGE_LIMIT_EXCEEDED: defineFault(42901, 429, 'Usage limit reached'),
  KYT_USAGE_LIMIT_EXCEEDED: defineFault(42902, 429, 'No more risk registrations'),
  CONCURRENCY_LIMIT: defineFault(42903, 429, 'Too many queries at the same time', { retry: true }),
  INTERNAL_SERVER_ERROR: defineFault(500, 500, 'Internal error', { retry: true }),
  CHAIN_CONNECTION_ERROR: defineFault(50002, 503, 'No node of the chain answers', {
    reference: 500,
    retry: true,
  }),
  CHAIN_SYNC_ERROR: defineFault(50003, 503, 'The chain is behind', { reference: 500, retry: true }),
  DATABASE_ERROR: defineFault(50005, 503, 'The store is not available', {
    reference: 500,
    retry: true,
  }),
  SERVER_BUSY: defineFault(50301, 503, 'The server is busy', { retry: true }),
  CHAIN_NOT_SUPPORTED: defineFault(50008, 400, 'The chain is not enabled here', { reference: 500 }),
  DEX_NOT_SUPPORTED: defineFault(50009, 400, 'The DEX is not enabled here', { reference: 500 }),
  DEX_ROUTE_BUILD_FAILED: defineFault(50010, 422, 'No route between these tokens', {
    reference: 500,
  }),
  DEX_SWAP_SIMULATED_FAILED: defineFault(50012, 422, 'The swap fails when it is simulated', {
    reference: 500,
  }),
  INSUFFICIENT_BALANCE: defineFault(50017, 422, 'The balance does not suffice', {
    reference: 500,
  }),
  PROVIDER_NOT_INITIALIZED: defineFault(50018, 503, 'No node is configured for this chain', {
    reference: 500,
  }),
  JUPITER_API_UNAUTHORIZED: defineFault(
    50013,
    502,
    'Jupiter does not take the key of this installation',
    {
      reference: 500,
    },
  ),
  JUPITER_API_RATE_LIMIT: defineFault(50014, 503, 'Jupiter is asked too often', {
    reference: 500,
    retry: true,
  }),
  JUPITER_API_BAD_REQUEST: defineFault(50015, 502, 'Jupiter has no such route', { reference: 500 }),
  JUPITER_API_ERROR: defineFault(50016, 502, 'Jupiter has given no usable answer', {
    reference: 500,
  }),
  EXTERNAL_API_ERROR: defineFault(50029, 502, 'The aggregator has given no usable answer', {
    reference: 500,
  }),
  BUNDLE_PROCESSING_FAILED: defineFault(
    50031,
    502,
    'No protected endpoint has taken the transaction',
    { reference: 500 },
  ),
  SIGNED_URL_FAILED: defineFault(50025, 502, 'No storage for uploads is configured here', {
    reference: 500,
  }),
  RED_PACKET_INVALID_PARAMETER: defineFault(51000, 400, 'Neither packetId nor shareId is given', {
    reference: 510,
  }),
  RED_PACKET_NOT_FOUND: defineFault(51001, 404, 'No such red packet', { reference: 510 }),
  RED_PACKET_WITHDRAWN: defineFault(51002, 410, 'The red packet can no longer be claimed', {
    reference: 510,
  }),
  RED_PACKET_ALREADY_CLAIMED: defineFault(51003, 409, 'The address has claimed already', {
    reference: 510,
  }),
  RED_PACKET_TRANSACTION_ERROR: defineFault(51004, 502, 'The transaction was not taken', {
    reference: 510,
  }),
  WEBHOOKS_APPLICATION_NOT_FOUND: defineFault(52000, 404, 'No such webhook endpoint', {
    reference: 520,
  }),
  WEBHOOKS_ENDPOINT_LIMIT_REACHED: defineFault(52001, 409, 'No more webhook endpoints', {
    reference: 520,
  }),
  WEBHOOK_URL_NOT_ALLOWED: defineFault(52010, 400, 'The URL is not allowed'),
  WEBHOOK_FILTER_INVALID: defineFault(52011, 400, 'The filter is not valid'),
  WEBHOOK_SECRET_INVALID: defineFault(52012, 400, 'The secret is not valid'),
  WEBHOOK_MESSAGE_NOT_FOUND: defineFault(52013, 404, 'No such webhook message'),
} as const satisfies Record<string, FaultDefinition>

export type FaultName = keyof typeof FAULTS

/** The caller's mistake, or an outage as the caller may see it. Rendered by the HTTP, GraphQL and socket edges. */
export class Fault extends Error {
  readonly faultName: FaultName
  readonly code: number
  readonly status: number
  readonly details: Readonly<Record<string, unknown>> | undefined

  constructor(
    faultName: FaultName,
    message?: string,
    details?: Readonly<Record<string, unknown>>,
    options?: ErrorOptions,
  ) {
    super(message ?? FAULTS[faultName].message, options)
    this.name = 'Fault'
    this.faultName = faultName
    this.code = FAULTS[faultName].code
    this.status = FAULTS[faultName].status
    this.details = details
  }
}

/** Which dependency failed. */
export type Dependency = 'bus' | 'registry' | 'warehouse' | 'rpc' | 'disk'

/** A dependency did not answer as it must. `final`: trying again as it stands cannot help (a full disk, a fenced writer). */
export class Outage extends Error {
  readonly of: Dependency
  readonly final: boolean

  constructor(of: Dependency, message: string, options: ErrorOptions & { final?: boolean } = {}) {
    super(message, options)
    this.name = 'Outage'
    this.of = of
    this.final = options.final ?? false
  }
}

/** The log takes no record of that size: the same records together will be refused again, others will not. */
export class RecordTooLarge extends Outage {
  constructor(message: string, options?: ErrorOptions) {
    super('bus', message, options)
    this.name = 'RecordTooLarge'
  }
}

/** A value from outside that does not have the shape it must have: a block, a record, a file. Never retried. */
export class InvalidInput extends Error {
  readonly reason: string

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'InvalidInput'
    this.reason = reason
  }
}
