import assert from 'node:assert/strict'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AccountPlan, AccountUsage } from '../../schemas/api/account.ts'
import { MILLI, PLANS } from '../../schemas/plans.ts'
import type { QuotaMeter } from '../billing/meter.ts'
import { monthStart, type UsageLine } from '../billing/usage-book.ts'
import type { Principal } from '../interfaces.ts'
import { priced } from './routing.ts'

/** What the account routes work with. */
export interface AccountDeps {
  readonly meter: QuotaMeter
  readonly nowMs: () => number
}

/** Usage and plan of the caller's organization; both cost nothing. */
export const accountRoutes =
  ({ meter, nowMs }: AccountDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const about = (summary: string) => ({ summary, tags: ['account'] })
    app.get(
      '/account/usage',
      {
        schema: { ...about('Usage of this month'), response: { 200: AccountUsage } },
        config: priced('GET /account/usage'),
      },
      async ({ principal }) => usageOf(meter, known(principal), nowMs()),
    )
    app.get(
      '/account/plan',
      {
        schema: { ...about('Plan and quota'), response: { 200: AccountPlan } },
        config: priced('GET /account/plan'),
      },
      async ({ principal }) => planOf(meter, known(principal)),
    )
  }

/** The guard lets nobody through without one. */
const known = (principal: Principal | null): Principal => {
  assert(principal)
  return principal
}

const iso = (ms: number): string => new Date(ms).toISOString()

const shown = ({ calls, milliUnits }: UsageLine) => ({ calls, used: milliUnits / MILLI })

const usageOf = (meter: QuotaMeter, principal: Principal, nowMs: number): AccountUsage => {
  const { used, total, remaining, resetAtMs } = meter.quota(principal)
  const { byRoute, byDay } = meter.month(principal.orgId)
  return {
    period: { from: iso(monthStart(nowMs)), to: iso(resetAtMs) },
    used,
    total: total ?? -1,
    remaining: remaining ?? -1,
    byRoute: [...byRoute]
      .map(([route, line]) => ({ route, ...shown(line) }))
      .toSorted((left, right) => right.used - left.used),
    byDay: [...byDay]
      .toSorted(([left], [right]) => left - right)
      .map(([day, line]) => ({ day: iso(day).slice(0, 10), ...shown(line) })),
  }
}

const planOf = (meter: QuotaMeter, principal: Principal): AccountPlan => {
  const { used, total, remaining, resetAtMs } = meter.quota(principal)
  return {
    plan: principal.plan,
    requestsPerSecond: PLANS[principal.plan].requestsPerSecond,
    used,
    total: total ?? -1,
    remaining: remaining ?? -1,
    resetAt: iso(resetAtMs),
  }
}
