import type * as Wire from '../../schemas/wire.ts'

/** Header fields of a block record: what APPLY says of the block and REVERT repeats. */
export type BlockHeader = Omit<
  Wire.BlockEvent,
  'meta' | 'quote_prices' | 'counts' | 'spans' | 'final_seq' | 'final_height' | 'cursor'
>

/** Header fields of an operation that brings no block. */
export const NO_HEADER: BlockHeader = {
  parent_slot: 0,
  tx_count: 0,
  coinbase: '',
  gas_limit: '',
  gas_used: '',
  base_fee: '',
  difficulty: '',
  nonce: '',
  extra: Buffer.alloc(0),
  rewards_count: 0,
  priority_fee: '',
}

/** Of blocks that have no gas of their own. */
export const HEADER_WITHOUT_GAS: BlockHeader = {
  ...NO_HEADER,
  gas_limit: '0',
  gas_used: '0',
  base_fee: '0',
  difficulty: '0',
}
