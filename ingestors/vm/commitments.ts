import type { Vm } from '../../schemas/chains.ts'
import type { Commitment } from '../follow/contract.ts'

/** The commitment at which blocks of a virtual machine are read. */
export const COMMITMENT_BY_VM: Readonly<Record<Vm, Commitment>> = {
  evm: 'processed',
  svm: 'confirmed',
  move: 'finalized',
}
