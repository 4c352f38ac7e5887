import { Fault } from '../../core/errors.ts'
import { DAY_MS } from '../../core/time.ts'
import {
  BOUGHT_PLAN_DAYS,
  isLowerPlan,
  isPlanName,
  NO_PLAN,
  type PlanName,
} from '../../schemas/plans.ts'
import type { Org, PlanPurchase, WalletLink } from '../../schemas/wire.ts'
import { type AdministrationDeps, commitAudited, createApplicationRows } from './administration.ts'
import { isOpen } from './bought-plans.ts'
import type { OrganizationRegistry } from './organization-registry.ts'
import { isLinked, unlinkedRow, walletKey } from './wallet-link-rows.ts'

/** What is ordered: a plan, and the payment that is to be made for it. */
export type PlanOrder = Omit<
  PlanPurchase,
  | 'state'
  | 'org_id'
  | 'transaction'
  | 'ordered_at'
  | 'starts_at'
  | 'ends_at'
  | 'used_before'
  | 'version'
>

/** A plan that is paid for. */
export interface BoughtPlan {
  readonly purchase: PlanPurchase
  /** Key of an organization that this call created: the only time that its text is returned; null = it existed before. */
  readonly apiKey: string | null
}

/**
 * Plans that wallets buy. An order is written before anything may move money, and the plan, the organization and the link of its wallet in
 * one commit behind the payment: what is interrupted between the two is completed later, by the order.
 */
export interface PlanPurchases {
  /**
   * Writes an order; the same one again changes nothing. Answers whether it is new. Throws `Fault` CONFLICT where the wallet has a
   * plan that gives as much without an end, or more, or another order of it is open; FORBIDDEN where its organization is suspended;
   * `Outage`.
   */
  order(order: PlanOrder): Promise<boolean>
  /** Gives what was ordered, once; a wallet without an organization gets one. Throws `Fault` NOT_FOUND without an order; `Outage`. */
  complete(
    paymentId: string,
    transaction: string,
    usedMilli: (orgId: string) => number,
  ): Promise<BoughtPlan>
  /** Forgets an order whose payment can no longer be made. Throws `Outage`. */
  abandon(paymentId: string, reason: string): Promise<void>
}

/** Purchases over the control log. */
export const createPlanPurchases = (deps: AdministrationDeps): PlanPurchases => {
  const { registry, records, nowMs } = deps
  return {
    order: async (order) => {
      const { payment_id: paymentId, plan } = order
      let isNew = false
      const entry = { action: 'plan.order', subject: paymentId, detail: plan }
      await commitAudited(deps, entry, () => {
        isNew = registry.purchase(paymentId) === undefined
        if (!isNew) return []
        rejectOrder(registry, order, nowMs())
        const open = { state: 'ordered', org_id: '', transaction: '', ordered_at: nowMs() }
        return [
          records.purchase({
            ...order,
            ...open,
            starts_at: 0,
            ends_at: 0,
            used_before: 0,
            version: 1,
          }),
        ]
      })
      return isNew
    },
    complete: async (paymentId, transaction, usedMilli) => {
      const existing = registry.purchase(paymentId)
      // Who shows a payment again waits for no writer.
      if (existing !== undefined && !isOpen(existing)) return { purchase: existing, apiKey: null }
      const { chain = '', address = '', plan = '' } = existing ?? {}
      const key = walletKey(chain, address)
      const made = createApplicationRows({ name: key, plan: NO_PLAN }, deps)
      const entry = { action: 'plan.buy', subject: paymentId, detail: `${plan} ${transaction}` }
      await commitAudited(deps, entry, () => {
        const order = registry.purchase(paymentId)
        if (order === undefined) throw new Fault('NOT_FOUND', 'No such purchase')
        if (!isOpen(order)) return []
        const link = registry.walletLink(key)
        const org = link && orgOf(registry, link)
        const orgId = org?.org_id ?? made.presented.orgId
        const purchase = paidRow(order, { transaction, orgId, atMs: nowMs(), usedMilli })
        if (org !== undefined) return [records.purchase(purchase)]
        const linked = linkRow(order, link, { ...made.presented, atMs: nowMs() })
        return [...made.records, records.walletLink(linked), records.purchase(purchase)]
      })
      const purchase = registry.purchase(paymentId)
      if (purchase === undefined) throw new Fault('NOT_FOUND', 'No such purchase')
      const isOurs = purchase.org_id === made.presented.orgId
      return { purchase, apiKey: isOurs ? made.presented.apiKey : null }
    },
    abandon: async (paymentId, reason) => {
      const entry = { action: 'plan.abandon', subject: paymentId, detail: reason }
      await commitAudited(deps, entry, () => {
        const order = registry.purchase(paymentId)
        return order !== undefined && isOpen(order) ? [records.gone('purchases', paymentId)] : []
      })
    },
  }
}

