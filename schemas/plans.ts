/** Plans and prices: configuration as tables. */

/** Limits of one statement, enforced by the engine; 0 = none. */
export interface StatementBudget {
  /** Wall time. */
  readonly seconds: number
  readonly memoryBytes: number
  /** Rows and uncompressed bytes read from tables. */
  readonly rowsToRead: number
  readonly bytesToRead: number
  readonly resultRows: number
  readonly resultBytes: number
}

/** What an organization gets. */
export interface PlanRow {
  /** Requests per second of the whole organization; bursts reach twice that. */
  readonly requestsPerSecond: number
  /** Compute units per calendar month (UTC); null = without end. */
  readonly unitsPerMonth: number | null
}

/** A plan with what its statements may take, and what its organizations may keep. */
export interface PricedPlan extends PlanRow {
  readonly budget: StatementBudget
  readonly webhookEndpoints: number
}

const MIB = 1_048_576

/**
 * A statement reads about 20 million narrow rows a second on one processor, and a row of a cube is about 100 bytes: rows and
 * bytes are what the seconds allow, so that a faster machine gives answers sooner and not more work for the same price.
 * A result is at most what a client reads in one answer: 10,000 rows of a cube are below 16 MiB, an answer is held in memory
 * as a whole. Memory is for groups and sorting: about a million groups in 256 MiB.
 */
const budget = (seconds: number, memoryMib: number): StatementBudget => ({
  seconds,
  memoryBytes: memoryMib * MIB,
  rowsToRead: seconds * 20_000_000,
  bytesToRead: seconds * 2_000_000_000,
  resultRows: 100_000,
  resultBytes: 64 * MIB,
})

const plan = (
  requestsPerSecond: number,
  unitsPerMonth: number | null,
  kept: Pick<PricedPlan, 'budget' | 'webhookEndpoints'>,
): PricedPlan => ({ requestsPerSecond, unitsPerMonth, ...kept })

/** Plans by the name that the organization record carries. */
export const PLANS = {
  free: plan(10, 30_000, { budget: budget(5, 256), webhookEndpoints: 10 }),
  nano: plan(10, 500_000, { budget: budget(5, 256), webhookEndpoints: 10 }),
  starter: plan(50, 10_000_000, { budget: budget(10, 512), webhookEndpoints: 25 }),
  pro: plan(200, 50_000_000, { budget: budget(20, 1_024), webhookEndpoints: 100 }),
  enterprise: plan(1_000, 200_000_000, { budget: budget(30, 2_048), webhookEndpoints: 500 }),
  // The operator's own: as long as a request may take; memory of a laptop that also ingests.
  selfhost: plan(1_000, null, { budget: budget(30, 1_024), webhookEndpoints: 1_000 }),
} as const satisfies Record<string, PricedPlan>

/** Plan of an organization. */
export type PlanName = keyof typeof PLANS

/** True for the name of a plan. */
export const isPlanName = (text: string): text is PlanName => Object.hasOwn(PLANS, text)

/** Plan of an organization that has only what it buys: without a bought plan its credentials open nothing. */
export const NO_PLAN = 'none'

/** Plans that a wallet may buy, where the operator names a price. */
export const PLANS_FOR_SALE = [
  'nano',
  'starter',
  'pro',
  'enterprise',
] as const satisfies readonly PlanName[]

/** How long a bought plan lasts. */
export const BOUGHT_PLAN_DAYS = 30

/** True where a plan gives less than another. */
export const isLowerPlan = (name: PlanName, other: PlanName): boolean =>
  (PLANS[name].unitsPerMonth ?? Number.POSITIVE_INFINITY) <
  (PLANS[other].unitsPerMonth ?? Number.POSITIVE_INFINITY)

/** Webhook endpoints of an organization; `setting`: the operator's own number for every plan, 0 = that of the plan. */
export const maxWebhookEndpoints = (name: PlanName, setting: number): number =>
  setting > 0 ? setting : PLANS[name].webhookEndpoints

/** GraphQL requests of an organization at the same time. */
export const maxConcurrentQueries = ({ requestsPerSecond }: PlanRow): number =>
  Math.max(2, Math.floor(requestsPerSecond / 10))

/** API keys that an application makes for itself and holds at once. */
export const MAX_OWN_KEYS = 20

/** Jobs of one organization that are followed at the same time. */
export const MAX_FOLLOWED_JOBS = 32

/** Wallets that sign in for one application. */
export const MAX_WALLETS = 20

/** Requests per second of one address that shows no valid credential. */
export const ANONYMOUS_REQUESTS_PER_SECOND = 50

/** Units are counted in thousandths: REST prices go down to 0.05, streams to 0.005 a byte. */
export const MILLI_UNITS_PER_UNIT = 1_000

/**
 * Least charge for every second that work began for a request, in thousandths of a CU, also when the answer was empty, refused
 * late or never came: the price of a read of one field, 0.10 CU.
 */
export const MIN_QUERY_MILLI_UNITS = 100

