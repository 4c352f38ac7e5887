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

/** Word `index` as a signed integer (two's complement). */
export const signedAt = (data: string, index: number): bigint =>
  BigInt.asIntN(256, wordAt(data, index))

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
