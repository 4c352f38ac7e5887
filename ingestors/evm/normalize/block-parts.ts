import type { Withdrawal } from '../../../schemas/block-parts.ts'
import type { EvmBlock } from '../../../schemas/events.ts'
import { type Fields, fieldsOf, invalid, listOf, orElse } from '../../input/json.ts'
import { addressAt, hashAt, quantityOf } from '../abi/json.ts'

/** Withdrawals are counted in 10^9 of the native token's smallest unit. Source: EIP-4895. */
const GWEI = 10n ** 9n
/** More than any rule of a chain allows. Sources: EIP-4895 (16), the yellow paper (2 uncles). */
const MAX_PARTS = 1_024

/** Withdrawals and names of uncles of a block; what there is none of is left out. Throws `InvalidInput`. */
export const blockParts = ({
  withdrawals,
  uncles,
}: Fields): Pick<EvmBlock, 'withdrawals' | 'uncleHashes'> => {
  const paid = boundedList(withdrawals, 'block.withdrawals').map(withdrawalOf)
  const named = boundedList(uncles, 'block.uncles').map((hash) => hashAt(hash, 'block.uncles[]'))
  return {
    ...(paid.length > 0 && { withdrawals: paid }),
    ...(named.length > 0 && { uncleHashes: named }),
  }
}

const boundedList = (value: unknown, at: string): readonly unknown[] => {
  const list = orElse(value, at, { read: listOf, fallback: [] })
  if (list.length > MAX_PARTS) throw invalid('too-big', at, list.length)
  return list
}

const withdrawalOf = (value: unknown): Withdrawal => {
  const raw = fieldsOf(value, 'block.withdrawals[]')
  return {
    to: addressAt(raw.address, 'withdrawal.address'),
    amountRaw: quantityOf(raw.amount, 'withdrawal.amount') * GWEI,
  }
}
