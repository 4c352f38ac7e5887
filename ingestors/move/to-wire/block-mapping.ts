import type { MoveBlock } from '../../../schemas/events.ts'
import { HEADER_WITHOUT_GAS } from '../../to-wire/block-header.ts'
import type { BlockMapping } from '../../to-wire/block-mapping.ts'
import { rawText } from '../../to-wire/context.ts'

/** Checkpoints of Sui as events. */
export const MOVE_MAPPING: BlockMapping<MoveBlock> = {
  tokenKind: 'coin',
  tokenFields: () => ({}),
  header: ({ height, transactions }) => ({
    ...HEADER_WITHOUT_GAS,
    parent_slot: Math.max(height - 1, 0),
    tx_count: transactions.length,
  }),
  blockNumber: ({ height }) => height,
  feePayer: (_, { gasOwner }) => gasOwner,
  transactionFields: ({ transactions }) =>
    transactions.map(({ gas: { budgetRaw, priceRaw, computationRaw } }) => ({
      gas_limit: rawText(budgetRaw ?? undefined),
      gas_price: rawText(priceRaw ?? undefined),
      gas_used: rawText(computationRaw ?? undefined),
    })),
  feedFindings: () => ({}),
}
