import type { NativeBalanceChange } from '../../schemas/block-parts.ts'
import type { Vm } from '../../schemas/chains.ts'
import type { BalanceChange, Block, DecodedBlock } from '../../schemas/events.ts'
import type { TokenAmounts } from '../decode/contract.ts'
import { transferBalances } from '../evm/decode/transfer-balances.ts'

/** What moves tokens of a kind of chain, as a label of metrics. */
export const TOKEN_LABELS: Readonly<Record<Vm, string>> = {
  evm: 'erc20',
  svm: 'spl_token',
  move: 'sui_coin',
}

/**
 * What owners hold after a block. Solana says it; on EVM it is the sum of transfers; on Sui transfers are not all that moves
 * coins, so nothing is summed.
 */
export const runningBalances = (
  block: Block,
  { transfers, balances }: DecodedBlock,
  amounts: TokenAmounts,
): readonly BalanceChange[] =>
  block.vm === 'evm' ? transferBalances(transfers, amounts) : balances

/** Balances of the chain's native token that came with the block itself. */
export const nativeBalances = (block: Block): readonly NativeBalanceChange[] =>
  (block.vm === 'evm' && block.coins) || []
