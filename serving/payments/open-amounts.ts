import type { VerifiedPayment } from './contract.ts'

/** Payments that one payer may have under way at once on a network. */
const MAX_UNDER_WAY_PER_PAYER = 16

type PayerPayment = Pick<VerifiedPayment, 'offer' | 'from' | 'valueRaw' | 'validBefore'>

/** Sums of what payers have verified and not settled, per network and token, in this process. */
export interface OpenAmounts {
  /**
   * Counts a payment as open until `end`. Answers the sum of what its payer has open, this payment included; undefined: the payer
   * has too many payments under way, and it is not counted.
   */
  add(id: string, payment: PayerPayment): bigint | undefined
  /** Ends a payment. `isUndecided`: its transaction may still be mined, so that its amount counts until the authorization ends. */
  end(id: string, payment: PayerPayment, isUndecided: boolean): void
}

interface OpenAmount {
  readonly valueRaw: bigint
  /** Epoch milliseconds; undefined: under way. */
  readonly endsAtMs?: number
}

/** No payment is open. */
export const createOpenAmounts = (nowMs: () => number): OpenAmounts => {
  const payers = new Map<string, Map<string, OpenAmount>>()
  const prune = (payer: string, amounts: Map<string, OpenAmount>): void => {
    for (const [id, { endsAtMs }] of amounts)
      if (endsAtMs !== undefined && endsAtMs < nowMs()) amounts.delete(id)
    if (amounts.size === 0) payers.delete(payer)
  }
  return {
    add: (id, payment) => {
      const payer = payerKey(payment)
      const amounts = payers.get(payer) ?? new Map<string, OpenAmount>()
      prune(payer, amounts)
      const all = [...amounts.values()]
      if (all.filter(({ endsAtMs }) => endsAtMs === undefined).length >= MAX_UNDER_WAY_PER_PAYER)
        return undefined
      payers.set(payer, amounts.set(id, { valueRaw: payment.valueRaw }))
      return [...amounts.values()].reduce((sum, { valueRaw }) => sum + valueRaw, 0n)
    },
    end: (id, payment, isUndecided) => {
      const payer = payerKey(payment)
      const amounts = payers.get(payer)
      if (amounts === undefined) return
      if (!isUndecided) {
        amounts.delete(id)
        if (amounts.size === 0) payers.delete(payer)
        return
      }
      const { valueRaw, validBefore } = payment
      amounts.set(id, { valueRaw, endsAtMs: Number(validBefore) * 1_000 })
      // A transaction without an outcome is rare: then also payers who did not come back are looked at.
      for (const [key, each] of payers) prune(key, each)
    },
  }
}

const payerKey = ({ offer: { network, asset }, from }: PayerPayment): string =>
  `${network}:${asset.toLowerCase()}:${from}`