/**
 * Price of a REST call in thousandths of a unit, by method and path behind the version segment; `/v1` costs what `/v2`
 * costs. Charged on success only. GraphQL is priced by cube and streams by byte, elsewhere.
 */
export const ROUTE_MILLI_UNITS = {
  'GET /token/search': 250,
  'GET /token/:chain/:tokenAddress': 1_000,
  'GET /token/:chain/:tokenAddress/stats': 2_500,
  'GET /token/:chain/stats/multi': 2_500,
  'GET /token/:chain/:tokenAddress/marketData': 100,
  'GET /token/:chain/marketData/multi': 100,
  'GET /token/:chain/:tokenAddress/holders': 500,
  'GET /token/:chain/:tokenAddress/topHolders': 500,
  'GET /token/:chain/:tokenAddress/holders/multi': 500,
  'GET /wallet/:chain/:walletAddress/stats': 1_000,
  'GET /token/:chain/:tokenAddress/candles': 250,
  'GET /token/:chain/pool/:poolAddress/candles': 250,
  'GET /token/:chain/pair/:pair/candles': 250,
  'GET /token/:chain/metadata/multi': 50,
  'GET /token/:chain/:tokenAddress/metadata': 50,
  'GET /token/:chain/:tokenAddress/price': 100,
  'GET /token/:chain/:tokenAddress/prices': 100,
  'GET /token/:chain/:tokenAddress/creation': 100,
  'GET /token/:chain/:tokenAddress/mintAndBurn': 500,
  'GET /token/:chain/:tokenAddress/mintandburn': 500,
  'GET /token/:chain/:tokenAddress/transfers': 250,
  'GET /token/:chain/:tokenAddress/transfer-total': 250,
  'GET /token/:chain/dev/:devAddress/tokens': 500,
  'GET /blockchain': 50,
  'GET /blockchain/:chain/latest_block': 50,
  'GET /dex': 50,
  'GET /transaction/:chain/gas-price': 100,
  'POST /transaction/:chain/estimate-gas-limit': 250,
  'POST /transaction/:chain/send': 5_000,
  'GET /job/:id': 50,
  'GET /job/:id/streaming': 50,
  'GET /jobs/:id': 50,
  'GET /jobs/:id/streaming': 50,
  'GET /dex/:chain/quote': 250,
  'POST /dex/:chain/route': 250,
  'POST /dex/:chain/swap': 5_000,
  'POST /dex/:chain/create': 5_000,
  'GET /wallet/:chain/:walletAddress/pnl': 1_000,
  'GET /wallet/:chain/:walletAddress/pnl-by-token': 1_000,
  'GET /wallet/:chain/:walletAddress/pnl-details': 1_500,
  'GET /wallet/:chain/pnl-by-wallet': 1_000,
  'POST /wallet/:chain/:walletAddress/calculate-pnl': 1_500,
  'POST /watchlist/:chain/:walletAddress': 50,
  'GET /wallet/:chain/:walletAddress': 1_000,
  'GET /wallet/:chain/:walletAddress/balance': 1_000,
  'GET /wallet/:chain/:walletAddress/tokens-balance': 1_000,
  'GET /wallet/:chain/:walletAddress/net-worth': 1_000,
  'GET /wallet/:chain/:walletAddress/net-worth/tokens': 1_000,
  'GET /wallet/:chain/:walletAddress/net-worth-details': 1_000,
  'GET /wallet/:chain/:walletAddress/net-worth-chart': 1_000,
  'GET /wallet/:chain/net-worth-summary': 1_000,
  'GET /wallet/:chain/:walletAddress/balance-updates': 500,
  'GET /wallet/:chain/:walletAddress/transfers': 250,
  'GET /wallet/:chain/:walletAddress/transfer-total': 250,
  'GET /wallet/:chain/first-tx': 100,
  'GET /dexpools/:chain/:poolAddress': 500,
  'GET /dexpools/:chain/:poolAddress/snapshots': 500,
  'GET /token/:chain/:tokenAddress/pools': 2_500,
  'GET /token/:chain/:tokenAddress/liquiditySnapshots': 500,
  'GET /token/:chain/:tokenAddress/liquiditysnapshots': 500,
  'GET /token/:chain/:tokenAddress/holderTrend': 500,
  'GET /token/:chain/:tokenAddress/security': 500,
  'GET /token/:chain/:tokenAddress/similar': 250,
  'GET /token/:chain/:tokenAddress/fee-estimates': 100,
  'GET /token/:chain/:tokenAddress/logo-duplicates': 100,
  'GET /ranking-pools/:chain/:rankingType': 250,
  'GET /token/:chain/list': 50,
  'GET /token/:chain/multi': 750,
  'GET /ranking/:chain/hotTokens/:duration': 250,
  'GET /ranking/:chain/hottokens/:duration': 250,
  'GET /ranking/:chain/newTokens': 250,
  'GET /ranking/:chain/newtokens': 250,
  'GET /ranking/:chain/finalStretch': 250,
  'GET /ranking/:chain/finalstretch': 250,
  'GET /ranking/:chain/migrated': 250,
  'GET /ranking/:chain/stocks': 250,
  'GET /token/:chain/:tokenAddress/traders': 500,
  'GET /token/:chain/:tokenAddress/topTraders': 500,
  'GET /token/:chain/:tokenAddress/toptraders': 500,
  'GET /token/:chain/:tokenAddress/traders/:tag': 500,
  'GET /trade/:chain/activities': 250,
  'GET /trade/:chain/gainers-losers': 500,
  'GET /dexscr/:chain/ads': 100,
  'GET /dexscr/:chain/boosts': 100,
  'GET /dexscr/:chain/link-updates': 100,
  'GET /dexscr/:chain/trending': 100,
  'GET /dexscr/:chain/token/:tokenAddress': 100,
  'GET /trade/:chain': 250,
  'GET /trade/:chain/top-traders': 500,
  'GET /trade/:chain/trader-gainers-losers': 500,
  'POST /ipfs/presign': 50,
  'GET /prediction/events/:eventSlug/activities': 250,
  'GET /prediction/markets/:conditionId/activities': 250,
  'GET /prediction/markets/:conditionId/holders': 250,
  'GET /prediction/markets/:conditionId/holder-stats': 500,
  'GET /prediction/markets/:conditionId/traders': 250,
  'GET /prediction/wallets/:wallet/pnl': 500,
  'GET /prediction/leaderboard': 250,
  'GET /redpacket': 50,
  'GET /redpacket/:id': 50,
  'GET /redpacket/:id/claims': 50,
  'GET /redpacket/wallet/:address/claims': 50,
  'GET /redpacket/wallet/:address/redpackets': 50,
  'POST /redpacket/:chain/create': 5_000,
  'POST /redpacket/:chain/claim': 5_000,
  'POST /redpacket/:chain/send': 5_000,
  'GET /account/usage': 0,
  'GET /account/plan': 0,
  'POST /account/keys': 0,
  'GET /account/keys': 0,
  'DELETE /account/keys/:keyId': 0,
  'GET /account/wallets': 0,
  'DELETE /account/wallets/:wallet/:address': 0,
  'POST /x402/link-address': 0,
  'POST /webhook/endpoint': 50,
  'GET /webhook/endpoint': 50,
  'PATCH /webhook/endpoint': 50,
  'GET /webhook/endpoint/:id': 50,
  'PATCH /webhook/endpoint/:id': 50,
  'PUT /webhook/endpoint/:id': 50,
  'DELETE /webhook/endpoint/:id': 50,
  'GET /webhook/endpoint/:id/secret': 50,
  'POST /webhook/endpoint/:id/secret/rotate': 100,
  'GET /webhook/endpoint/:id/attempt': 50,
  'GET /webhook/message/:msgId': 50,
  'GET /webhook/message/:msgId/attempt': 50,
  'POST /webhook/message/:msgId/endpoint/:id/resend': 100,
  'GET /webhook/endpoint/:id/message': 50,
  'GET /webhook/endpoint/:id/stats': 50,
  'POST /webhook/endpoint/:id/recover': 100,
  'POST /webhook/endpoint/:id/replay': 100,
  'GET /webhook/endpoint/:id/task': 50,
  'GET /webhook/endpoint/:id/task/:taskId': 50,
  'POST /webhook/endpoint/:id/send-example': 100,
  // Risk is counted in money elsewhere, not in units: an installation of one's own bills none.
  'POST /kyt/address': 0,
  'GET /kyt/addresses/:address/risk': 0,
  'POST /kya/address/verify': 0,
  'POST /kyt/transfer': 0,
  'GET /kyt/transfers/:transferId/summary': 0,
  'GET /kyt/transfers/:transferId/alerts': 0,
  'GET /kyt/transfers/:transferId/exposures/direct': 0,
  'GET /kyt/transfers/:transferId/network-identifications': 0,
  'POST /kyt/withdrawal': 0,
  'GET /kyt/withdrawal/:withdrawalId/summary': 0,
  'GET /kyt/withdrawal/:withdrawalId/alerts': 0,
  'GET /kyt/withdrawal/:withdrawalId/exposures/direct': 0,
  'GET /kyt/withdrawal/:withdrawalId/network-identifications': 0,
  'GET /kyt/withdrawal/:withdrawalId/address-identifications': 0,
  'GET /kyt/withdrawal/:withdrawalId/fraud-assessment': 0,
} as const satisfies Record<string, number>

/** A priced REST route. */
export type RouteName = keyof typeof ROUTE_MILLI_UNITS

/** Calls by POST that leave nothing done: when their payment fails behind their work, the caller has gained nothing. */
const PAYABLE_POSTS: ReadonlySet<RouteName> = new Set([
  'POST /wallet/:chain/:walletAddress/calculate-pnl',
  'POST /watchlist/:chain/:walletAddress',
])

/** Whether a client without an account may pay for single calls of a route: reads that have a price. */
export const isPayableRoute = (route: RouteName): boolean =>
  ROUTE_MILLI_UNITS[route] > 0 && (route.startsWith('GET ') || PAYABLE_POSTS.has(route))
