const UNITS_PER_MONTH = 10_000_000
const PERIOD = { from: '2026-01-01T00:00:00.000Z', to: '2026-02-01T00:00:00.000Z' }
const ROUTE = { route: 'GET /token/:chain/:tokenAddress', calls: 40, used: 40 }
const DAY = { day: '2026-01-05', calls: 40, used: 40 }
const ACCOUNT = { used: 40, total: UNITS_PER_MONTH, remaining: UNITS_PER_MONTH - 40 }

const RATE = { limit: 50, burst: 100, remaining: 99, resetAt: 1_767_614_401 }
const LIMITS = { queriesAtOnce: 5, apiKeys: 20, wallets: 20 }

const MADE_AT = '2026-01-05T12:15:00.000Z'
const ENDPOINT_ID = 'ep_01JD0000000000000000000000'
const MESSAGE_ID = 'msg_01JD0000000000000000000000'
const SECRET = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='

const API_KEY = {
  keyId: 'key_01JD0000000000000000000000',
  prefix: 'sluice_live_',
  scopes: ['webhook.read'],
  expiresAt: '2027-01-01T00:00:00.000Z',
  createdAt: MADE_AT,
}
const WALLET = {
  chain: 'evm',
  address: '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a',
  linkedAt: MADE_AT,
}
const SIGN_IN_MESSAGE = [
  ...['api.example.com wants you to sign in with your Ethereum account:', WALLET.address, ''],
  ...['Sign in to the API', '', 'URI: https://api.example.com', 'Version: 1', 'Chain ID: 8453'],
  ...['Nonce: 00112233445566778899aabbccddeeff', 'Issued At: 2026-01-05T12:15:00Z'],
  'Expiration Time: 2026-01-05T13:15:00Z',
].join('\n')

const WISHES = {
  url: 'https://hooks.example.com/sluice',
  channels: ['sol.token.created'],
  description: 'New tokens',
}
const ENDPOINT = {
  id: ENDPOINT_ID,
  ...WISHES,
  disabled: false,
  createdAt: MADE_AT,
  updatedAt: MADE_AT,
  version: 1,
}
const ATTEMPT = {
  id: 'atmpt_01JD0000000000000000000000',
  msgId: MESSAGE_ID,
  endpointId: ENDPOINT_ID,
  channel: 'sol.token.created',
  url: WISHES.url,
  status: 'success',
  responseStatusCode: 200,
  response: 'ok',
  responseDurationMs: 42,
  errorKind: null,
  error: null,
  triggerType: 'scheduled',
  attemptNumber: 1,
  timestamp: MADE_AT,
  nextAttempt: null,
}
const TASK = {
  id: 'task_01JD0000000000000000000000',
  endpointId: ENDPOINT_ID,
  kind: 'recover',
  status: 'running',
  since: PERIOD.from,
  until: MADE_AT,
  queued: 200,
  lookedAt: 200,
  error: null,
  createdAt: MADE_AT,
  updatedAt: MADE_AT,
}
const HEALTH = {
  state: 'healthy',
  failuresInRow: 0,
  lastSuccessAt: MADE_AT,
  lastFailureAt: null,
  firstFailureAt: null,
}
const STATS = {
  ...{ success: 40, pending: 0, sending: 1, fail: 0, canceled: 0, dropped: 0 },
  ...{ filtered: 12, filterErrors: 0, p50Ms: 42, p95Ms: 90 },
  health: HEALTH,
}
const ENDPOINT_MESSAGE = {
  id: MESSAGE_ID,
  channel: 'sol.token.created',
  status: 'success',
  attempts: 1,
  lastAttempt: ATTEMPT,
  nextAttempt: null,
}
const MESSAGE =
  '{"a":"66btqktspeHP118gsQM2ssNE9srrb8PvH1UryC1Xpump","n":"Pixel Moth","s":"MOTH","dec":6,"cts":1767614400000}'

const list = <Item>(item: Item) => ({ data: [item], items: [item], nextCursor: '', hasMore: false })

/** A query for the newest trade. */
export const QUERY = 'query Trades { Solana { DEXTrades(limit: {count: 1}) { Block { Time } } } }'

const LOCATION = { line: 1, column: 3 }
const GRAPHQL_ERROR = {
  message: "Unknown field 'Nothing' on type 'ChainStream'",
  locations: [LOCATION],
  extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
}
const REQUEST_ID = '01JD0000000000000000000000'

const problem = (code: number, name: string, text: string, message: string) => ({
  type: `https://sluice.invalid/errors/${code}`,
  title: text,
  status: 400,
  detail: message,
  code,
  name,
  message,
  requestId: REQUEST_ID,
  timestamp: MADE_AT,
})

