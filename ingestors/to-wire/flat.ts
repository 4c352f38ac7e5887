import type { DeepPartial } from '../../core/codec/contract.ts'
import type { Block } from '../../schemas/events.ts'
import type * as Wire from '../../schemas/wire.ts'

type TransactionFields = Pick<
  DeepPartial<Wire.CallEvent>,
  'tx_hash' | 'tx_index' | 'tx_signer' | 'tx_fee' | 'tx_status'
>

/** The transaction of a flat event. */
export const transactionFields = (tx: Block['transactions'][number]): TransactionFields => ({
  tx_hash: tx.hash,
  tx_index: tx.index,
  tx_signer: tx.from,
  tx_fee: String(tx.feeRaw < 0n ? 0n : tx.feeRaw),
  tx_status: tx.success ? 'STATUS_SUCCESS' : 'STATUS_FAILED',
})
