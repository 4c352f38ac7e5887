import { createHash } from 'node:crypto'
import { ed25519 } from '@noble/curves/ed25519'
import { base58Decode, base58Encode } from './base58.ts'

const PDA_MARKER = Buffer.from('ProgramDerivedAddress')

/**
 * Address that a program owns for a list of seeds: the first hash, counting a last seed down from 255, that is not a point of
 * the curve. undefined when the program is not an address or, which does not happen, every hash is a point.
 * Source: solana-program pubkey.rs, find_program_address.
 */
export const findProgramAddress = (
  program: string,
  seeds: readonly Uint8Array[],
): string | undefined => {
  const key = base58Decode(program)
  if (key?.length !== 32) return undefined
  for (let bump = 255; bump >= 0; bump -= 1) {
    const parts = [...seeds, Uint8Array.of(bump), key, PDA_MARKER]
    const hash = createHash('sha256').update(Buffer.concat(parts)).digest()
    if (!isOnCurve(hash)) return base58Encode(hash)
  }
  return undefined
}

const isOnCurve = (key: Uint8Array): boolean => {
  try {
    ed25519.ExtendedPoint.fromHex(key)
    return true
  } catch {
    return false
  }
}
