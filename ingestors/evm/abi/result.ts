import { EVM_ZERO_ADDRESS } from '../../../schemas/burn-addresses.ts'
import type { CallResult } from './call.ts'
import { arrayAt } from './dynamic.ts'
import { addressIn, wordAt, wordCount } from './words.ts'

/** What answers of calls hold, or null where they hold nothing of that kind: contracts may answer anything. */

const MAX_ADDRESS = (1n << 160n) - 1n

/** A number up to `max` in word `index`. */
export const decodeUint = (result: CallResult, max: bigint, index = 0): bigint | null => {
  if (result === undefined || wordCount(result) <= index) return null
  const value = wordAt(result, index)
  return value <= max ? value : null
}

/** An address other than zero in word `index`. */
export const decodeAddress = (result: CallResult, index = 0): string | null => {
  if (result === undefined || decodeUint(result, MAX_ADDRESS, index) === null) return null
  const address = addressIn(result, index).toLowerCase()
  return address === EVM_ZERO_ADDRESS ? null : address
}

/** The first word as it is. */
export const decodeWord = (result: CallResult): string | null =>
  result === undefined || wordCount(result) === 0 ? null : result.slice(0, 66).toLowerCase()

/** Longest list of a fixed length that is read. */
const MAX_FIXED = 8

/**
 * Addresses of a list up to the first zero, which ends lists of a fixed length; empty where it is none. A list of any length
 * begins with where it is, and its first item then is not an address that a contract has.
 */
export const decodeAddresses = (result: CallResult): readonly string[] => {
  if (result === undefined || wordCount(result) === 0) return []
  const items =
    wordCount(result) > 1 && wordAt(result, 0) < 32n * BigInt(wordCount(result))
      ? arrayAt(result, 0)
      : Array.from({ length: Math.min(wordCount(result), MAX_FIXED) }, (_, item) => item)
  const addresses: string[] = []
  for (const item of items ?? []) {
    const address = decodeAddress(result, item)
    if (address === null) break
    addresses.push(address)
  }
  return addresses
}
