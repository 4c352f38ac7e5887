import { setImmediate as turn } from 'node:timers/promises'
import { keccak_256 } from '@noble/hashes/sha3'

/** Bytes that are hashed before others get a turn: about a millisecond of the thread. */
const SLICE_BYTES = 16_384

/** Keccak-256, as hex with `0x`, of bytes in parts one after the other. After every 16 KiB the event loop gets a turn. */
export const keccakInTurns = async (parts: readonly Uint8Array[]): Promise<`0x${string}`> => {
  const hash = keccak_256.create()
  let sinceTurn = 0
  for (const part of parts) {
    for (let at = 0; at < part.length; at += SLICE_BYTES) {
      const slice = part.subarray(at, at + SLICE_BYTES)
      if (sinceTurn + slice.length > SLICE_BYTES) {
        await turn()
        sinceTurn = 0
      }
      hash.update(slice)
      sinceTurn += slice.length
    }
  }
  return `0x${Buffer.from(hash.digest()).toString('hex')}`
}
