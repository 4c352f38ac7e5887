const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** Two characters for each value of ten bits: half the steps of one character for five. */
const PAIRS: readonly string[] = Array.from(
  { length: ALPHABET.length ** 2 },
  (_, value) => ALPHABET.charAt(value >> 5) + ALPHABET.charAt(value & 31),
)

/** The first bits of `bytes` in Crockford base32; `length` is even, and `bytes` hold that many characters and two bytes more. */
export const crockfordText = (bytes: Uint8Array, length: number): string => {
  let text = ''
  for (let bit = 0; bit < length * 5; bit += 10) {
    const at = bit >> 3
    const bits = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)
    text += PAIRS[(bits >> (14 - (bit & 7))) & 1_023]
  }
  return text
}

const ULID_TIME_BITS = 50
const ULID_RANDOM_PAIRS = 8

/** A ULID: ten characters of `nowMs`, epoch milliseconds, and sixteen random ones. `random` gives numbers from 0 up to, not including, 1. */
export const sortableId = (nowMs: number, random: () => number): string => {
  let text = ''
  for (let bits = ULID_TIME_BITS - 10; bits >= 0; bits -= 10) {
    text += PAIRS[Math.floor(nowMs / 2 ** bits) % PAIRS.length]
  }
  for (let pair = 0; pair < ULID_RANDOM_PAIRS; pair += 1) {
    text += PAIRS[Math.floor(random() * PAIRS.length)]
  }
  return text
}
