import { createHash } from 'node:crypto'
import type { Facilitator } from './contract.ts'

/** For a trial without a node, on networks whose tokens are worth nothing: takes every payment that is signed well, and moves no money. */
export const createMockFacilitator = (): Facilitator => ({
  verify: async () => undefined,
  settle: async ({ payment: { from, nonce }, beforeSend }) => {
    const transaction = `0x${createHash('sha256').update(`${from}${nonce}`).digest('hex')}`
    await beforeSend(transaction)
    return { transaction }
  },
  // It moves nothing, so nothing is found.
  lookUp: async () => 'unused',
  close: async () => undefined,
})
