import { type Fields, invalid, listOf } from '../../input/json.ts'

/** Readers of hex, on top of `../../input/json.ts`. Each throws `InvalidInput`. */

const HEX = /^0x[0-9a-fA-F]*$/

/** Whole bytes as lower-case hex with `0x`; `bytes` demands a length. Reason: `bad-hex`. */
export const hexOf = (value: unknown, at: string, bytes?: number): string => {
  if (
    typeof value !== 'string' ||
    value.length % 2 !== 0 ||
    (bytes !== undefined && value.length !== 2 + 2 * bytes) ||
    !HEX.test(value)
  ) {
    throw invalid('bad-hex', at, value)
  }
  return value.toLowerCase()
}

/** An address, lower case. Reason: `bad-hex`. */
export const addressAt = (value: unknown, at: string): string => hexOf(value, at, 20)

/** A 32-byte hash, lower case. Reason: `bad-hex`. */
export const hashAt = (value: unknown, at: string): string => hexOf(value, at, 32)

/** A hex quantity of up to 256 bits, read without going through a double. Reason: `bad-hex`. */
export const quantityOf = (value: unknown, at: string): bigint => {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(value)) {
    throw invalid('bad-hex', at, value)
  }
  return BigInt(value)
}

/** The same of an amount: `0x`, as some clients write nothing, is zero. Reason: `bad-hex`. */
export const amountOf = (value: unknown, at: string): bigint =>
  value === '0x' ? 0n : quantityOf(value, at)

/** A hex quantity that counts or names something: an exact integer. Reasons: `bad-hex`, `too-big`. */
export const countOf = (value: unknown, at: string): number => {
  const count = Number(quantityOf(value, at))
  if (!Number.isSafeInteger(count)) throw invalid('too-big', at, value)
  return count
}

/** Topics of a log, at most four. Reasons: `topic-count` and those of `hashAt`. */
export const topicsOf = (log: Fields): readonly string[] => {
  const topics = listOf(log.topics, 'log.topics')
  if (topics.length > 4) throw invalid('topic-count', 'log.topics', topics.length)
  return topics.map((topic) => hashAt(topic, 'log.topics'))
}
