import { createHash, randomInt, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** Keys of real use and keys of trial installations differ in a word, so that a scanner can tell them apart. */
export type KeyMode = 'live' | 'test'

/** Digits and letters of keys and secrets. */
export const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BODY_LENGTH = 32
const CHECKSUM_LENGTH = 6
const API_KEY_PATTERN = new RegExp(
  `^[a-z][a-z0-9]{0,15}_(live|test)_[0-9A-Za-z]{${BODY_LENGTH + CHECKSUM_LENGTH}}$`,
)

/** Characters of a key that may be shown and stored in the clear: twelve, and with a long brand as many as leave four of the random ones. */
const MIN_VISIBLE = 12
const MIN_VISIBLE_RANDOM = 4

const checksum = (text: string): string => {
  let rest = crc32(text)
  let check = ''
  for (let place = 0; place < CHECKSUM_LENGTH; place += 1) {
    check = ALPHABET.charAt(rest % ALPHABET.length) + check
    rest = Math.floor(rest / ALPHABET.length)
  }
  return check
}

/**
 * A new API key: `<brand>_<mode>_`, 32 random base62 characters, 6 base62 characters of CRC-32 over everything before
 * them. `pick` draws below its argument; the default is cryptographic.
 */
export const generateApiKey = (
  brand: string,
  mode: KeyMode,
  pick: (below: number) => number = (below) => randomInt(below),
): string => {
  let text = `${brand}_${mode}_`
  for (let place = 0; place < BODY_LENGTH; place += 1)
    text += ALPHABET.charAt(pick(ALPHABET.length))
  return text + checksum(text)
}

/** The beginning of a key, which tells it from others and does not open anything. */
export const visiblePrefix = (apiKey: string): string =>
  apiKey.slice(0, Math.max(MIN_VISIBLE, apiKey.lastIndexOf('_') + 1 + MIN_VISIBLE_RANDOM))

/** True for a text that can be a key: its shape and checksum hold. A typo never costs a look-up. */
export const isWellFormedApiKey = (text: string): boolean =>
  API_KEY_PATTERN.test(text) &&
  text.slice(-CHECKSUM_LENGTH) === checksum(text.slice(0, -CHECKSUM_LENGTH))

/** What is stored of a secret: SHA-256 of it and the pepper, hex. Keys carry 190 random bits, so no slow hash is owed. */
export const hashSecret = (secret: string, pepper: string): string =>
  createHash('sha256').update(secret).update(pepper).digest('hex')

/** Compares two hex digests in a time that does not tell where they differ. */
export const equalsInConstantTime = (left: string, right: string): boolean =>
  left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right))
