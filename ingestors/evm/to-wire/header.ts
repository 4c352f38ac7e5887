import type { EvmBlock } from '../../../schemas/events.ts'
import type { BlockHeader } from '../../to-wire/block-header.ts'

/** Header fields of an EVM block's record. */
export const evmHeader = (block: EvmBlock): BlockHeader => ({
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
})

/** The lower median of what transactions paid per gas above the base fee; "" where none tells its price. */
const medianPriorityFee = ({ transactions, baseFeeRaw }: EvmBlock): string => {
  const fees = transactions
    .flatMap(({ gasPriceRaw }) => (gasPriceRaw === undefined ? [] : [gasPriceRaw]))
    // The protocol's own transactions may pay less than the base fee.
    .map((price) => (price > baseFeeRaw ? price - baseFeeRaw : 0n))
    .toSorted((one, other) => (one < other ? -1 : one > other ? 1 : 0))
  return String(fees[(fees.length - 1) >> 1] ?? '')
}
