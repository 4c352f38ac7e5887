import type { Given } from '../verify/contract.ts'
import { arrayAt } from './dynamic.ts'
import { addressIn, wordAt, wordCount } from './words.ts'

/** What answers of calls hold, or null where they hold nothing of that kind: contracts may answer anything. */

const ZERO = `0x${'0'.repeat(40)}`
const MAX_ADDRESS = (1n << 160n) - 1n

/** A number up to `max` in word `index`. */
export const numberGiven = (given: Given, max: bigint, index = 0): bigint | null => {
  if (given === undefined || wordCount(given) <= index) return null
  const value = wordAt(given, index)
  return value <= max ? value : null
}

/** An address other than zero in word `index`. */
export const addressGiven = (given: Given, index = 0): string | null => {
  if (given === undefined || numberGiven(given, MAX_ADDRESS, index) === null) return null
  const address = addressIn(given, index).toLowerCase()
  return address === ZERO ? null : address
}

/** The first word as it is. */
export const wordGiven = (given: Given): string | null =>
  given === undefined || wordCount(given) === 0 ? null : given.slice(0, 66).toLowerCase()

/** Longest list of a fixed length that is read. */
const MAX_FIXED = 8

/**
 * Addresses of a list up to the first zero, which ends lists of a fixed length; empty where it is none. A list of any length
 * begins with where it is, and its first item then is not an address that a contract has.
 */
export const addressesGiven = (given: Given): readonly string[] => {
  if (given === undefined || wordCount(given) === 0) return []
  const items =
    wordCount(given) > 1 && wordAt(given, 0) < 32n * BigInt(wordCount(given))
      ? arrayAt(given, 0)
      : Array.from({ length: Math.min(wordCount(given), MAX_FIXED) }, (_, item) => item)
  const addresses: string[] = []
  for (const item of items ?? []) {
    const address = addressGiven(given, item)
    if (address === null) break
    addresses.push(address)
  }
  return addresses
}
