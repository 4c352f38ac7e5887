import type { DecodedBlock, PoolMetadata, SvmBlock } from '../../../schemas/events.ts'
import {
  type DecodeContext,
  emptyDecodedBlock,
  type RequiredLookups,
} from '../../decode/contract.ts'
import { svmReaders } from '../protocols/families.ts'
import { type NewMints, recordDropped, type SvmTxContext } from '../protocols/tx-context.ts'
import { hasData } from '../protocols/types.ts'
import { addBalanceChanges } from './balance-changes.ts'
import { manualTokenCreations } from './token-creations.ts'

/**
 * Events of a Solana block in the order in which instructions ran; a program proves its own pools. A failed transaction did
 * nothing but pay its fee, which is a change of the payer's native token. Pure.
 */
export const decodeSvmBlock = (block: SvmBlock, context: DecodeContext): DecodedBlock => {
  const out = emptyDecodedBlock()
  const made = new Map<string, PoolMetadata>()
  const readerOf = svmReaders(context.protocols)
  let newborn: NewMints = { mints: new Map(), metadata: new Map(), launchpadMints: new Set() }
  for (const tx of block.transactions) {
    if (tx.success) {
      const scope: SvmTxContext = {
        tx,
        out,
        context,
        poolsInBlock: made,
        newMints: newborn,
        tokenAccounts: undefined,
      }
      let at = 0
      for (const instruction of tx.instructions) {
        if (hasData(instruction)) {
          const program = readerOf(instruction.program)
          const reason = program?.read(scope, instruction, at)
          if (program && reason)
            recordDropped(scope, { protocol: program.protocol, logIndex: at }, reason)
        }
        at += 1
      }
      if (newborn.mints.size > 0 || newborn.launchpadMints.size > 0) {
        out.tokenCreations.push(...manualTokenCreations(scope))
        newborn = { mints: new Map(), metadata: new Map(), launchpadMints: new Set() }
      }
    }
    addBalanceChanges(tx, out.balances)
  }
  return out
}

/** Tokens that the block's token accounts hold, each once. Pools need no look-up: their programs show them. */
export const svmRequiredLookups = (block: SvmBlock): RequiredLookups => {
  const tokens = new Set<string>()
  for (const { success, tokenBalances } of block.transactions) {
    if (!success) continue
    for (const { mint } of tokenBalances) tokens.add(mint)
  }
  return { pools: [], tokens: [...tokens] }
}
