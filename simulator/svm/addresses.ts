import { createHash } from 'node:crypto'
import { base58Decode, base58Encode } from '../../core/base58.ts'

/** An address in both of its forms. */
export interface Address {
  readonly address: string
  readonly key: Uint8Array
}

/** The address with this text. Throws RangeError when it is none. */
export const parseAddress = (address: string): Address => {
  const key = base58Decode(address)
  if (key?.length !== 32) throw new RangeError(`${address} is not a valid Solana address`)
  return { address, key }
}

/** A synthetic address: it has no key, and it is not a program's either. */
export const simulatedAddress = (seed: number, label: string): Address => {
  const key = createHash('sha256').update(`${seed} ${label}`).digest()
  return { address: base58Encode(key), key }
}

/** A simulated address that ends as those of pump.fun's mints do. */
export const simulatedPumpMint = (seed: number, label: string): Address =>
  parseAddress(`${simulatedAddress(seed, label).address.slice(0, -4)}pump`)
