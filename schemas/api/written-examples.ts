const UNITS_PER_MONTH = 10_000_000
const PERIOD = { from: '2026-01-01T00:00:00.000Z', to: '2026-02-01T00:00:00.000Z' }
const ROUTE = { route: 'GET /token/:chain/:tokenAddress', calls: 40, used: 40 }
const DAY = { day: '2026-01-05', calls: 40, used: 40 }
const ACCOUNT = { used: 40, total: UNITS_PER_MONTH, remaining: UNITS_PER_MONTH - 40 }

const RATE = { limit: 50, burst: 100, remaining: 99, resetAt: 1_767_614_401 }
const LIMITS = { queriesAtOnce: 5, apiKeys: 20, wallets: 20, webhookEndpoints: 25 }

const MADE_AT = '2026-01-05T12:15:00.000Z'
const ENDPOINT_ID = 'ep_01JD0000000000000000000000'
const MESSAGE_ID = 'msg_01JD0000000000000000000000'
const SECRET = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='

const API_KEY = {
  keyId: 'key_01JD0000000000000000000000',
  name: 'webhooks of the shop',
  prefix: 'sluice_live_4Qp7',
  scopes: ['webhook.read'],
  expiresAt: '2027-01-01T00:00:00.000Z',
  createdAt: MADE_AT,
  lastUsedAt: null,
}
const WALLET = {
  chain: 'evm',
  address: '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a',
  linkedAt: MADE_AT,
}
const PLAN_PRICE = { name: 'nano', priceUsd: 5, quotaTotal: 500_000, durationDays: 30 }
const PURCHASE_QUOTA = { used: 20.4, total: 500_000 }
const PURCHASED = { plan: 'nano', expiresAt: '2026-02-04T12:15:00.000Z' }
const PURCHASES = {
  PlanPrice: PLAN_PRICE,
  PlanPrices: {
    plans: [PLAN_PRICE],
    currency: 'USDC',
    networks: ['eip155:8453'],
    note: 'A plan lasts 30 days from its purchase; a new purchase replaces it.',
  },
  Purchase: {
    ...PURCHASED,
    status: 'ok',
    chain: WALLET.chain,
    address: WALLET.address,
    txHash: `0x${'ab'.repeat(32)}`,
    apiKey: 'the key, shown this once',
  },
  PurchaseQuota: PURCHASE_QUOTA,
  PurchasedPlan: { ...PURCHASED, quota: PURCHASE_QUOTA, active: true, pending: false },
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
  filterProblem: null,
  failuresInRow: 0,
  lastSuccessAt: MADE_AT,
  lastFailureAt: null,
  firstFailureAt: null,
}
const STATS = {
  success: 40,
  pending: 0,
  sending: 1,
  fail: 0,
  canceled: 0,
  dropped: 0,
  filtered: 12,
  filterErrors: 0,
  p50Ms: 42,
  p95Ms: 90,
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

const HASH = '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'
const JOB_RESULT = { blockHeight: 46_147 }
const JOB_STATE = {
  id: HASH,
  status: 'completed',
  success: true,
  hash: HASH,
  result: JOB_RESULT,
}

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
  SendTransactionInput: {
    signedTx:
      'AvhqAYCEO5rKAIR3NZQAglIIlBERERERERERERERERERERERERERgIDAgKCuwnZQjbv1Q6MsgGVQFbQ8QVjC8+qSUR23Mwbqm5SmoKAVmDDF2v9mx+vCHQg1etdIU8orfz7arBZVeQVhpeUU7g==',
  },
  SendTransactionOptions: { isAntiMev: false },
  SendTransactionResponse: {
    signature: '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
    elapsedTime: 84,
    jobId: 'job_5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
  },
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
  GraphqlRows: 'Block_Time,Trade_Buy_Amount\r\n"2026-01-05T12:15:00Z",1.5\r\n',
  GraphqlError: GRAPHQL_ERROR,
  GraphqlLocation: LOCATION,
  GraphqlRefusal: {
    data: null,
    errors: [
      {
        message: "'query' must be a text",
        locations: [],
        extensions: { code: 'BAD_REQUEST' },
      },
    ],
    ...problem(400, 'BAD_REQUEST', 'The request could not be read', "'query' must be a text"),
    instance: '/graphql',
  },
}