const paidRow = (
  order: PlanPurchase,
  {
    transaction,
    orgId,
    atMs,
    usedMilli,
  }: {
    readonly transaction: string
    readonly orgId: string
    readonly atMs: number
    readonly usedMilli: (orgId: string) => number
  },
): PlanPurchase => ({
  ...order,
  state: 'paid',
  transaction,
  org_id: orgId,
  starts_at: atMs,
  ends_at: atMs + BOUGHT_PLAN_DAYS * DAY_MS,
  used_before: Math.round(usedMilli(orgId)),
  version: order.version + 1,
})

/**
 * The payer has signed the payment: that proves the wallet as a sign-in message would. No such message says when, so that tokens signed
 * behind the end of the last link count.
 */
const linkRow = (
  { chain, address }: PlanPurchase,
  before: WalletLink | undefined,
  { orgId, appId, atMs }: { readonly orgId: string; readonly appId: string; readonly atMs: number },
): WalletLink => {
  const ended = before && (isLinked(before) ? unlinkedRow(before, atMs) : before)
  return {
    chain,
    address,
    org_id: orgId,
    app_id: appId,
    linked_at: atMs,
    proofs_after: ended === undefined ? 0 : ended.proofs_after + 1,
    version: (before?.version ?? 0) + 1,
  }
}

const orgOf = (registry: OrganizationRegistry, link: WalletLink): Org | undefined =>
  isLinked(link) && registry.application(link.app_id) ? registry.org(link.org_id) : undefined

const rejectOrder = (
  registry: OrganizationRegistry,
  { chain, address, plan }: PlanOrder,
  atMs: number,
): void => {
  const other = registry.open().find((each) => each.chain === chain && each.address === address)
  if (other !== undefined)
    throw new Fault('CONFLICT', 'Another purchase of the wallet is still pending', {
      reason: 'purchase_under_way',
    })
  const link = registry.walletLink(walletKey(chain, address))
  const org = link && orgOf(registry, link)
  if (link === undefined || org === undefined || !isPlanName(plan)) return
  if (org.suspended)
    throw new Fault('FORBIDDEN', 'The organization is suspended', { reason: 'suspended' })
  if (registry.application(link.app_id)?.disabled)
    throw new Fault('FORBIDDEN', 'The application is disabled', { reason: 'disabled' })
  rejectLowerPlan(registry, org, { plan, atMs })
}

const rejectLowerPlan = (
  registry: OrganizationRegistry,
  org: Org,
  { plan, atMs }: { readonly plan: PlanName; readonly atMs: number },
): void => {
  const held = registry.planOf(org, atMs)
  if (held === undefined) return
  const isMore =
    held.endsAtMs === null ? isLowerPlan(held.plan, plan) : !isLowerPlan(plan, held.plan)
  if (isMore) return
  throw new Fault('CONFLICT', `The organization has the plan ${held.plan}, which gives no less`, {
    reason: 'lower_plan',
    plan: held.plan,
    expiresAt: held.endsAtMs,
  })
}
