/**
 * 32-byte words of lower-case hex, as logs and call answers carry them. Callers know that the word is there: the event table
 * states how many topics and words an event has, and shorter logs never reach a reader.
 */

const WORD = 64
const ZERO = 48 // character code of '0'
const ZERO_WORD = '0'.repeat(WORD)

/** Number of whole words in `0x…` data. */
export const wordCount = (data: string): number => Math.floor((data.length - 2) / WORD)

/** Word `index` as an unsigned integer. Zero is looked for first: half of a V2 swap is zero, and comparing costs less. */
export const wordAt = (data: string, index: number): bigint => {
  const start = 2 + index * WORD
  if (data.charCodeAt(start + WORD - 1) === ZERO && data.startsWith(ZERO_WORD, start)) return 0n
  return BigInt(`0x${data.slice(start, start + WORD)}`)
}

/** Most words of a log that are read at once. */
const MOST_WORDS = 8
/**
 * Work area of `wordsOf`, which writes it before it reads it: a log's text as bytes. The text starts at 2, its words behind `0x`
 * at 4, so that they can be compared four characters at a time. Four bytes more, or a longer character that is not a digit would not
 * be written at the end, and what an older text left there would be read.
 */
const AREA = new Uint8Array(8 + MOST_WORDS * WORD)
const TEXT = AREA.subarray(2)
const FOURS = new Uint32Array(AREA.buffer)
const FOUR_ZEROS = 0x30303030
const X = 120 // character code of 'x'
const ENCODER = new TextEncoder()
const NO_DIGIT = 255
/** Values of lower-case hex digits by their character codes. */
const DIGITS = new Uint8Array(256).fill(NO_DIGIT)
for (let value = 0; value < 16; value += 1) DIGITS[value.toString(16).charCodeAt(0)] = value
/** Two halves in, one number out. */
const HALVES = new DataView(new ArrayBuffer(8))

/**
 * The first `count` words, at most 8, as unsigned integers: what `wordAt` gives for each. Making a big integer of text costs
 * more than all the rest of a swap, and most amounts are small: one copy to bytes, then two numbers for each amount.
 */
export const wordsOf = (data: string, count: number): readonly bigint[] => {
  ENCODER.encodeInto(data, TEXT)
  const isHex = AREA[2] === ZERO && AREA[3] === X && count <= MOST_WORDS && wordCount(data) >= count
  const words = new Array<bigint>(count)
  for (let index = 0; index < count; index += 1) {
    words[index] = (isHex ? smallWord(4 + index * WORD) : undefined) ?? wordAt(data, index)
  }
  return words
}

/** A word of the area below 2^128; undefined for higher ones and for what is not hex. */
const smallWord = (start: number): bigint | undefined => {
  if (!isZero(start, start + 32)) return undefined
  const low = sixteenDigits(start + 48)
  if (low === undefined || isZero(start + 32, start + 48)) return low
  const high = sixteenDigits(start + 32)
  return high === undefined ? undefined : (high << 64n) | low
}

const isZero = (start: number, end: number): boolean => {
  for (let four = start >> 2; four < end >> 2; four += 1) {
    if (FOURS[four] !== FOUR_ZEROS) return false
  }
  return true
}

const sixteenDigits = (start: number): bigint | undefined => {
  if (isZero(start, start + 16)) return 0n
  const high = eightDigits(start)
  const low = eightDigits(start + 8)
  if (high < 0 || low < 0) return undefined
  HALVES.setUint32(0, high)
  HALVES.setUint32(4, low)
  return HALVES.getBigUint64(0)
}

/** Below zero: one of them is not a digit. */
const eightDigits = (start: number): number => {
  let value = 0
  let seen = 0
  for (let at = start; at < start + 8; at += 1) {
    const digit = DIGITS[AREA[at] ?? 0] ?? NO_DIGIT
    seen |= digit
    value = (value << 4) | digit
  }
  return seen < 16 ? value >>> 0 : -1
}

/** Word `index` as the hex text that it is: a hash, an id. */
export const hexWordAt = (data: string, index: number): string =>
  `0x${data.slice(2 + index * WORD, 2 + (index + 1) * WORD)}`

/** A word as a signed integer (two's complement). */
export const signed = (word: bigint): bigint => BigInt.asIntN(256, word)

/** Word `index` as a signed integer. */
export const signedAt = (data: string, index: number): bigint => signed(wordAt(data, index))

/** Word `index` as an address: its last 20 bytes. */
export const addressIn = (data: string, index: number): string => {
  const end = 2 + (index + 1) * WORD
  return `0x${data.slice(end - 40, end)}`
}

/** A word of call data: a number, or an address padded. */
export const wordOf = (value: string | bigint): string =>
  (typeof value === 'bigint' ? value.toString(16) : value.slice(2)).padStart(WORD, '0')

/** An indexed address. */
export const topicAddress = (topic: string | undefined): string =>
  topic === undefined ? '' : `0x${topic.slice(26)}`

/** An indexed unsigned integer. */
export const topicNumber = (topic: string | undefined): bigint =>
  topic === undefined ? 0n : BigInt(topic)
