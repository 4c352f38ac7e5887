import type { EvmBlock } from '../../../schemas/events.ts'
import type { BlockMapping } from '../../to-wire/block-mapping.ts'
import { loggedFeePayer } from '../normalize/fee-logs.ts'
import { evmFeedFindings } from './feed-findings.ts'
import { evmHeader } from './header.ts'
import { evmTransactionFields } from './transactions.ts'

/** Blocks of EVM chains as events. */
export const EVM_MAPPING: BlockMapping<EvmBlock> = {
  tokenKind: 'erc20',
  tokenFields: () => ({ evm_extra: { token_standard: 'TOKEN_STANDARD_ERC20' } }),
  header: evmHeader,
  blockNumber: ({ height }) => height,
  // On ZKsync someone else may pay for the sender.
  feePayer: (chain, { logs, from }) => loggedFeePayer(chain, logs) ?? from,
  transactionFields: evmTransactionFields,
  feedFindings: evmFeedFindings,
}
