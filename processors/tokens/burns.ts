import { burnAddressesOf } from '../../schemas/burn-addresses.ts'
import type { OperationRecord } from '../runtime/stage.ts'

/** What an account of a burn address holds, in base units. Survives JSON. */
export interface BurnAccount {
  readonly raw: string
}

/** How such an account changed. */
export interface BurnAccountChange {
  readonly token: string
  readonly decimals: number
  readonly preRaw: bigint
  readonly postRaw: bigint
}

/** What an operation does to accounts of burn addresses, and what they hold behind it. */
export interface BlockBurns {
  readonly changes: readonly BurnAccountChange[]
  readonly accounts: ReadonlyMap<string, BurnAccount>
}

/**
 * Changes of burn addresses among balances by token. An account counts from when it was first seen, with all that it holds then;
 * without decimals it is not seen yet.
 */
export const blockBurns = (
  chain: string,
  records: readonly OperationRecord[],
  known: (account: string) => BurnAccount | undefined,
): BlockBurns => {
  const burned = new Set(burnAddressesOf(chain))
  const accounts = new Map<string, BurnAccount>()
  const changes: BurnAccountChange[] = []
  for (const { topic, value } of records) {
    if (topic !== 'holderDeltas') continue
    for (const { balance } of value.events) {
      if (balance === null || balance.decimals === null) continue
      if (!burned.has(balance.account_owner_address)) continue
      const { token_address: token, decimals, post_amount: raw } = balance
      const key = `${token}|${balance.account_owner_address}|${balance.token_account_address}`
      const before = accounts.get(key) ?? known(key)
      accounts.set(key, { raw })
      changes.push({ token, decimals, preRaw: BigInt(before?.raw ?? 0), postRaw: BigInt(raw) })
    }
  }
  return { changes, accounts }
}
