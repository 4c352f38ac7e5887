import { wordAt, wordCount } from './words.ts'

/** Two amounts in one word: the first token's in the low half, the second's in the high one. Source: traderjoe-xyz/joe-v2 PackedUint128Math. */
const HALF = 128n
const LOW = (1n << HALF) - 1n

/** The amounts of word `index`. */
export const packedAt = (data: string, index: number): readonly [bigint, bigint] => {
  const word = wordAt(data, index)
  return [word & LOW, word >> HALF]
}

/**
 * Sums of a list of such words, one per bin. The list begins where word `index` says; undefined where it does not lie in the
 * data.
 */
export const packedTotal = (data: string, index: number): readonly [bigint, bigint] | undefined => {
  const words = BigInt(wordCount(data))
  const [start, rest] = [wordAt(data, index) / 32n, wordAt(data, index) % 32n]
  if (rest !== 0n || start >= words) return undefined
  const count = wordAt(data, Number(start))
  if (count > words - start - 1n) return undefined
  let [first, second] = [0n, 0n]
  for (let bin = 0; bin < Number(count); bin += 1) {
    const [one, other] = packedAt(data, Number(start) + 1 + bin)
    first += one
    second += other
  }
  return [first, second]
}
