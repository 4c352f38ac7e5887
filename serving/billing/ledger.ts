import { Fault } from '../../core/errors.ts'
import { MILLI_UNITS_PER_UNIT, type PlanName, type PlanRow } from '../../schemas/plans.ts'
import type { Principal, Reservation } from '../interfaces.ts'
import { monthStartMs, type UsageTotals } from './usage-totals.ts'

/** What an organization used of its month, in units; `total` and `remaining` null = without end. */
export interface Quota {
  readonly used: number
  readonly total: number | null
  readonly remaining: number | null
  /** Epoch milliseconds at which the next month starts. */
  readonly resetAtMs: number
}

/** The owner of a quota. */
export type QuotaOwner = Pick<Principal, 'orgId' | 'plan' | 'countsFrom'>

/** Charges per organization and calendar month (UTC); a plan that is bought within one starts the count anew. */
export interface Ledger {
  /**
   * Holds the worst case; throws `Fault` FORBIDDEN (`reason: quota_exhausted`) when it does not fit. What costs nothing
   * always fits. `route` is the name under which the charge is shown.
   */
  reserve(principal: Principal, milliUnits: number, route?: string): Reservation
  quota(principal: QuotaOwner): Quota
}

/** Dependencies of a ledger. */
export interface LedgerDeps {
  readonly nowMs: () => number
  readonly plans: Readonly<Record<PlanName, PlanRow>>
  readonly usage: UsageTotals
}

interface OrgHold {
  readonly monthMs: number
  milliUnits: number
}

/** Reservations are in memory, charges in the usage totals. */
export const createLedger = ({ nowMs, plans, usage }: LedgerDeps): Ledger => {
  const holds = new Map<string, OrgHold>()
  const holdOf = (orgId: string): OrgHold => {
    const monthMs = monthStartMs(nowMs())
    const existing = holds.get(orgId)
    if (existing?.monthMs === monthMs) return existing
    const created = { monthMs, milliUnits: 0 }
    holds.set(orgId, created)
    return created
  }
  const totalMilli = ({ plan }: Pick<Principal, 'plan'>): number | null => {
    const units = plans[plan].unitsPerMonth
    return units === null ? null : units * MILLI_UNITS_PER_UNIT
  }
  const countedMilli = ({ orgId, countsFrom }: QuotaOwner): number => {
    const isThisMonth = countsFrom && monthStartMs(countsFrom.atMs) === monthStartMs(nowMs())
    return Math.max(0, usage.used(orgId) - (isThisMonth ? countsFrom.milliUnits : 0))
  }
  const quota: Ledger['quota'] = (principal) => {
    const { orgId } = principal
    const usedMilli = countedMilli(principal)
    const total = totalMilli(principal)
    const left = total === null ? null : Math.max(0, total - usedMilli - holdOf(orgId).milliUnits)
    return {
      used: usedMilli / MILLI_UNITS_PER_UNIT,
      total: total === null ? null : total / MILLI_UNITS_PER_UNIT,
      remaining: left === null ? null : left / MILLI_UNITS_PER_UNIT,
      resetAtMs: monthStartMs(nowMs(), 1),
    }
  }
  const reserve: Ledger['reserve'] = (principal, milliUnits, route = 'other') => {
    const { orgId } = principal
    const total = totalMilli(principal)
    const required = countedMilli(principal) + holdOf(orgId).milliUnits + milliUnits
    if (milliUnits > 0 && total !== null && required > total) {
      const { used, total: units, resetAtMs } = quota(principal)
      const left = Math.max(0, units === null ? 0 : units - used)
      const message = `This request costs ${milliUnits / MILLI_UNITS_PER_UNIT} units, and ${left} of this month's quota are left`
      throw new Fault('FORBIDDEN', message, {
        reason: 'quota_exhausted',
        cost: milliUnits / MILLI_UNITS_PER_UNIT,
        used,
        total: units,
        resetAt: resetAtMs,
      })
    }
    const hold = holdOf(orgId)
    const atMs = nowMs()
    hold.milliUnits += milliUnits
    let open = true
    const close = (chargedMilli: number): void => {
      if (!open) return
      open = false
      hold.milliUnits -= milliUnits
      if (chargedMilli > 0) usage.charge(orgId, { route, milliUnits: chargedMilli, atMs })
    }
    return { settle: close, release: () => close(0) }
  }
  return { quota, reserve }
}
