import { keccak_256 } from '@noble/hashes/sha3'

/** Keccak-256 of bytes as hex without `0x`, as hex with it. */
export const keccak = (hex: string): string =>
  `0x${Buffer.from(keccak_256(Buffer.from(hex, 'hex'))).toString('hex')}`
