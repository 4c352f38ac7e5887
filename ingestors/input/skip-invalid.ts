import { InvalidInput } from '../../core/errors.ts'
import { type RetryOptions, retry } from '../../core/retry.ts'
import type { RejectedTransaction } from '../../schemas/block-parts.ts'
import { toDropReason } from '../../schemas/drop-reasons.ts'

/** Reads a block, with retries; when no endpoint returns a valid one, reads it once more without its invalid transactions. */
export const skippingInvalid = <T>(
  read: (skipInvalid: boolean) => Promise<T>,
  again: RetryOptions,
): Promise<T> =>
  retry(() => read(false), again).catch((error: unknown) => {
    if (error instanceof InvalidInput) return read(true)
    throw error
  })

/** What is known of a transaction before it is parsed. */
export interface RejectedFields extends Pick<RejectedTransaction, 'index' | 'input'> {
  /** Its hash in the response of the node, and the longest hash that the chain has. */
  readonly name: unknown
  readonly longest: number
}

/** The parsed value; an invalid transaction is added to `rejected` where a list is given, and the value is undefined then. */
export const parseOrReject = <T>(
  read: () => T,
  { name, longest, index, input }: RejectedFields,
  rejected: RejectedTransaction[] | undefined,
): T | undefined => {
  try {
    return read()
  } catch (error) {
    if (rejected === undefined || !(error instanceof InvalidInput)) throw error
    const { reason, message } = error
    const txHash = typeof name === 'string' ? name.slice(0, longest) : ''
    rejected.push({ txHash, index, reason: toDropReason(reason), message, input })
    return undefined
  }
}
