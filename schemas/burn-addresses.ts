import { chainRow, type Vm } from './chains.ts'

/**
 * Owners whose tokens are out of the world: counted in the supply, never holders. Sources: EIP-20 practice
 * (0x…dead), the incinerator of the Solana runtime, the system program, which signs for no token account, and Sui's zero
 * address, which has no known key.
 */
export const BURN_ADDRESSES: Readonly<Record<Vm, readonly string[]>> = {
  evm: ['0x000000000000000000000000000000000000dead'],
  svm: ['1nc1nerator11111111111111111111111111111111', '11111111111111111111111111111111'],
  move: [`0x${'0'.repeat(64)}`],
}

/** Burn addresses of a chain by its id. */
export const burnAddressesOf = (chain: string): readonly string[] =>
  BURN_ADDRESSES[chainRow(chain)?.vm ?? 'evm']

/** Where EVM tokens come from when minted and go when burned: no owner, and no part of the supply. */
export const EVM_ZERO_ADDRESS = '0x0000000000000000000000000000000000000000'
