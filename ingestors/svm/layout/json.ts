import { base58Decode } from '../../../core/base58.ts'
import { invalid } from '../../input/json.ts'

/** Readers of what a Solana node writes, on top of `../../input/json.ts`. Each throws `InvalidInput`. */

const BASE58_KEY = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/
const BASE58_SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/

/** An address or a block hash: 32 bytes in base 58, by its shape. Reason: `bad-base58`. */
export const parseBase58Key = (value: unknown, at: string): string => {
  if (typeof value !== 'string' || !BASE58_KEY.test(value)) throw invalid('bad-base58', at, value)
  return value
}

/** A signature in base 58, by its shape. Reason: `bad-base58`. */
export const parseSignature = (value: unknown, at: string): string => {
  if (typeof value !== 'string' || !BASE58_SIGNATURE.test(value))
    throw invalid('bad-base58', at, value)
  return value
}

/** Bytes of base 58 text. Reason: `bad-base58`. */
export const parseBase58 = (value: unknown, at: string): Uint8Array => {
  const bytes = typeof value === 'string' ? base58Decode(value) : undefined
  if (bytes === undefined) throw invalid('bad-base58', at, value)
  return bytes
}

/** Bytes of base 64 text. Reason: `bad-base64`. */
export const parseBase64 = (value: unknown, at: string): Uint8Array => {
  if (
    typeof value !== 'string' ||
    value.length % 4 !== 0 ||
    !/^[A-Za-z0-9+/]*={0,2}$/.test(value)
  ) {
    throw invalid('bad-base64', at, value)
  }
  return Buffer.from(value, 'base64')
}

/** A slot, index or height: a whole number that a double holds; yellowstone prints them as text. Reason: `bad-number`. */
export const parseUint = (value: unknown, at: string): number => {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0) {
    throw invalid('bad-number', at, value)
  }
  return number
}

/**
 * Base units of up to 64 bits. Lamports come as JSON numbers: above 2^53, nine million SOL, the nearest double is what the
 * parser left of them. Reason: `bad-amount`.
 */
export const parseAmount = (value: unknown, at: string): bigint => {
  if (typeof value === 'string' && /^\d{1,20}$/.test(value)) return BigInt(value)
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 64) {
    return BigInt(value)
  }
  throw invalid('bad-amount', at, value)
}
