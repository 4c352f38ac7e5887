import type { Vm } from '../../schemas/chains.ts'
import type { Block } from '../../schemas/events.ts'
import { EVM_MAPPING } from '../evm/to-wire/block-mapping.ts'
import { MOVE_MAPPING } from '../move/to-wire/block-mapping.ts'
import { SVM_MAPPING } from '../svm/to-wire/block-mapping.ts'
import type { BlockMapping } from '../to-wire/block-mapping.ts'

const BLOCK_MAPPINGS: {
  readonly [Machine in Vm]: BlockMapping<Extract<Block, { readonly vm: Machine }>>
} = { evm: EVM_MAPPING, svm: SVM_MAPPING, move: MOVE_MAPPING }

/** How blocks of a virtual machine become events; only for blocks of the same machine. */
export const blockMapping = ({ vm }: { readonly vm: Vm }): BlockMapping => BLOCK_MAPPINGS[vm]
