import { base58Encode } from '../../core/base58.ts'

const HASH_BYTES = 32

/** Name of a block whose hash is not reported, in base 58: 32 bytes that hold its slot or height. */
export const unreportedHash = (height: number): string => {
  const bytes = Buffer.alloc(HASH_BYTES)
  bytes.writeBigUInt64BE(BigInt(height), HASH_BYTES - 8)
  return base58Encode(bytes)
}
