const MURMUR2_SEED = 0x9747b28c
const MURMUR2_MULTIPLIER = 0x5bd1e995

const mixWord = (value: number): number => {
  const product = Math.imul(value, MURMUR2_MULTIPLIER)
  return Math.imul(product ^ (product >>> 24), MURMUR2_MULTIPLIER)
}

const finish = (hash: number, hasRest: boolean): number => {
  const whole = hasRest ? Math.imul(hash, MURMUR2_MULTIPLIER) : hash
  const mixed = Math.imul(whole ^ (whole >>> 13), MURMUR2_MULTIPLIER)
  return mixed ^ (mixed >>> 15)
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
  return finish(hash, rest > 0)
}

const MAX_ASCII = 0x7f

/** `murmur2` of the UTF-8 bytes of a text; ASCII, as keys are, is read in place. */
const murmur2OfText = (text: string): number => {
  const { length } = text
  const words = length & ~3
  let hash = MURMUR2_SEED ^ length
  let bits = 0
  for (let at = 0; at < words; at += 4) {
    const [a, b] = [text.charCodeAt(at), text.charCodeAt(at + 1)]
    const [c, d] = [text.charCodeAt(at + 2), text.charCodeAt(at + 3)]
    bits |= a | b | c | d
    hash = Math.imul(hash, MURMUR2_MULTIPLIER) ^ mixWord(a | (b << 8) | (c << 16) | (d << 24))
  }
  for (let at = length - 1; at >= words; at -= 1) {
    const byte = text.charCodeAt(at)
    bits |= byte
    hash ^= byte << (8 * (at - words))
  }
  if (bits > MAX_ASCII) return murmur2(Buffer.from(text, 'utf8'))
  return finish(hash, length > words)
}

/** Partition of a key among `count`, the same as every Kafka client's default partitioner gives. */
export const partitionOf = (key: string, count: number): number =>
  (murmur2OfText(key) & 0x7fffffff) % count
