import { InvalidInput } from '../../core/errors.ts'
import { type RetryOptions, retry } from '../../core/retry.ts'
import type { RejectedTransaction } from '../../schemas/events.ts'

/** Reads a block again and again; what is nowhere in shape after that is read without its transactions that are not. */
export const leniently = <T>(
  read: (lenient: boolean) => Promise<T>,
  again: RetryOptions,
): Promise<T> =>
  retry(() => read(false), again).catch((error: unknown) => {
    if (error instanceof InvalidInput) return read(true)
    throw error
  })

/** A transaction that may be refused. */
export interface Refusable extends Pick<RejectedTransaction, 'index' | 'said'> {
  /** Its hash as the node tells it, and the longest that a hash of the chain is. */
  readonly name: unknown
  readonly longest: number
}

/** What `read` gives; a transaction that is out of shape goes to `refused` where that is given, and is undefined then. */
export const readOrRefuse = <T>(
  read: () => T,
  { name, longest, index, said }: Refusable,
  refused: RejectedTransaction[] | undefined,
): T | undefined => {
  try {
    return read()
  } catch (error) {
    if (refused === undefined || !(error instanceof InvalidInput)) throw error
    const { reason, message } = error
    const txHash = typeof name === 'string' ? name.slice(0, longest) : ''
    refused.push({ txHash, index, reason, message, said })
    return undefined
  }
}
