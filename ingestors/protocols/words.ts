/**
 * 32-byte words of lower-case hex, as logs and call answers carry them. Callers know that the word is there: the event table
 * states how many topics and words an event has, and shorter logs never reach a reader.
 */

const WORD = 64
const ZERO = 48 // character code of '0'
const ZERO_WORD = '0'.repeat(WORD)
/** Longest list that is read: no pool holds more tokens. */
const MAX_ITEMS = 64

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

/**
 * Words that the items of a dynamic array begin with, `wide` words each; its offset stands in word `index`. undefined where it
 * lies outside of the data or is longer than any pool's list. Source: Solidity ABI specification, dynamic types.
 */
export const arrayAt = (data: string, index: number, wide = 1): readonly number[] | undefined => {
  const count = wordCount(data)
  const offset = wordAt(data, index)
  if (offset % 32n !== 0n || offset >= 32n * BigInt(count)) return undefined
  const first = Number(offset / 32n) + 1
  const length = wordAt(data, first - 1)
  if (length > MAX_ITEMS || first + Number(length) * wide > count) return undefined
  return Array.from({ length: Number(length) }, (_, item) => first + item * wide)
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
