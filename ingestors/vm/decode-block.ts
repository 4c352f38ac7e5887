import type { Block, DecodedBlock } from '../../schemas/events.ts'
import type { Books, Subjects } from '../decode/contract.ts'
import type { ProtocolBook } from '../decode/protocol-registry.ts'
import { decodeEvmBlock, evmSubjects } from '../evm/decode/block.ts'
import { decodeMoveBlock, moveRequiredLookups } from '../move/decode/block.ts'
import { decodeSvmBlock, svmRequiredLookups } from '../svm/decode/block.ts'

/**
 * Events of a block in chain order, one swap per pool hop. Pure. What has the shape of a known event and
 * cannot be taken is in `dropped`: nothing that a chain says throws.
 */
export const decodeBlock = (block: Block, books: Books): DecodedBlock => {
  if (block.vm === 'evm') return decodeEvmBlock(block, books)
  return block.vm === 'svm' ? decodeSvmBlock(block, books) : decodeMoveBlock(block, books)
}

/** Pools and tokens that events of the block name, each once; what is already known is the caller's to leave out. */
export const subjectsOf = (block: Block, protocols: ProtocolBook): Subjects => {
  if (block.vm === 'evm') return evmSubjects(block, protocols)
  return block.vm === 'svm' ? svmRequiredLookups(block) : moveRequiredLookups(block)
}
