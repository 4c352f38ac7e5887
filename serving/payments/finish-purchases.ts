import type { RunningTask } from '../../core/bus/contract.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { PaymentNetworkName } from '../../schemas/payment-networks.ts'
import type { PlanPurchase } from '../../schemas/wire.ts'
import { SYSTEM_ACTOR } from '../auth/administration.ts'
import type { Organizations } from '../auth/organizations.ts'
import type { Facilitator, TransferState } from './contract.ts'
import { isRemembered, type PaymentLog } from './payment-log.ts'
import type { Payments } from './payments.ts'
import { transferOf } from './plan-sales.ts'

/** How often orders without an outcome are looked at, and how many at a time. */
const EVERY_MS = 10_000
const MAX_PER_ROUND = 50
/** A settlement in another process is let be for so long: it waits 30 s for its transaction. */
const GRACE_MS = 60_000
/** Behind the end of an authorization; clocks of blocks and machines differ, and a node may be behind. */
const AFTER_END_MS = 120_000

/** What finishing works with. */
export interface FinishDeps {
  readonly organizations: Pick<Organizations, 'registry' | 'purchasesAs'>
  readonly payments: Pick<Payments, 'isHeld'>
  readonly paymentLog: Pick<PaymentLog, 'find' | 'isFresh'>
  /** undefined: payments of that network are not taken any more. */
  readonly facilitatorOf: (network: PaymentNetworkName) => Facilitator | undefined
  readonly usedMilli: (orgId: string) => number
  readonly nowMs: () => number
  readonly log: Logger
  readonly graceMs?: number
  readonly everyMs?: number
}

/**
 * Looks after purchases that were interrupted behind their order: one whose payment was made is completed without its payer, one that
 * can no longer be paid is forgotten, and one that nothing can be said of stays and is named in the log.
 */
export const startFinishingPurchases = (deps: FinishDeps): RunningTask => {
  const { organizations, payments, nowMs, log, graceMs = GRACE_MS, everyMs = EVERY_MS } = deps
  let round = Promise.resolve()
  let isStopped = false
  let next = 0
  const finishAll = async (): Promise<void> => {
    const due = organizations.registry
      .open()
      .filter((each) => each.ordered_at + graceMs < nowMs() && !payments.isHeld(each.payment_id))
    // In turns: orders that nothing can be said of stay, and must not keep the others waiting.
    const from = next < due.length ? next : 0
    next = from + MAX_PER_ROUND
    for (const purchase of due.slice(from, next)) {
      if (isStopped) return
      await finishOne(deps, purchase).catch((error: unknown) =>
        log.warn({ err: error, payment: purchase.payment_id }, 'purchase could not be finished'),
      )
    }
  }
  let isRunning = false
  const check = (): void => {
    if (isRunning) return
    isRunning = true
    round = finishAll().finally(() => {
      isRunning = false
    })
  }
  check()
  const timer = setInterval(check, everyMs)
  timer.unref()
  return {
    stop: async () => {
      isStopped = true
      clearInterval(timer)
      await round
    },
  }
}

const finishOne = async (
  { organizations, paymentLog, facilitatorOf, usedMilli, nowMs, log }: FinishDeps,
  purchase: PlanPurchase,
): Promise<void> => {
  const { payment_id: id, network } = purchase
  const purchases = organizations.purchasesAs(SYSTEM_ACTOR)
  const row = paymentLog.find(id)
  const lookUp = async (): Promise<TransferState> => {
    const facilitator = facilitatorOf(network as PaymentNetworkName)
    if (facilitator === undefined) return 'unknown'
    return facilitator.lookUp(transferOf(purchase), row?.transaction ?? '')
  }
  const state = row?.state === 'settled' ? { transaction: row.transaction } : await lookUp()
  if (typeof state === 'object') {
    await purchases.complete(id, state.transaction, usedMilli)
    log.info({ payment: id }, 'interrupted purchase is completed')
    return
  }
  if (purchase.valid_before + AFTER_END_MS > nowMs()) return
  // What is not written down was not sent, while it would still be found.
  const isUnsent =
    row === undefined &&
    paymentLog.isFresh() &&
    isRemembered(purchase.ordered_at, purchase.valid_before, nowMs())
  if (state === 'unused' || (state === 'unknown' && isUnsent))
    return purchases.abandon(id, 'its payment was not made in time')
  log.warn({ payment: id, state }, 'the payment of a purchase is not known to be made')
}
