/** Plans and prices: configuration as tables. Source: contract/billing-errors.md 2, 3.1 and 4. */

/** What an organization gets. */
export interface PlanRow {
  /** Requests per second of the whole organization; bursts reach twice that. */
  readonly requestsPerSecond: number
  /** Compute units per calendar month (UTC); null = without end. */
  readonly unitsPerMonth: number | null
}

const plan = (requestsPerSecond: number, unitsPerMonth: number | null): PlanRow => ({
  requestsPerSecond,
  unitsPerMonth,
})

/** Plans by the name that the organization record carries. */
export const PLANS = {
  free: plan(10, 30_000),
  starter: plan(50, 10_000_000),
  pro: plan(200, 50_000_000),
  enterprise: plan(1_000, 200_000_000),
  selfhost: plan(1_000, null),
} as const satisfies Record<string, PlanRow>

/** Plan of an organization. */
export type PlanName = keyof typeof PLANS

/** True for the name of a plan. */
export const isPlanName = (text: string): text is PlanName => Object.hasOwn(PLANS, text)

/** Requests per second of one address that shows no valid credential. */
export const ANONYMOUS_REQUESTS_PER_SECOND = 50

/** Units are counted in thousandths: REST prices go down to 0.05, streams to 0.005 a byte. */
export const MILLI = 1_000

/**
 * Least that a GraphQL query costs once it made work, in thousandths of a unit: what is planned for long and then refused, what
 * finds no row and what runs out of time. As much as the REST reads of candles and search, which are about as much work; the
 * cheapest cube costs 4 units. What is refused at once, and introspection, cost nothing.
 */
export const MIN_QUERY_MILLI_UNITS = 250

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
  'GET /account/usage': 0,
  'GET /account/plan': 0,
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
  'POST /webhook/message/:msgId/endpoint/:id/resend': 50,
} as const satisfies Record<string, number>

/** A priced REST route. */
export type RouteName = keyof typeof ROUTE_MILLI_UNITS
