const MURMUR2_SEED = 0x9747b28c
const MURMUR2_MULTIPLIER = 0x5bd1e995

const mixWord = (value: number): number => {
  const product = Math.imul(value, MURMUR2_MULTIPLIER)
  return Math.imul(product ^ (product >>> 24), MURMUR2_MULTIPLIER)
}

/** MurmurHash2, 32 bit, with Kafka's seed. Source: Apache Kafka `Utils.murmur2`. Signed result. */
export const murmur2 = (bytes: Uint8Array): number => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const words = bytes.byteLength & ~3
  let hash = MURMUR2_SEED ^ bytes.byteLength
  for (let at = 0; at < words; at += 4) {
    hash = Math.imul(hash, MURMUR2_MULTIPLIER) ^ mixWord(view.getInt32(at, true))
  }
  const rest = bytes.byteLength - words
  for (let at = rest - 1; at >= 0; at -= 1) hash ^= view.getUint8(words + at) << (8 * at)
  if (rest > 0) hash = Math.imul(hash, MURMUR2_MULTIPLIER)
  hash = Math.imul(hash ^ (hash >>> 13), MURMUR2_MULTIPLIER)
  return hash ^ (hash >>> 15)
}

/** Partition of a key among `count`, the same as every Kafka client's default partitioner gives. */
export const partitionOf = (key: string, count: number): number =>
  (murmur2(Buffer.from(key, 'utf8')) & 0x7fffffff) % count