const [WETH, USDC] = [
  '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
  '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
] as const
const SWAP_HOP = {
  pool: '0xb4e16d0168e52d35cacd2c6185b44281ec28c9dc',
  dex: 'uniswap_v2',
  inputMint: WETH,
  outputMint: USDC,
  inAmount: '1000000000000000000',
  outAmount: '1992013962',
  shareBps: 10_000,
}
const SWAP_INPUT = {
  dex: 'auto',
  userAddress: WALLET.address,
  amount: SWAP_HOP.inAmount,
  swapMode: 'ExactIn',
  slippage: 0.5,
  inputMint: WETH,
  outputMint: USDC,
}
const SWAP_ROUTE = {
  inAmount: SWAP_HOP.inAmount,
  outAmount: SWAP_HOP.outAmount,
  minOutAmount: '1982053892',
  maxInAmount: SWAP_HOP.inAmount,
  priceImpact: '0.0996',
  feeAmount: '3000000000000000',
  route: ['WETH', 'USDC'],
  hops: [SWAP_HOP],
  block: 21_000_000,
  simulated: false,
}
const SWAP_TX = {
  chainId: 1,
  nonce: 7,
  to: '0x7a250d5630b4cf539739df2c5dacb4c659f2488d',
  data: '0x3593564c',
  value: '0',
  gas: '210000',
  maxFeePerGas: '30000000000',
  maxPriorityFeePerGas: '1500000000',
}
const SWAP_APPROVAL = { token: WETH, spender: SWAP_TX.to, data: '0x095ea7b3' }
const PERMIT_DETAILS = {
  token: WETH,
  amount: SWAP_HOP.inAmount,
  expiration: 1_767_615_600,
  nonce: 0,
}
const PERMIT_MESSAGE = {
  details: PERMIT_DETAILS,
  spender: '0x66a9893cc07d91d95644aedd05d03f95e1dba8af',
  sigDeadline: '1767615600',
}
const PERMIT_DOMAIN = {
  name: 'Permit2',
  chainId: 1,
  verifyingContract: '0x000000000022d473030f116ddee9f6b43ac78ba3',
}
const TYPED_DATA_FIELD = { name: 'sigDeadline', type: 'uint256' }
const PERMIT_DATA = {
  domain: PERMIT_DOMAIN,
  primaryType: 'PermitSingle',
  message: PERMIT_MESSAGE,
  types: {
    PermitSingle: [
      { name: 'details', type: 'PermitDetails' },
      { name: 'spender', type: 'address' },
      TYPED_DATA_FIELD,
    ],
  },
}
const TOKEN_PERMIT_MESSAGE = {
  owner: SWAP_INPUT.userAddress,
  spender: '0xe592427a0aece92de3edee1f18e0157c05861564',
  value: '1000000',
  nonce: '0',
  deadline: '1767615600',
}
const TOKEN_PERMIT_DOMAIN = {
  name: 'USD Coin',
  version: '2',
  chainId: 1,
  verifyingContract: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
}
const SIGNED_TOKEN_PERMIT = {
  domain: TOKEN_PERMIT_DOMAIN,
  primaryType: 'Permit',
  message: TOKEN_PERMIT_MESSAGE,
}
const TOKEN_PERMIT_DATA = {
  ...SIGNED_TOKEN_PERMIT,
  types: {
    EIP712Domain: [
      { name: 'name', type: 'string' },
      { name: 'version', type: 'string' },
      { name: 'chainId', type: 'uint256' },
      { name: 'verifyingContract', type: 'address' },
    ],
    Permit: [
      { name: 'owner', type: 'address' },
      { name: 'spender', type: 'address' },
      { name: 'value', type: 'uint256' },
      { name: 'nonce', type: 'uint256' },
      { name: 'deadline', type: 'uint256' },
    ],
  },
}
const DAI_PERMIT_MESSAGE = {
  holder: SWAP_INPUT.userAddress,
  spender: TOKEN_PERMIT_MESSAGE.spender,
  nonce: '0',
  expiry: '1767615600',
  allowed: true,
}
/** The transaction above, not signed. */
const SWAP_TX_HEX =
  '0x02ed01078459682f008506fc23ac0083033450947a250d5630b4cf539739df2c5dacb4c659f2488d80843593564cc0'