const AUTH = {
  TokenRequest: {
    grant_type: 'client_credentials',
    client_id: 'app_01JD0000000000000000000000',
    client_secret: 'the secret of the application',
    audience: 'http://127.0.0.1:8080/',
    scope: 'webhook.read webhook.write',
  },
  AccessToken: {
    access_token: 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhcHAifQ.c2lnbmF0dXJl',
    token_type: 'Bearer',
    expires_in: 86_400,
    scope: 'webhook.read webhook.write',
  },
  OAuthError: {
    error: 'invalid_request',
    error_description: 'grant_type is required',
    requestId: REQUEST_ID,
  },
  KeySet: {
    keys: [{ kty: 'RSA', kid: 'key_01JD', use: 'sig', alg: 'RS256', n: 'sXch', e: 'AQAB' }],
  },
  TokenService: {
    issuer: 'http://127.0.0.1:8080/',
    token_endpoint: 'http://127.0.0.1:8080/oauth/token',
    jwks_uri: 'http://127.0.0.1:8080/.well-known/jwks.json',
    grant_types_supported: ['client_credentials'],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
    scopes_supported: ['webhook.read', 'webhook.write', 'kyt.read', 'kyt.write'],
  },
}

const WEBHOOKS = {
  WebhookPriceLevel: {
    token: 'So11111111111111111111111111111111111111112',
    priceInUsd: 150,
  },
  CreateWebhook: WISHES,
  UpdateWebhook: { endpointId: ENDPOINT_ID, description: 'Every new token' },
  UpdateWebhookAt: { description: 'Every new token' },
  RotateWebhook: { gracePeriodSeconds: 3_600 },
  WebhookEndpoint: ENDPOINT,
  EndpointListResponse: { ...list(ENDPOINT), done: true, iterator: null, prevIterator: null },
  WebhookSecret: { secret: SECRET },
  WebhookAttempt: ATTEMPT,
  WebhookAttemptPage: list(ATTEMPT),
  RecoverWebhook: { since: PERIOD.from },
  ReplayWebhook: { since: PERIOD.from, until: MADE_AT, channels: ['sol.token.created'] },
  SendWebhookExample: { channel: 'sol.token.created' },
  WebhookExampleSent: { success: true, msgId: 'msg_test_01JD0000000000000000000000' },
  WebhookTask: TASK,
  WebhookTaskList: list(TASK),
  WebhookHealth: HEALTH,
  WebhookStats: STATS,
  WebhookEndpointMessage: ENDPOINT_MESSAGE,
  WebhookEndpointMessagePage: list(ENDPOINT_MESSAGE),
  WebhookMessage: {
    id: MESSAGE_ID,
    channel: 'sol.token.created',
    payload: MESSAGE,
    timestamp: MADE_AT,
    createdAt: MADE_AT,
  },
}

const GRAPHQL = {
  GraphqlRequest: { query: QUERY, variables: {}, operationName: 'Trades' },
  GraphqlAnswer: { data: { Solana: { DEXTrades: [{ Block: { Time: '2026-01-05T12:15:00Z' } }] } } },
  GraphqlError: GRAPHQL_ERROR,
  GraphqlLocation: LOCATION,
  GraphqlRefusal: {
    data: null,
    errors: [{ message: "'query' must be a text", locations: [] }],
    ...problem(400, 'BAD_REQUEST', 'The request could not be read', "'query' must be a text"),
    instance: '/graphql',
  },
}

/** Examples of named schemas with values that differ with every call, and of bodies that callers send. */
export const WRITTEN_EXAMPLES: Readonly<Record<string, unknown>> = {
  ...AUTH,
  ...WEBHOOKS,
  ...GRAPHQL,
  AccountUsage: { period: PERIOD, ...ACCOUNT, byRoute: [ROUTE], byDay: [DAY] },
  AccountPlan: {
    plan: 'starter',
    requestsPerSecond: 50,
    ...ACCOUNT,
    resetAt: PERIOD.to,
    ...{ rate: RATE, limits: LIMITS },
  },
  AccountRate: RATE,
  AccountLimits: LIMITS,
  CreateApiKey: { scopes: ['webhook.read'], expiresAt: 1_798_761_600_000 },
  ApiKey: API_KEY,
  ApiKeyPage: list(API_KEY),
  NewApiKey: { ...API_KEY, apiKey: 'the key, shown this once' },
  LinkAddress: {
    chain: 'evm',
    address: WALLET.address,
    message: SIGN_IN_MESSAGE,
    signature: `0x${'00'.repeat(65)}`,
  },
  LinkedWallet: WALLET,
  LinkedWalletPage: list(WALLET),
  UsagePeriod: PERIOD,
  RouteUsage: ROUTE,
  DayUsage: DAY,
  CalculatePnl: { tokenAddresses: ['66btqktspeHP118gsQM2ssNE9srrb8PvH1UryC1Xpump'] },
  Success: { success: true },
  Probe: { status: 'ok' },
  Problem: {
    ...problem(
      ...([
        40002,
        'INVALID_PARAMETER',
        'A parameter is not valid',
        'limit must be <= 100',
      ] as const),
    ),
    instance: '/v2/token/search',
    details: { parameter: 'limit', value: 101 },
  },
}
