import { createHash } from 'node:crypto'
import { base58Encode } from '../../core/base58.ts'
import { isSvmNetwork } from '../../schemas/payment-networks.ts'
import type { Facilitator, VerifiedPayment } from './contract.ts'

/** For a trial without a node, on networks whose tokens are worth nothing: takes every payment that is signed well, and moves no money. */
export const createMockFacilitator = (): Facilitator => ({
  verify: async () => undefined,
  settle: async ({ payment, beforeSend }) => {
    const transaction = inventedName(payment)
    await beforeSend(transaction)
    return { transaction }
  },
  // It moves nothing, so nothing is found.
  lookUp: async () => 'unused',
  close: async () => undefined,
})

const inventedName = ({ offer: { network }, from, nonce }: VerifiedPayment): string => {
  const text = `${from}${nonce}`
  return isSvmNetwork(network)
    ? base58Encode(createHash('sha512').update(text).digest())
    : `0x${createHash('sha256').update(text).digest('hex')}`
}