const BUILT_SWAP = {
  serializedTx: Buffer.from(SWAP_TX_HEX.slice(2), 'hex').toString('base64'),
  txHex: SWAP_TX_HEX,
  tx: SWAP_TX,
  approval: SWAP_APPROVAL,
  routeInfo: SWAP_ROUTE,
  elapsedTime: 12,
}
const SWAPS = {
  SwapHop: SWAP_HOP,
  DexQuote: {
    amountIn: SWAP_HOP.inAmount,
    amountOut: SWAP_HOP.outAmount,
    minAmountOut: SWAP_ROUTE.minOutAmount,
    maxAmountIn: SWAP_HOP.inAmount,
    currentPrice: '2000',
    executionPrice: '1992.013962',
    priceImpact: SWAP_ROUTE.priceImpact,
    fee: SWAP_ROUTE.feeAmount,
    hops: [SWAP_HOP],
    block: SWAP_ROUTE.block,
  },
  SwapRouteInput: SWAP_INPUT,
  UnsignedEvmTransaction: SWAP_TX,
  SwapApproval: SWAP_APPROVAL,
  PermitDetails: PERMIT_DETAILS,
  PermitMessage: PERMIT_MESSAGE,
  PermitDomain: PERMIT_DOMAIN,
  SignedPermitData: { domain: PERMIT_DOMAIN, message: PERMIT_MESSAGE },
  TypedDataField: TYPED_DATA_FIELD,
  PermitData: PERMIT_DATA,
  TokenPermitMessage: TOKEN_PERMIT_MESSAGE,
  SignedTokenPermitData: SIGNED_TOKEN_PERMIT,
  TokenPermitData: TOKEN_PERMIT_DATA,
  DaiPermitMessage: DAI_PERMIT_MESSAGE,
  SwapRouteInfo: SWAP_ROUTE,
  SwapRouteResponse: { args: SWAP_INPUT, ...BUILT_SWAP },
  SwapInput: { ...SWAP_INPUT, dex: SWAP_HOP.dex, poolAddress: SWAP_HOP.pool },
  SwapResponse: BUILT_SWAP,
}

/** Examples of named schemas with values that differ with every call, and of bodies that callers send. */
export const WRITTEN_EXAMPLES: Readonly<Record<string, unknown>> = {
  ...AUTH,
  ...WEBHOOKS,
  ...GRAPHQL,
  ...SWAPS,
  ...PURCHASES,
  AccountUsage: { period: PERIOD, ...ACCOUNT, byRoute: [ROUTE], byDay: [DAY] },
  AccountPlan: {
    plan: 'starter',
    requestsPerSecond: 50,
    ...ACCOUNT,
    resetAt: PERIOD.to,
    rate: RATE,
    limits: LIMITS,
  },
  AccountRate: RATE,
  AccountLimits: LIMITS,
  CreateApiKey: {
    name: 'webhooks of the shop',
    scopes: ['webhook.read'],
    expiresAt: 1_798_761_600_000,
  },
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
  PresignedUpload: {
    presignUrl: `https://storage.example.com/uploads/9f8b2c2e-4a53-4d3c-9a52-6f6f2f6f0a11?${new URLSearchParams(
      {
        'X-Amz-Expires': '900',
        'X-Amz-Date': '20260105T121500Z',
        'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
        'X-Amz-Credential': 'key-id/20260105/us-east-1/s3/aws4_request',
        'X-Amz-SignedHeaders': 'host',
        'X-Amz-Signature': '00'.repeat(32),
      },
    )}`,
  },
  GasLimitQuestion: { from: WALLET.address, to: WALLET.address, data: '0x', value: '0x0' },
  GasLimit: { gasLimit: '0x5208', chain: 'eth' },
  GasPrice: { gasPrice: '0x59682f08', chain: 'eth' },
  Job: { state: 'completed', result: JOB_RESULT },
  JobUpdate: JOB_STATE,
  JobEvent: { id: 2, data: JOB_STATE },
  JobEvents: `id: 2\ndata: ${JSON.stringify(JOB_STATE)}\n\n`,
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
