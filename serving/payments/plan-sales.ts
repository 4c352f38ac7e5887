import type { Logger } from '../../core/ops/logger.ts'
import {
  isSvmNetwork,
  PAYMENT_DECIMALS,
  type PaymentNetworkName,
} from '../../schemas/payment-networks.ts'
import type { PlanName } from '../../schemas/plans.ts'
import type { PlanPurchase } from '../../schemas/wire.ts'
import type { Actor } from '../auth/control-records.ts'
import type { Organizations } from '../auth/organizations.ts'
import type { BoughtPlan, PlanOrder } from '../auth/plan-purchases.ts'
import type { WalletKind } from '../auth/siwx-message.ts'
import { walletKey } from '../auth/wallet-link-rows.ts'
import type { Offer } from './contract.ts'
import type { OpenPayment, PaidCall, PaymentFailure, Payments } from './payments.ts'

/** A plan with its price. */
export interface PlanForSale {
  readonly plan: PlanName
  readonly priceUsd: number
  /** Base units of a token with `PAYMENT_DECIMALS` decimals. */
  readonly priceRaw: bigint
}

/** What became of a purchase. `isNew` false: it was paid before, by the same call. */
export type Sale =
  | ({
      readonly kind: 'bought'
      readonly isNew: boolean
      readonly payer: string
      readonly transaction: string
    } & BoughtPlan)
  | ({ readonly kind: 'refused' } & PaymentFailure)

/** Plans that wallets buy. */
export interface PlanSales {
  readonly plans: readonly PlanForSale[]
  /**
   * Orders, settles and gives a plan; what fails before the settlement costs nothing. Throws `Fault` as orders and payments do;
   * `Outage` behind the settlement: the plan follows by itself, or with the same call.
   */
  buy(plan: PlanName, paid: PaidCall, by: Omit<Actor, 'actor'>): Promise<Sale>
}

/** What sales work with. */
export interface PlanSaleDeps {
  readonly plans: readonly PlanForSale[]
  readonly payments: Payments
  readonly organizations: Pick<Organizations, 'purchasesAs'>
  /** Used of this month by an organization, thousandths of a CU. */
  readonly usedMilli: (orgId: string) => number
  readonly log: Logger
}

const RAW_PER_CENT = 10n ** BigInt(PAYMENT_DECIMALS - 2)
const SOLANA_WALLET = 'solana'

/** What kind of wallet pays on a network. */
const walletChain = (network: PaymentNetworkName): WalletKind =>
  isSvmNetwork(network) ? SOLANA_WALLET : 'evm'

/** Prices as the setting writes them, `nano:5`. */
export const readPlanPrices = (texts: readonly string[]): readonly PlanForSale[] =>
  texts.map((text) => {
    const [plan = '', dollars = ''] = text.split(':')
    const cents = BigInt(Math.round(Number(dollars) * 100))
    return { plan: plan as PlanName, priceUsd: Number(dollars), priceRaw: cents * RAW_PER_CENT }
  })

/** Sales over payments and organizations. */
export const createPlanSales = (deps: PlanSaleDeps): PlanSales => {
  const { plans, payments, organizations, usedMilli } = deps
  return {
    plans,
    buy: async (plan, paid, by) => {
      const started = await payments.start(paid)
      if (started.kind === 'refused') return started
      const { payer } = started.kind === 'paid' ? started : started.payment
      const actor = walletKey(walletChain(paid.offer.network), payer)
      const purchases = organizations.purchasesAs({ ...by, actor }, actor)
      if (started.kind === 'paid') {
        const { id, transaction } = started
        const bought = await purchases.complete(id, transaction, usedMilli)
        // Who shows a payment again need not be who signed it: it stands on the chain. A key is in the first answer only.
        return { kind: 'bought', isNew: false, payer, transaction, ...bought, apiKey: null }
      }
      const { payment } = started
      const isNew = await orderHeld(purchases.order, payment, orderOf(plan, paid.offer, payment))
      const outcome = await payment.settle()
      if ('problem' in outcome) {
        // What another call has ordered may be paid yet: that is looked up, not guessed.
        if (isNew && !outcome.isPending) await purchases.abandon(payment.id, outcome.problem)
        return { kind: 'refused', ...outcome }
      }
      const { transaction } = outcome
      const bought = await purchases.complete(payment.id, transaction, usedMilli)
      const apiKey = isNew ? bought.apiKey : null
      return { kind: 'bought', isNew: true, payer, transaction, ...bought, apiKey }
    },
  }
}

/** A payment whose order is refused is good for something else. */
const orderHeld = async (
  order: (row: PlanOrder) => Promise<boolean>,
  payment: OpenPayment,
  row: PlanOrder,
): Promise<boolean> => {
  try {
    return await order(row)
  } catch (error) {
    payment.release()
    throw error
  }
}

const orderOf = (
  plan: PlanName,
  { network, asset, payTo, amountRaw }: Offer,
  { id, payer, authorization: { nonce, validBefore } }: OpenPayment,
): PlanOrder => ({
  payment_id: id,
  plan,
  chain: walletChain(network),
  address: payer,
  network,
  asset,
  nonce,
  pay_to: payTo,
  amount_raw: `${amountRaw}`,
  valid_before: Number(validBefore) * 1_000,
})

/** A purchase by the transfer that pays it. */
export const transferOf = ({
  chain,
  network,
  asset,
  address,
  pay_to,
  amount_raw,
  nonce,
  valid_before,
}: PlanPurchase) => ({
  offer: { network, asset } as Pick<Offer, 'network' | 'asset'>,
  from: address,
  to: chain === SOLANA_WALLET ? pay_to : pay_to.toLowerCase(),
  valueRaw: BigInt(amount_raw),
  nonce,
  validBefore: BigInt(Math.floor(valid_before / 1_000)),
})
