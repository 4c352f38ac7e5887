import { rateLimitAddress } from '../../core/http/network-address.ts'
import {
  ANONYMOUS_REQUESTS_PER_SECOND,
  PLANS,
  type PlanName,
  type PlanRow,
} from '../../schemas/plans.ts'
import type { Meter, Principal, RateLimitState } from '../interfaces.ts'
import { createLedger, type Quota, type QuotaOwner } from './ledger.ts'
import { createRateLimiter } from './rate-limiter.ts'
import {
  createUsageTotals,
  type MonthUsage,
  type SharedCounts,
  type UsageTotals,
} from './usage-totals.ts'

/** The meter with the state of an organization, for the quota headers and the `/account` routes. */
export interface QuotaMeter extends Meter {
  quota(principal: QuotaOwner): Quota
  month(orgId: string): MonthUsage
  /** State of the organization's rate limit, without counting a request. */
  rate(principal: Principal): RateLimitState
  /** What limits of other things than requests are shared with other processes by. */
  readonly counts: SharedCounts
  /** When an API key was last used for a request that its rate allowed, epoch milliseconds. */
  keyLastUsedAtMs(keyId: string): number | undefined
}

/**
 * One meter per process, shared by HTTP, GraphQL and sockets: all of them draw on one quota and one rate of the
 * organization, also with other processes, whose charges and requests the usage log brings. Without the totals of the usage log it
 * counts in this process only.
 */
export const createMeter = ({
  nowMs = Date.now,
  plans = PLANS,
  usage = createUsageTotals('', nowMs),
}: {
  readonly nowMs?: () => number
  readonly plans?: Readonly<Record<PlanName, PlanRow>>
  readonly usage?: UsageTotals
} = {}): QuotaMeter => {
  const ledger = createLedger({ nowMs, plans, usage })
  const organizations = createRateLimiter(nowMs)
  const addresses = createRateLimiter(nowMs)
  usage.onRequests(organizations.charge)
  const rateOf = ({ plan }: Principal): number => plans[plan].requestsPerSecond
  return {
    ...ledger,
    counts: usage,
    keyLastUsedAtMs: usage.keyLastUsedAtMs,
    month: (orgId) => usage.month(orgId),
    rate: (principal) => organizations.peek(principal.orgId, rateOf(principal)),
    take: async (subject) => {
      if ('ip' in subject) {
        return addresses.take(rateLimitAddress(subject.ip), ANONYMOUS_REQUESTS_PER_SECOND)
      }
      const { principal } = subject
      const state = organizations.take(principal.orgId, rateOf(principal))
      if (state.allowed) noteRequest(usage, principal, nowMs())
      return state
    },
  }
}

const noteRequest = (
  usage: UsageTotals,
  { orgId, kind, credentialId }: Principal,
  atMs: number,
): void => {
  usage.countRequest(orgId, atMs)
  if (kind === 'api-key') usage.noteKeyUse(orgId, credentialId, atMs)
}
