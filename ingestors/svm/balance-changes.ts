import { CHAINS } from '../../schemas/chains.ts'
import type { BalanceChange, SvmTransaction } from '../../schemas/events.ts'
import { SOL } from './scope.ts'

const { nativeDecimals } = CHAINS.sol

/**
 * Balances that a transaction changed: token accounts, and the coin of accounts that hold no tokens; what a token account
 * holds of the coin is its rent or, wrapped, its tokens. They stand behind all instructions.
 */
export const balanceChanges = ({
  index,
  instructions,
  tokenBalances,
  lamports,
}: SvmTransaction): readonly BalanceChange[] => {
  const spot = { kind: 'balance', txIndex: index, logIndex: instructions.length } as const
  const changes: BalanceChange[] = []
  for (const { account, owner, mint, decimals, preRaw, postRaw } of tokenBalances) {
    if (preRaw === postRaw) continue
    changes.push({
      ...spot,
      account,
      owner,
      token: mint,
      decimals,
      preRaw: preRaw ?? 0n,
      postRaw: postRaw ?? 0n,
      lifecycle: preRaw === null ? 'new' : postRaw === null ? 'closed' : 'existing',
    })
  }
  const holding = new Set(tokenBalances.map(({ account }) => account))
  for (const { account, preRaw, postRaw } of lamports) {
    if (holding.has(account)) continue
    changes.push({
      ...spot,
      account,
      owner: account,
      token: SOL,
      decimals: nativeDecimals,
      preRaw,
      postRaw,
      lifecycle: preRaw === 0n ? 'new' : postRaw === 0n ? 'closed' : 'existing',
    })
  }
  return changes
}
