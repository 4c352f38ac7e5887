import { cleanText } from '../../input/text.ts'
import { wordAt, wordCount } from './words.ts'

/**
 * Lists and texts of event data: a word says where they lie, there a word says how long they are. Both may be anything.
 * Source: Solidity ABI specification, dynamic types.
 */

/** Bytes of a text that are looked at. */
const MAX_BYTES = 4_096
/** Items of a list of tokens or amounts: no pool holds more. */
const MAX_COINS = 64n
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

/**
 * Words that the items of the list begin with to which word `index` points, `wide` words each; undefined where it does not
 * lie in the data or has more than `most` items.
 */
export const arrayAt = (
  data: string,
  index: number,
  { wide = 1, most = MAX_COINS }: { readonly wide?: number; readonly most?: bigint } = {},
): readonly number[] | undefined => {
  const extent = extentOf(data, index)
  if (extent === undefined || extent.length > most) return undefined
  const first = (extent.start - 2) / 64
  const length = Number(extent.length)
  if (first + length * wide > wordCount(data)) return undefined
  return Array.from({ length }, (_, item) => first + item * wide)
}

/** The list of numbers that word `index` points to; undefined where it does not lie in the data or is too long. */
export const wordsIn = (
  data: string,
  index: number,
  most = MAX_ENTRIES,
): readonly bigint[] | undefined =>
  arrayAt(data, index, { most })?.map((item) => wordAt(data, item))

/** The first `most` of the bytes that word `index` points to; undefined where they do not lie in the data. */
export const bytesIn = (data: string, index: number, most: number): Buffer | undefined => {
  const extent = extentOf(data, index)
  if (extent === undefined) return undefined
  const { start, length } = extent
  if (length > BigInt(Math.floor((data.length - start) / 2))) return undefined
  return Buffer.from(data.slice(start, start + 2 * Math.min(Number(length), most)), 'hex')
}

/**
 * The text that word `index` points to, cleaned and of at most `limit` characters, null when empty; undefined where it does
 * not lie in the data.
 */
export const textIn = (data: string, index: number, limit: number): string | null | undefined => {
  const bytes = bytesIn(data, index, MAX_BYTES)
  return bytes && cleanText(bytes.toString('utf8'), limit)
}
