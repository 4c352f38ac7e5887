import assert from 'node:assert/strict'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '../../core/config/settings.ts'
import { toIsoTime } from '../../core/time.ts'
import { AccountPlan, AccountUsage } from '../../schemas/api/account.ts'
import {
  MAX_OWN_KEYS,
  MAX_WALLETS,
  MILLI_UNITS_PER_UNIT,
  maxConcurrentQueries,
  maxWebhookEndpoints,
  PLANS,
} from '../../schemas/plans.ts'
import type { QuotaOwner } from '../billing/ledger.ts'
import type { QuotaMeter } from '../billing/meter.ts'
import { BURST_SECONDS } from '../billing/rate-limiter.ts'
import { monthStartMs, type UsageEntry } from '../billing/usage-totals.ts'
import type { Principal } from '../interfaces.ts'
import { pricedRoute } from './routing.ts'

/** Dependencies of the `/account` routes. */
export interface AccountDeps {
  readonly meter: QuotaMeter
  readonly nowMs: () => number
  readonly config: Pick<Config, 'webhookEndpoints'>
}

/** Usage and plan of the caller's organization; both cost nothing. */
export const accountRoutes =
  (deps: AccountDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { meter, nowMs } = deps
    const about = (summary: string) => ({ summary, tags: ['account'] })
    app.get(
      '/account/usage',
      {
        schema: { ...about('Usage of this month'), response: { 200: AccountUsage } },
        config: pricedRoute('GET /account/usage'),
      },
      async ({ principal }) => accountUsageBody(meter, requirePrincipal(principal), nowMs()),
    )
    app.get(
      '/account/plan',
      {
        schema: { ...about('Plan and quota'), response: { 200: AccountPlan } },
        config: pricedRoute('GET /account/plan'),
      },
      async ({ principal }) => accountPlanBody(deps, requirePrincipal(principal)),
    )
  }

/** The guard rejects requests without one. */
export const requirePrincipal = (principal: Principal | null): Principal => {
  assert(principal)
  return principal
}

const usageBody = ({ calls, milliUnits }: UsageEntry) => ({
  calls,
  used: milliUnits / MILLI_UNITS_PER_UNIT,
})

/** Usage of this month as REST and the admin API show it. */
export const accountUsageBody = (
  meter: QuotaMeter,
  principal: QuotaOwner,
  nowMs: number,
): AccountUsage => {
  const { used, total, remaining, resetAtMs } = meter.quota(principal)
  const { byRoute, byDay } = meter.month(principal.orgId)
  return {
    period: { from: toIsoTime(monthStartMs(nowMs)), to: toIsoTime(resetAtMs) },
    used,
    total: total ?? -1,
    remaining: remaining ?? -1,
    byRoute: [...byRoute]
      .map(([route, line]) => ({ route, ...usageBody(line) }))
      .toSorted((left, right) => right.used - left.used),
    byDay: [...byDay]
      .toSorted(([left], [right]) => left - right)
      .map(([day, line]) => ({ day: toIsoTime(day).slice(0, 10), ...usageBody(line) })),
  }
}

const accountPlanBody = ({ meter, config }: AccountDeps, principal: Principal): AccountPlan => {
  const { limit, remaining: left, resetAt: fullAt } = meter.rate(principal)
  const { used, total, remaining, resetAtMs } = meter.quota(principal)
  return {
    plan: principal.plan,
    requestsPerSecond: PLANS[principal.plan].requestsPerSecond,
    used,
    total: total ?? -1,
    remaining: remaining ?? -1,
    resetAt: toIsoTime(resetAtMs),
    rate: { limit, burst: limit * BURST_SECONDS, remaining: left, resetAt: fullAt },
    limits: {
      queriesAtOnce: maxConcurrentQueries(PLANS[principal.plan]),
      apiKeys: MAX_OWN_KEYS,
      wallets: MAX_WALLETS,
      webhookEndpoints: maxWebhookEndpoints(principal.plan, config.webhookEndpoints),
    },
  }
}
