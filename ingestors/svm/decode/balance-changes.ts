import { CHAINS } from '../../../schemas/chains.ts'
import type { BalanceChange, SvmTransaction } from '../../../schemas/events.ts'
import { NATIVE_SOL } from '../protocols/tx-context.ts'

const { nativeDecimals } = CHAINS.sol

/**
 * Adds the balances that a transaction changed: token accounts, and the native token of accounts that hold no tokens; what a token
 * account holds of the native token is its rent or, wrapped, its tokens. They stand behind all instructions.
 */
export const addBalanceChanges = (
  { index: txIndex, instructions, tokenBalances, lamports }: SvmTransaction,
  out: BalanceChange[],
): void => {
  const logIndex = instructions.length
  if (tokenBalances.length === 0 && lamports.length === 0) return
  const holding = new Set<string>()
  for (const { account, owner, mint: token, decimals, preRaw, postRaw } of tokenBalances) {
    holding.add(account)
    if (preRaw === postRaw) continue
    out.push({
      kind: 'balance',
      txIndex,
      logIndex,
      account,
      owner,
      token,
      decimals,
      preRaw: preRaw ?? 0n,
      postRaw: postRaw ?? 0n,
      lifecycle: preRaw === null ? 'new' : postRaw === null ? 'closed' : 'existing',
    })
  }
  for (const { account, preRaw, postRaw } of lamports) {
    if (holding.has(account)) continue
    out.push({
      kind: 'balance',
      txIndex,
      logIndex,
      account,
      owner: account,
      token: NATIVE_SOL,
      decimals: nativeDecimals,
      preRaw,
      postRaw,
      lifecycle: preRaw === 0n ? 'new' : postRaw === 0n ? 'closed' : 'existing',
    })
  }
}
