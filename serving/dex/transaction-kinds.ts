import { type ChainRow, chainRow } from '../../schemas/chains.ts'
import { evmTransactions } from './evm-transactions.ts'
import { solanaTransactions } from './solana-transactions.ts'
import type { TransactionKind } from './transaction-kind.ts'

/** How transactions of a chain are handled; undefined: they cannot be sent. */
export const transactionKindOf = (chain: string): TransactionKind | undefined => {
  const row: Partial<ChainRow> = chainRow(chain) ?? {}
  const { vm, chainId, blockTimeMs } = row
  if (vm === 'svm') return solanaTransactions
  if (chainId === undefined || blockTimeMs === undefined) return undefined
  return evmTransactions({ chainId, blockTimeMs })
}
