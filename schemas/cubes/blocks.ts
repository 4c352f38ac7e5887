import { BLOCK_FIELDS, countLeaf, nativeLeaf, ROW_LIMIT, rawLeaf, unknownLeaf } from './fields.ts'
import type { Cube } from './types.ts'

const evm = { vm: 'evm' } as const

/** One row per block. */
export const BLOCKS: Cube = {
  name: 'Blocks',
  about: 'One row per block that was ingested. On Solana a slot without a block has no row.',
  groups: ['EVM', 'Solana'],
  layer: 'DWD',
  baseCost: 800,
  source: '{chain}_blocks FINAL',
  time: 'block_time',
  lookups: {},
  dimensions: {
    Block: {
      ...BLOCK_FIELDS,
      ParentHash: { sql: 'parent_hash', type: 'String', address: true, about: 'Block before it.' },
      TxCount: countLeaf('tx_count', 'Transactions; on Solana votes too.'),
      ParentSlot: { ...countLeaf('parent_slot', 'Slot of the block before it.'), vm: 'svm' },
      RewardsCount: { ...countLeaf('rewards_count', 'Rewards that it paid.'), vm: 'svm' },
      Coinbase: {
        sql: 'coinbase',
        type: 'String',
        address: true,
        about: 'Who is paid for it.',
        ...evm,
      },
      GasLimit: { ...countLeaf('gas_limit', 'Gas that it may use.'), ...evm },
      GasUsed: { ...countLeaf('gas_used', 'Gas that it used.'), ...evm },
      BaseFee: { ...nativeLeaf('base_fee', 'Whole native tokens per gas.'), ...evm },
      BaseFeeRaw: { ...rawLeaf('base_fee', 'Wei per gas.'), ...evm },
      Difficulty: {
        sql: 'toFloat64(difficulty)',
        type: 'Float',
        about: 'Difficulty; 0 since proof of stake.',
        ...evm,
      },
      TotalFee: unknownLeaf('Float', 'Fees are not added up per block.'),
    },
  },
  selectors: { date: ['Block.Time'] },
  defaults: {},
  order: ['block_slot', 'block_hash'],
  newest: 'Block.Time',
  limit: ROW_LIMIT,
  aliases: [],
}
