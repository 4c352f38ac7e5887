import type { Block, EvmBlock } from '../../schemas/events.ts'
import type * as Wire from '../../schemas/wire.ts'

/** Header fields of a block record: what APPLY says of the block and REVERT repeats. */
export type BlockHeader = Omit<
  Wire.BlockEvent,
  'meta' | 'quote_prices' | 'counts' | 'spans' | 'final_seq' | 'final_height' | 'cursor'
>

/** Header fields of a normalized block. */
export const blockHeader = (block: Block): BlockHeader =>
  block.vm === 'evm'
    ? {
        parent_slot: Math.max(block.height - 1, 0),
        tx_count: block.transactions.length,
        coinbase: block.coinbase,
        gas_limit: String(block.gasLimitRaw),
        gas_used: String(block.gasUsedRaw),
        base_fee: String(block.baseFeeRaw),
        difficulty: String(block.difficultyRaw),
        nonce: block.nonce,
        extra: Buffer.from(block.extra.slice(2), 'hex'),
        rewards_count: 0,
        priority_fee: medianPriorityFee(block),
      }
    : { ...NO_HEADER, ...NO_GAS, ...countsOf(block) }

/** The lower median of what transactions paid per gas above the base fee; "" where none tells its price. */
const medianPriorityFee = ({ transactions, baseFeeRaw }: EvmBlock): string => {
  const fees = transactions
    .flatMap(({ gasPriceRaw }) => (gasPriceRaw === undefined ? [] : [gasPriceRaw]))
    // The protocol's own transactions may pay less than the base fee.
    .map((price) => (price > baseFeeRaw ? price - baseFeeRaw : 0n))
    .toSorted((one, other) => (one < other ? -1 : one > other ? 1 : 0))
  return String(fees[(fees.length - 1) >> 1] ?? '')
}

/** Of blocks that have no gas of their own. */
const NO_GAS = { gas_limit: '0', gas_used: '0', base_fee: '0', difficulty: '0' } as const

const countsOf = (block: Exclude<Block, { readonly vm: 'evm' }>) =>
  block.vm === 'svm'
    ? {
        parent_slot: block.parentSlot,
        tx_count: block.txCount,
        rewards_count: block.rewardsCount,
      }
    : { parent_slot: Math.max(block.height - 1, 0), tx_count: block.transactions.length }

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
