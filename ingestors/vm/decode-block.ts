import type { Block, DecodedBlock } from '../../schemas/events.ts'
import type { DecodeContext, RequiredLookups } from '../decode/contract.ts'
import type { ProtocolRegistry } from '../decode/protocol-registry.ts'
import { decodeEvmBlock, evmLookups } from '../evm/decode/block.ts'
import { decodeMoveBlock, moveRequiredLookups } from '../move/decode/block.ts'
import { decodeSvmBlock, svmRequiredLookups } from '../svm/decode/block.ts'

/**
 * Events of a block in chain order, one swap per pool hop. Pure. What has the shape of a known event and
 * cannot be taken is in `dropped`: nothing that a chain says throws.
 */
export const decodeBlock = (block: Block, context: DecodeContext): DecodedBlock => {
  if (block.vm === 'evm') return decodeEvmBlock(block, context)
  return block.vm === 'svm' ? decodeSvmBlock(block, context) : decodeMoveBlock(block, context)
}

/** Pools and tokens that events of the block name, each once; what is already known is the caller's to leave out. */
export const requiredLookups = (block: Block, protocols: ProtocolRegistry): RequiredLookups => {
  if (block.vm === 'evm') return evmLookups(block, protocols)
  return block.vm === 'svm' ? svmRequiredLookups(block) : moveRequiredLookups(block)
}
