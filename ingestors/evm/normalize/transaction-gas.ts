import type { TransactionGas } from '../../../schemas/block-parts.ts'
import { type Fields, orElse } from '../../input/json.ts'
import { amountOf, countOf } from '../abi/json.ts'

const NOT_REPORTED = { read: amountOf, fallback: null }

/** What a transaction and its receipt say of gas; the transaction is null where the receipt alone is recorded. Throws `InvalidInput`. */
export const transactionGas = (receipt: Fields, transaction: Fields | null): TransactionGas => ({
  limit: orElse(transaction?.gas, 'transaction.gas', NOT_REPORTED),
  used: orElse(receipt.gasUsed, 'receipt.gasUsed', NOT_REPORTED),
  cumulative: orElse(receipt.cumulativeGasUsed, 'receipt.cumulativeGasUsed', NOT_REPORTED),
  maxFeeRaw: orElse(transaction?.maxFeePerGas, 'transaction.maxFeePerGas', NOT_REPORTED),
  maxPriorityFeeRaw: orElse(
    transaction?.maxPriorityFeePerGas,
    'transaction.maxPriorityFeePerGas',
    NOT_REPORTED,
  ),
  nonce: orElse(transaction?.nonce, 'transaction.nonce', NOT_REPORTED),
  type: orElse(transaction?.type ?? receipt.type, 'transaction.type', {
    read: countOf,
    fallback: null,
  }),
})
