import { type ChainRow, chainRow } from '../../schemas/chains.ts'
import type { Block, EvmBlock, MoveBlock, SvmBlock, Transaction } from '../../schemas/events.ts'
import type * as Wire from '../../schemas/wire.ts'
import { type Keyed, rawText } from './context.ts'
import { feePayerOf } from './fee-payer.ts'
import { heightOf, transactionFields } from './flat.ts'

/** Most programs that are named of one transaction: more than its accounts can be. */
const MAX_PROGRAMS = 256
/** Largest type of an envelope. Source: EIP-2718. */
const MAX_TYPE = 255

type TransactionEvent = Keyed<Wire.TransactionEvent>['event']

/** Every transaction of a block, the failed ones too, keyed by who signed it first. */
export const transactionEvents = (block: Block): readonly Keyed<Wire.TransactionEvent>[] =>
  ownFields(block).map((fields, index) => {
    const tx = block.transactions[index] as Block['transactions'][number]
    return {
      key: tx.from,
      event: {
        block_height: heightOf(block),
        event_index: index,
        ...transactionFields(tx),
        fee_payer: feePayerOf(block.chain, tx),
        ...fields,
      },
    }
  })

const ownFields = (block: Block): readonly TransactionEvent[] => {
  if (block.vm === 'evm') return evmFields(block)
  return block.vm === 'svm' ? svmFields(block) : moveFields(block)
}

const evmFields = (block: EvmBlock): readonly TransactionEvent[] => {
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
): Pick<TransactionEvent, 'burnt' | 'priority_fee'> => {
  if (price === undefined) return { burnt: '', priority_fee: '' }
  if (chain?.burns === 'fee') return { burnt: String(feeRaw), priority_fee: '0' }
  // The protocol's own transactions may pay less than the base fee.
  const [base, above] = price > baseFeeRaw ? [baseFeeRaw, price - baseFeeRaw] : [price, 0n]
  const used = gas?.used ?? undefined
  const isBurnt = chain?.burns === 'base-fee' && used !== undefined
  return { burnt: isBurnt ? String(base * used) : '', priority_fee: String(above) }
}

const svmFields = ({ transactions }: SvmBlock): readonly TransactionEvent[] =>
  transactions.map(({ instructions, computeUnits, success }) => {
    const called = instructions.filter(({ batched }) => batched !== true)
    return {
      gas_used: computeUnits === undefined ? '' : String(computeUnits),
      instructions_count: success ? called.length : 0,
      programs: [...new Set(called.map(({ program }) => program))].slice(0, MAX_PROGRAMS),
    }
  })

const moveFields = ({ transactions }: MoveBlock): readonly TransactionEvent[] =>
  transactions.map(({ gas: { budgetRaw, priceRaw, computationRaw } }) => ({
    gas_limit: rawText(budgetRaw ?? undefined),
    gas_price: rawText(priceRaw ?? undefined),
    gas_used: rawText(computationRaw ?? undefined),
  }))
