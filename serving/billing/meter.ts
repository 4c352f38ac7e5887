import {
  ANONYMOUS_REQUESTS_PER_SECOND,
  PLANS,
  type PlanName,
  type PlanRow,
} from '../../schemas/plans.ts'
import type { Meter, Principal } from '../contract.ts'
import { makeLedger, type Quota } from './ledger.ts'
import { makeTake } from './limiter.ts'

/** The meter with a look at the account, for the quota headers. */
export interface QuotaMeter extends Meter {
  quota(principal: Principal): Quota
}

/** One meter per process, shared by HTTP, GraphQL and sockets: all of them draw on one quota of the organization. */
export const makeMeter = ({
  nowMs = Date.now,
  plans = PLANS,
}: {
  readonly nowMs?: () => number
  readonly plans?: Readonly<Record<PlanName, PlanRow>>
} = {}): QuotaMeter => {
  const ledger = makeLedger(nowMs, plans)
  const take = makeTake(nowMs)
  return {
    ...ledger,
    take: (subject) =>
      'ip' in subject
        ? take(`ip:${subject.ip}`, ANONYMOUS_REQUESTS_PER_SECOND)
        : take(`org:${subject.principal.orgId}`, plans[subject.principal.plan].requestsPerSecond),
  }
}
