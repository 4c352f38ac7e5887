import { addressIn, wordAt, wordCount } from '../protocols/words.ts'
import type { Given } from './proof-contract.ts'

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
