import { createHash } from 'node:crypto'
import { base58Encode } from './base58.ts'

/** Characters of a share id: by chance two packets have the same one about never, and of two that do the older keeps it. */
export const SHARE_ID_LENGTH = 10

/**
 * Short public code of a red packet, drawn from its chain and address: the last characters of the SHA-256 in base 58. Nothing has
 * to be kept, and every installation gives a packet the same one.
 */
export const shareIdOf = (chain: string, packetId: string): string =>
  base58Encode(createHash('sha256').update(`${chain}/${packetId}`).digest()).slice(-SHARE_ID_LENGTH)
