import type { DeepPartial } from '../../core/codec/contract.ts'
import type { Block } from '../../schemas/events.ts'
import type * as Wire from '../../schemas/wire.ts'

/** Longest data of a call, log or instruction that is published, in bytes; what is longer is cut there. A record has room for it. */
export const MAX_FEED_BYTES = 65_536

/** Hex cut to `MAX_FEED_BYTES`. */
export const boundedHex = (hex: string): string => hex.slice(0, 2 + 2 * MAX_FEED_BYTES)

/** Number of a block: on Solana not its slot. */
export const heightOf = (block: Block): number =>
  block.vm === 'svm' ? (block.blockHeight ?? block.height) : block.height

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
