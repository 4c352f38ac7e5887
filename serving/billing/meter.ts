import { rateLimitAddress } from '../../core/http/network-address.ts'
import {
  ANONYMOUS_REQUESTS_PER_SECOND,
  PLANS,
  type PlanName,
  type PlanRow,
} from '../../schemas/plans.ts'
import type { Meter, Principal } from '../interfaces.ts'
import { createLedger, type Quota } from './ledger.ts'
import { createRateLimiter } from './rate-limiter.ts'
import { createUsageTotals, type MonthUsage, type UsageTotals } from './usage-totals.ts'

/** The meter with a look at the account, for the quota headers and the account's own routes. */
export interface QuotaMeter extends Meter {
  quota(principal: Principal): Quota
  month(orgId: string): MonthUsage
}

/**
 * One meter per process, shared by HTTP, GraphQL and sockets: all of them draw on one quota of the organization. Without
 * a book of the usage log it forgets with the process.
 */
export const createMeter = ({
  nowMs = Date.now,
  plans = PLANS,
  book = createUsageTotals('', nowMs),
}: {
  readonly nowMs?: () => number
  readonly plans?: Readonly<Record<PlanName, PlanRow>>
  readonly book?: UsageTotals
} = {}): QuotaMeter => {
  const ledger = createLedger({ nowMs, plans, book })
  const take = createRateLimiter(nowMs)
  return {
    ...ledger,
    month: (orgId) => book.month(orgId),
    take: (subject) =>
      'ip' in subject
        ? take(`ip:${rateLimitAddress(subject.ip)}`, ANONYMOUS_REQUESTS_PER_SECOND)
        : take(`org:${subject.principal.orgId}`, plans[subject.principal.plan].requestsPerSecond),
  }
}
