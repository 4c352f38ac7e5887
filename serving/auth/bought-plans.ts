import { isLowerPlan, isPlanName, NO_PLAN, type PlanName } from '../../schemas/plans.ts'
import type { Org, PlanPurchase } from '../../schemas/wire.ts'
import type { CountStart } from '../interfaces.ts'

/** Plan of an organization at a moment. */
export interface EffectivePlan {
  readonly plan: PlanName
  /** End of a bought plan, epoch milliseconds; null = has none. */
  readonly endsAtMs: number | null
  /** From where the units of a bought plan are counted. */
  readonly countsFrom?: CountStart
}

/** Purchases of plans: those that are ordered and not yet known to be paid, and those that are. */
export interface BoughtPlans {
  put(paymentId: string, purchase: PlanPurchase | null): void
  purchase(paymentId: string): PlanPurchase | undefined
  /** Ordered, the outcome of their payment not recorded yet; the oldest first. */
  open(): readonly PlanPurchase[]
  /** The newest paid purchase of an organization, also where it has ended. */
  newestOf(orgId: string): PlanPurchase | undefined
  /** undefined: it had only what it bought, and that has ended. */
  planOf(org: Org, atMs: number): EffectivePlan | undefined
}

/** True for a purchase whose payment is not known to be made. */
export const isOpen = ({ state }: PlanPurchase): boolean => state === 'ordered'

/** No purchases yet. A later purchase of an organization replaces the one before it. */
export const createBoughtPlans = (): BoughtPlans => {
  const purchases = new Map<string, PlanPurchase>()
  const openIds = new Set<string>()
  const newest = new Map<string, PlanPurchase>()
  return {
    put: (paymentId, purchase) => {
      openIds.delete(paymentId)
      if (purchase === null) {
        purchases.delete(paymentId)
        return
      }
      purchases.set(paymentId, purchase)
      if (isOpen(purchase)) {
        openIds.add(paymentId)
        return
      }
      const before = newest.get(purchase.org_id)
      if (before === undefined || purchase.starts_at >= before.starts_at)
        newest.set(purchase.org_id, purchase)
    },
    purchase: (paymentId) => purchases.get(paymentId),
    open: () => [...openIds].flatMap((id) => purchases.get(id) ?? []),
    newestOf: (orgId) => newest.get(orgId),
    planOf: (org, atMs) => effectivePlan(org, newest.get(org.org_id), atMs),
  }
}

/** The higher of the plan that the operator gave and the bought one while it lasts. */
const effectivePlan = (
  { plan }: Org,
  bought: PlanPurchase | undefined,
  atMs: number,
): EffectivePlan | undefined => {
  const own = ownPlan(plan)
  const name = bought && isPlanName(bought.plan) ? bought.plan : undefined
  if (bought === undefined || name === undefined || bought.ends_at <= atMs)
    return own && { plan: own, endsAtMs: null }
  if (own !== undefined && isLowerPlan(name, own)) return { plan: own, endsAtMs: null }
  const countsFrom = { atMs: bought.starts_at, milliUnits: bought.used_before }
  return { plan: name, endsAtMs: bought.ends_at, countsFrom }
}

const ownPlan = (plan: string): PlanName | undefined =>
  plan === NO_PLAN ? undefined : isPlanName(plan) ? plan : 'free'
