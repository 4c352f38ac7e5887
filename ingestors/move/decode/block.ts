import type { DecodedBlock, MoveBlock, PoolMetadata } from '../../../schemas/events.ts'
import {
  type DecodeContext,
  emptyDecodedBlock,
  type RequiredLookups,
} from '../../decode/contract.ts'
import { protocolRegistry } from '../../decode/protocol-registry.ts'
import { moveReaders } from '../protocols/families.ts'
import { type MoveTxContext, recordDropped } from '../protocols/tx-context.ts'
import { coinCreations } from './token-creations.ts'
import { addTransfers } from './transfers.ts'

/**
 * Events of a checkpoint in order; a package proves what its own event types say. Balances are left out: a checkpoint tells
 * what was added and taken away, never what an owner holds. Pure.
 */
export const decodeMoveBlock = (block: MoveBlock, context: DecodeContext): DecodedBlock => {
  const out = emptyDecodedBlock()
  const made = new Map<string, PoolMetadata>()
  const readerOf = moveReaders(context.protocols)
  for (const tx of block.transactions) {
    if (!tx.success) continue
    const scope: MoveTxContext = { tx, out, context, poolsInBlock: made, writtenObjects: undefined }
    for (const event of tx.events) {
      const found = readerOf(event)
      if (found === undefined) continue
      const listed = { row: found.row, event }
      const reason = found.reader.read(scope, listed)
      if (reason !== undefined) recordDropped(scope, listed, reason)
    }
    addTransfers(tx, out.transfers)
    out.tokenCreations.push(...coinCreations(tx))
  }
  return out
}

/** Pools that events of listed packages name and no object of their transaction shows, and coins that changed hands; each once. */
export const moveRequiredLookups = (block: MoveBlock): RequiredLookups => {
  const readerOf = moveReaders(protocolRegistry(block.chain))
  const pools = new Map<string, string>()
  const tokens = new Set<string>()
  for (const { success, events, objects, deltas } of block.transactions) {
    if (!success) continue
    for (const { coin } of deltas) tokens.add(coin)
    const written = new Set(objects.map(({ id }) => id))
    for (const event of events) {
      const found = readerOf(event)
      const pool = found?.reader.poolId(event)
      if (found !== undefined && pool !== undefined && !written.has(pool)) {
        pools.set(pool, found.row.family)
      }
    }
  }
  return {
    pools: [...pools].map(([address, family]) => ({ address, family })),
    tokens: [...tokens],
  }
}
