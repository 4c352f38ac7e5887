import { Outage } from '../../../core/errors.ts'
import type { Logger } from '../../../core/ops/logger.ts'
import { retry } from '../../../core/retry.ts'
import type { RpcPool } from '../../../core/rpc/pool.ts'
import { fieldsOf, invalid, listOf } from '../../input/json.ts'
import { parseBase58Key, parseBase64 } from '../layout/json.ts'
import type { Commitment } from './node-queries.ts'

/** An account as it is now. */
export interface AccountInfo {
  /** Program that may change it. */
  readonly owner: string
  readonly data: Uint8Array
}

/**
 * Accounts in the order in which they were asked for, null where there is none. A Solana node keeps no state of earlier
 * slots: the answer is that of the newest block of the commitment. Repeated until an endpoint answers; aborts with the signal.
 */
export type AccountReader = (
  addresses: readonly string[],
  signal: AbortSignal,
) => Promise<readonly (AccountInfo | null)[]>

/** Most accounts of one call. Source: agave rpc, MAX_MULTIPLE_ACCOUNTS. */
const ACCOUNTS_PER_CALL = 100

/** Reads accounts from a node. */
export const accountReader = (
  rpc: RpcPool,
  { commitment, log }: { readonly commitment: Commitment; readonly log: Logger },
): AccountReader => {
  const part = async (addresses: readonly string[]): Promise<readonly (AccountInfo | null)[]> => {
    const found = await rpc.attempt(async (ask) => {
      const params = [addresses, { commitment, encoding: 'base64' }]
      const { value } = fieldsOf(await ask({ method: 'getMultipleAccounts', params }), 'accounts')
      const list = listOf(value, 'accounts.value')
      if (list.length !== addresses.length) throw invalid('account-count', 'accounts', list.length)
      return list.map(parseAccountInfo)
    })
    if (found === undefined) throw new Outage('rpc', 'account lookup failed on every endpoint')
    return found
  }
  return async (addresses, signal) => {
    const parts = Array.from(
      { length: Math.ceil(addresses.length / ACCOUNTS_PER_CALL) },
      (_, index) => addresses.slice(index * ACCOUNTS_PER_CALL, (index + 1) * ACCOUNTS_PER_CALL),
    )
    const found = await Promise.all(
      parts.map((each) =>
        retry(() => part(each), {
          firstMs: 200,
          maxMs: 10_000,
          tries: Number.POSITIVE_INFINITY,
          signal,
          again: (error) => !(error instanceof Outage && error.final),
          onRetry: (error, attempt) =>
            log.warn({ err: error, attempt }, 'account lookup failed, retrying'),
        }),
      ),
    )
    return found.flat()
  }
}

const parseAccountInfo = (value: unknown): AccountInfo | null => {
  if (value === null) return null
  const { owner, data } = fieldsOf(value, 'account')
  const [text, encoding] = listOf(data, 'account.data')
  if (encoding !== 'base64') throw invalid('unknown-encoding', 'account.data[1]', encoding)
  return {
    owner: parseBase58Key(owner, 'account.owner'),
    data: parseBase64(text, 'account.data[0]'),
  }
}
