import { type Hex, keccak256 } from 'viem'
import type { RawLog } from './event-logs.ts'

/** Bloom bits of addresses and topics are asked again and again; the bound is for safety. */
const MAX_CACHED_BITS = 200_000

/** Sets the bits of logs in a 2048-bit bloom filter (Yellow Paper 4.3.1). Remembers the bits of what it has seen. */
export interface BloomCache {
  add(filter: Uint8Array, logs: readonly RawLog[]): void
}

/** Makes an empty memory of bits. */
export const createBloomCache = (): BloomCache => {
  const known = new Map<Hex, readonly [number, number, number]>()
  const bitsOf = (item: Hex): readonly [number, number, number] => {
    const before = known.get(item)
    if (before !== undefined) return before
    if (known.size >= MAX_CACHED_BITS) known.clear()
    const hash = keccak256(item, 'bytes')
    const bit = (at: number): number => ((((hash[at] ?? 0) & 7) << 8) | (hash[at + 1] ?? 0)) >>> 0
    const bits = [bit(0), bit(2), bit(4)] as const
    known.set(item, bits)
    return bits
  }
  const set = (filter: Uint8Array, item: Hex): void => {
    for (const bit of bitsOf(item)) {
      const at = 255 - (bit >> 3)
      filter[at] = (filter[at] ?? 0) | (1 << (bit & 7))
    }
  }
  return {
    add: (filter, logs) => {
      for (const { address, topics } of logs) {
        set(filter, address)
        for (const topic of topics) set(filter, topic)
      }
    },
  }
}
