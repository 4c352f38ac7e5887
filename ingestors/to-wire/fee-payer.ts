import type { Block } from '../../schemas/events.ts'
import { loggedFeePayer } from '../evm/normalize/fee-logs.ts'

/** Who paid the fee of a transaction: its sender, or who does so for it on Sui and ZKsync. */
export const feePayerOf = (chain: string, tx: Block['transactions'][number]): string => {
  if ('gasOwner' in tx) return tx.gasOwner
  return ('logs' in tx ? loggedFeePayer(chain, tx.logs) : undefined) ?? tx.from
}
