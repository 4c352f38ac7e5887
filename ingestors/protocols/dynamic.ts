import { cleanText } from '../text.ts'
import { wordAt, wordCount } from './words.ts'

/**
 * Lists and texts of event data: a word says where they lie, there a word says how long they are. Both may be anything.
 * Source: Solidity ABI specification, dynamic types.
 */

/** Bytes of a text that are looked at. */
const MAX_BYTES = 4_096
/** Entries of a list: outcomes of one condition, the longest that is read. Source: gnosis/conditional-tokens-contracts. */
const MAX_ENTRIES = 256n

/** A dynamic value: where its content starts in the hex text, and its length. */
interface Extent {
  readonly start: number
  readonly length: bigint
}

const extentOf = (data: string, index: number): Extent | undefined => {
  const offset = wordAt(data, index)
  if (offset % 32n !== 0n || offset / 32n >= BigInt(wordCount(data))) return undefined
  const at = Number(offset / 32n)
  return { start: 2 + (at + 1) * 64, length: wordAt(data, at) }
}

/** The list of words that word `index` points to; undefined where it does not lie in the data or is too long. */
export const wordsIn = (data: string, index: number): readonly bigint[] | undefined => {
  const extent = extentOf(data, index)
  if (extent === undefined || extent.length > MAX_ENTRIES) return undefined
  const { start, length } = extent
  if (start + Number(length) * 64 > data.length) return undefined
  const first = (start - 2) / 64
  return Array.from({ length: Number(length) }, (_, entry) => wordAt(data, first + entry))
}

/**
 * The text that word `index` points to, cleaned and of at most `limit` characters, null when empty; undefined where it does
 * not lie in the data.
 */
export const textIn = (data: string, index: number, limit: number): string | null | undefined => {
  const extent = extentOf(data, index)
  if (extent === undefined) return undefined
  const { start, length } = extent
  if (length > BigInt(Math.floor((data.length - start) / 2))) return undefined
  const end = start + 2 * Math.min(Number(length), MAX_BYTES)
  return cleanText(Buffer.from(data.slice(start, end), 'hex').toString('utf8'), limit)
}
