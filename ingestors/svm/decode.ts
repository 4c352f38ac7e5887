import type { Decoded, PoolFact, SvmBlock } from '../../schemas/events.ts'
import { type Books, emptyDraft, type Subjects } from '../decode-contract.ts'
import { svmReaders } from '../protocols/svm-all.ts'
import { isRead } from '../protocols/svm-types.ts'
import { balanceChanges } from './balance-changes.ts'
import { handBirths } from './births.ts'
import { drop, scopeOf } from './scope.ts'

/**
 * Events of a Solana block in the order in which instructions ran; a program proves its own pools. A failed transaction did
 * nothing but pay its fee, which is a change of the payer's coin. Pure.
 */
export const decodeSvmBlock = (block: SvmBlock, books: Books): Decoded => {
  const out = emptyDraft()
  const made = new Map<string, PoolFact>()
  const readerOf = svmReaders(books.protocols)
  for (const tx of block.transactions) {
    if (tx.success) {
      const scope = scopeOf(tx, { out, books, made })
      let at = 0
      for (const instruction of tx.instructions) {
        if (isRead(instruction)) {
          const program = readerOf(instruction.program)
          const reason = program?.read(scope, instruction, at)
          if (program && reason) drop(scope, { protocol: program.protocol, logIndex: at }, reason)
        }
        at += 1
      }
      out.births.push(...handBirths(scope))
    }
    for (const change of balanceChanges(tx)) out.balances.push(change)
  }
  return out
}

/** Tokens that the block's token accounts hold, each once. Pools need no look-up: their programs show them. */
export const svmSubjects = (block: SvmBlock): Subjects => {
  const tokens = new Set<string>()
  for (const { success, tokenBalances } of block.transactions) {
    if (!success) continue
    for (const { mint } of tokenBalances) tokens.add(mint)
  }
  return { pools: [], tokens: [...tokens] }
}
