import { Fault } from '../../core/errors.ts'
import { PROTOCOLS, type ProtocolRow } from '../../schemas/protocols.ts'
import { parseAmount } from './swap-terms.ts'

/** Words of a request for a new token, or the error for each way in which they are wrong. */

/** Words for the launchpad that transactions are built for, and documented ones for others. */
const BUILT_WORDS = ['pumpfun', 'pump_fun']
const OTHER_WORDS = ['raydium', 'moonshot', 'candy', 'launchpad']

/** Throws `Fault` DEX_NOT_SUPPORTED for a launchpad that tokens are not made on here, DEX_NOT_FOUND for a word that names none. */
export const requireLaunchpad = (word: string): void => {
  if (BUILT_WORDS.includes(word)) return
  const rows: readonly ProtocolRow[] = PROTOCOLS
  const isLaunchpad = rows.some(({ id, launchpad }) => launchpad === true && id === word)
  throw new Fault(
    isLaunchpad || OTHER_WORDS.includes(word) ? 'DEX_NOT_SUPPORTED' : 'DEX_NOT_FOUND',
    undefined,
    { parameter: 'dex', value: word.slice(0, 64), allowed_values: BUILT_WORDS },
  )
}

/** Most bytes of what a token says of itself. */
const MAX_BYTES = { name: 32, symbol: 10, uri: 200 } as const

const invalid = (parameter: string, reason: string): Fault =>
  new Fault('INVALID_PARAMETER', undefined, { parameter, reason })

/** A text of a token in UTF-8. Throws `Fault` INVALID_PARAMETER for one that is blank, too long, or has characters that are not shown. */
export const parseTokenText = (parameter: keyof typeof MAX_BYTES, text: string): string => {
  const most = MAX_BYTES[parameter]
  if (text.trim() === '') throw invalid(parameter, 'blank')
  if (Buffer.byteLength(text) > most) throw invalid(parameter, `longer than ${most} bytes`)
  if (/\p{Cc}|\p{Cs}/u.test(text)) throw invalid(parameter, 'control characters')
  return text
}

const URI_SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'ipfs:', 'ar:'])

/** The address of a token's document; empty where none is given. Throws `Fault` INVALID_PARAMETER. */
export const parseTokenUri = (text: string | undefined): string => {
  if (text === undefined) return ''
  const uri = parseTokenText('uri', text)
  const isAddress = !/\s/.test(uri) && URL.canParse(uri)
  if (isAddress && URI_SCHEMES.has(new URL(uri).protocol)) return uri
  throw invalid('uri', 'not an address that begins with https, http, ipfs or ar')
}

const MAX_U64 = (1n << 64n) - 1n

/**
 * Lamports of a first purchase. Throws `Fault` INVALID_AMOUNT for what is not a whole number, AMOUNT_TOO_SMALL for nothing,
 * AMOUNT_TOO_LARGE for what 64 bits do not hold.
 */
export const parseBuyAmount = (given: string | number): bigint => {
  const details = { parameter: 'extra.buyAmount', value: String(given).slice(0, 128) }
  // A larger number has lost digits on its way.
  if (typeof given === 'number' && !Number.isSafeInteger(given)) {
    throw new Fault('INVALID_AMOUNT', undefined, details)
  }
  const lamports = parseAmount(String(given), details.parameter)
  if (lamports > MAX_U64) throw new Fault('AMOUNT_TOO_LARGE', undefined, details)
  return lamports
}
