import { type ChainRow, chainRow } from '../../../schemas/chains.ts'
import type { EvmBlock, Transaction } from '../../../schemas/events.ts'
import type { OwnTransactionFields } from '../../to-wire/block-mapping.ts'
import { rawText } from '../../to-wire/context.ts'

/** Largest type of an envelope. Source: EIP-2718. */
const MAX_TYPE = 255

/** What transactions of EVM chains tell of their gas, in the order of the block. */
export const evmTransactionFields = (block: EvmBlock): readonly OwnTransactionFields[] => {
  const chain = chainRow(block.chain)
  return block.transactions.map((tx) => {
    const { gas } = tx
    return {
      to_address: tx.to ?? '',
      contract_address: tx.contractAddress ?? '',
      value: rawText(tx.valueRaw),
      gas_price: rawText(tx.gasPriceRaw),
      gas_limit: rawText(gas?.limit ?? undefined),
      gas_used: rawText(gas?.used ?? undefined),
      cumulative_gas_used: rawText(gas?.cumulative ?? undefined),
      max_fee: rawText(gas?.maxFeeRaw ?? undefined),
      max_priority_fee: rawText(gas?.maxPriorityFeeRaw ?? undefined),
      nonce: rawText(gas?.nonce ?? undefined),
      tx_type: typeof gas?.type === 'number' && gas.type <= MAX_TYPE ? gas.type : null,
      ...feeSplit(chain, block, tx),
    }
  })
}

/**
 * What of a fee was burnt, and what its producer got per gas. What rollups do with their base fee is not said; where the whole fee is
 * burnt the producer gets nothing of it.
 */
const feeSplit = (
  chain: ChainRow | undefined,
  { baseFeeRaw }: EvmBlock,
  { gas, gasPriceRaw: price, feeRaw }: Transaction,
): Pick<OwnTransactionFields, 'burnt' | 'priority_fee'> => {
  if (price === undefined) return { burnt: '', priority_fee: '' }
  if (chain?.burns === 'fee') return { burnt: String(feeRaw), priority_fee: '0' }
  // The protocol's own transactions may pay less than the base fee.
  const [base, above] = price > baseFeeRaw ? [baseFeeRaw, price - baseFeeRaw] : [price, 0n]
  const used = gas?.used ?? undefined
  const isBurnt = chain?.burns === 'base-fee' && used !== undefined
  return { burnt: isBurnt ? String(base * used) : '', priority_fee: String(above) }
}
