import { Fault } from '../../core/fault.ts'
import { MILLI, PLANS, type PlanName, type PlanRow } from '../../schemas/plans.ts'
import type { Principal, Reservation } from '../contract.ts'

/** What an organization used of its month, in units; `total` and `remaining` null = without end. */
export interface Quota {
  readonly used: number
  readonly total: number | null
  readonly remaining: number | null
  /** Epoch milliseconds at which the next month starts. */
  readonly resetAtMs: number
}

/** Charges per organization and calendar month (UTC). */
export interface Ledger {
  /** Holds the worst case; throws `Fault` FORBIDDEN (`reason: quota_exhausted`) when it does not fit. */
  reserve(principal: Principal, milliUnits: number): Reservation
  quota(principal: Principal): Quota
}

interface Account {
  readonly month: number
  usedMilli: number
  heldMilli: number
}

const monthStart = (nowMs: number, offset: number): number => {
  const date = new Date(nowMs)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1)
}

/**
 * A ledger in memory: a restart forgets what was used, and every process counts for itself. Durable counting through
 * `_usage.events` belongs to the billing issue; until then a quota is a brake, not an invoice.
 */
export const makeLedger = (
  nowMs: () => number,
  plans: Readonly<Record<PlanName, PlanRow>> = PLANS,
): Ledger => {
  const accounts = new Map<string, Account>()
  const accountOf = (orgId: string): Account => {
    const month = monthStart(nowMs(), 0)
    const known = accounts.get(orgId)
    if (known?.month === month) return known
    const fresh = { month, usedMilli: 0, heldMilli: 0 }
    accounts.set(orgId, fresh)
    return fresh
  }
  const totalMilli = ({ plan }: Principal): number | null => {
    const units = plans[plan].unitsPerMonth
    return units === null ? null : units * MILLI
  }
  const quota = (principal: Principal): Quota => {
    const { usedMilli, heldMilli } = accountOf(principal.orgId)
    const total = totalMilli(principal)
    return {
      used: usedMilli / MILLI,
      total: total === null ? null : total / MILLI,
      remaining: total === null ? null : Math.max(0, total - usedMilli - heldMilli) / MILLI,
      resetAtMs: monthStart(nowMs(), 1),
    }
  }
  const reserve = (principal: Principal, milliUnits: number): Reservation => {
    const account = accountOf(principal.orgId)
    const total = totalMilli(principal)
    if (total === null || account.usedMilli + account.heldMilli + milliUnits <= total) {
      return hold(account, milliUnits)
    }
    const { used, total: units, resetAtMs } = quota(principal)
    throw new Fault('FORBIDDEN', 'The quota of this month is used up', {
      reason: 'quota_exhausted',
      used,
      total: units,
      resetAt: resetAtMs,
    })
  }
  return { quota, reserve }
}

const hold = (account: Account, milliUnits: number): Reservation => {
  account.heldMilli += milliUnits
  let open = true
  const close = (chargedMilli: number): void => {
    if (!open) return
    open = false
    account.heldMilli -= milliUnits
    account.usedMilli += chargedMilli
  }
  return { settle: close, release: () => close(0) }
}
