import type { NativeBalanceChange } from '../../../schemas/block-parts.ts'
import type { ChainRow } from '../../../schemas/chains.ts'
import type { BalanceChange } from '../../../schemas/events.ts'

/** What accounts hold of a chain's native token after a block, as balances of a token are reported. */
export const nativeBalanceChanges = (
  changes: readonly NativeBalanceChange[],
  {
    nativeAddress: token,
    nativeDecimals: decimals,
  }: Pick<ChainRow, 'nativeAddress' | 'nativeDecimals'>,
): readonly BalanceChange[] =>
  changes.map(({ account, txIndex, preRaw, postRaw }) => ({
    kind: 'balance',
    txIndex,
    logIndex: 0,
    account,
    owner: account,
    token,
    decimals,
    preRaw,
    postRaw,
    lifecycle: preRaw === 0n ? 'new' : postRaw === 0n ? 'closed' : 'existing',
  }))
