import { EVM_ZERO_ADDRESS } from '../../../schemas/burn-addresses.ts'
import type { BalanceChange, Transfer } from '../../../schemas/events.ts'
import type { TokenAmounts } from '../../decode/contract.ts'

const ownerKey = (token: string, owner: string): string => `held/${token}/${owner}`

interface OpenBalance {
  readonly first: bigint | undefined
  readonly last: Transfer
  readonly now: bigint
}

/**
 * What owners hold by the transfers of tokens of which everything is known: contracts do not log balances. One change per
 * (transaction, owner, token), at the transfer that ended it.
 */
export const transferBalances = (
  transfers: readonly Transfer[],
  amounts: TokenAmounts,
): readonly BalanceChange[] => {
  const list: BalanceChange[] = []
  let open = new Map<string, OpenBalance & { readonly owner: string }>()
  let txIndex = -1
  const close = (): void => {
    for (const { first, last, now, owner } of open.values()) {
      if ((first ?? 0n) === now) continue
      list.push({
        kind: 'balance',
        txIndex: last.txIndex,
        logIndex: last.logIndex,
        account: owner,
        owner,
        token: last.token,
        decimals: null,
        preRaw: first ?? 0n,
        postRaw: now,
        lifecycle: first === undefined ? 'new' : 'existing',
      })
    }
    open = new Map()
  }
  const move = (transfer: Transfer, owner: string, by: bigint): void => {
    if (owner === EVM_ZERO_ADDRESS) return
    const key = ownerKey(transfer.token, owner)
    const before = amounts.get(key)
    const sum = (before ?? 0n) + by
    const now = sum < 0n ? 0n : sum
    amounts.set(key, now === 0n ? null : now)
    const openBalance = open.get(key)
    open.set(key, { first: openBalance ? openBalance.first : before, last: transfer, now, owner })
  }
  for (const transfer of transfers) {
    if (!amounts.isWhole(transfer.token)) continue
    if (transfer.txIndex !== txIndex) close()
    txIndex = transfer.txIndex
    move(transfer, transfer.from, -transfer.amountRaw)
    move(transfer, transfer.to, transfer.amountRaw)
  }
  close()
  return list
}
