import { wordAt, wordCount } from './words.ts'

/** Two amounts in one word: the first token's in the low half, the second's in the high one. Source: traderjoe-xyz/joe-v2 PackedUint128Math. */
const HALF = 128n
const LOW = (1n << HALF) - 1n
/** Ids of bins have 24 bits. */
const MAX_BIN = (1n << 24n) - 1n

/** The amounts of word `index`. */
export const packedAt = (data: string, index: number): readonly [bigint, bigint] => {
  const word = wordAt(data, index)
  return [word & LOW, word >> HALF]
}

/** Place of the first word of a list, and how many it has. The list begins where word `index` says; undefined where it does not lie in the data. */
const listAt = (
  data: string,
  index: number,
): { readonly first: number; readonly count: number } | undefined => {
  const words = BigInt(wordCount(data))
  const [start, rest] = [wordAt(data, index) / 32n, wordAt(data, index) % 32n]
  if (rest !== 0n || start >= words) return undefined
  const count = wordAt(data, Number(start))
  return count > words - start - 1n ? undefined : { first: Number(start) + 1, count: Number(count) }
}

/** Amounts of a bin. */
export interface PackedBin {
  readonly bin: number
  readonly xRaw: bigint
  readonly yRaw: bigint
}

/** Bins of one event: a deposit into more takes more gas than a block has on any chain of these pools. */
const MAX_EVENT_BINS = 2_000

/** A list of bins and that of their amounts, as words `bins` and `amounts` say; undefined where they do not fit to each other, or are too long. */
export const packedBins = (
  data: string,
  bins: number,
  amounts: number,
): readonly PackedBin[] | undefined => {
  const [ids, packed] = [listAt(data, bins), listAt(data, amounts)]
  if (ids === undefined || ids.count !== packed?.count || ids.count > MAX_EVENT_BINS)
    return undefined
  return Array.from({ length: ids.count }, (_, at) => {
    const [xRaw, yRaw] = packedAt(data, packed.first + at)
    return { bin: Number(wordAt(data, ids.first + at) & MAX_BIN), xRaw, yRaw }
  })
}

/** Sums of a list of such words, one per bin. The list begins where word `index` says; undefined where it does not lie in the data. */
export const packedTotal = (data: string, index: number): readonly [bigint, bigint] | undefined => {
  const list = listAt(data, index)
  if (list === undefined) return undefined
  let [first, second] = [0n, 0n]
  for (let bin = 0; bin < list.count; bin += 1) {
    const [one, other] = packedAt(data, list.first + bin)
    first += one
    second += other
  }
  return [first, second]
}
