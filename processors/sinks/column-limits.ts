import { USD_DECIMALS } from '../../core/amounts.ts'
import { InvalidInput } from '../../core/errors.ts'

/**
 * What a column holds at most. The engine wraps integers that are too wide without a word and refuses decimals that are, so
 * every number from a chain is brought into its column's range here: a total that is too large is stored as the largest value
 * of its column ("at least so much"), a single value that is too large is unknown, NULL, where the column can say so.
 */

const MAX_UINT256 = 2n ** 256n - 1n
const MAX_INT256 = 2n ** 255n - 1n
const MAX_UINT64 = 2n ** 64n - 1n

/** A decimal column: digits before the point and behind it. */
interface DecimalType {
  readonly whole: number
  readonly places: number
}

/** `Decimal(38,12)`: USD and native values. */
export const VALUE_DECIMAL: DecimalType = { whole: 38 - USD_DECIMALS, places: USD_DECIMALS }
/** `Decimal(76,18)`: token units of a position. */
export const POSITION_DECIMAL: DecimalType = { whole: 76 - 18, places: 18 }
/** `Decimal(76,24)`: token units of a volume or a supply. */
export const UNITS_DECIMAL: DecimalType = { whole: 76 - 24, places: 24 }

const clamp = (raw: bigint, low: bigint, high: bigint): bigint =>
  raw < low ? low : raw > high ? high : raw

/** The number of a text; "" is none. Throws `InvalidInput` for what is not a whole number. */
const wholeNumber = (text: string): bigint => {
  try {
    return BigInt(text)
  } catch (cause) {
    throw new InvalidInput('amount', 'a value is not a whole number', { cause })
  }
}

/** Whole number text within `UInt256`; "" is none. Throws `InvalidInput` for what is not a whole number, as the others do. */
export const clampUint256 = (text: string): string =>
  clamp(wholeNumber(text), 0n, MAX_UINT256).toString()

/** Whole number text within `Int256`. */
export const clampInt256 = (text: string): string =>
  clamp(wholeNumber(text), -MAX_INT256, MAX_INT256).toString()

/** Whole number text within `UInt64`. */
export const clampUint64 = (text: string): string =>
  clamp(wholeNumber(text), 0n, MAX_UINT64).toString()

/** Whole number text as a nullable `UInt64` takes it: NULL when unknown (""), not a whole number, or beyond the column. */
export const nullableUint64 = (text: string): string | null =>
  /^\d{1,20}$/.test(text) && BigInt(text) <= MAX_UINT64 ? BigInt(text).toString() : null

/** True for base units that `UInt256` holds. */
export const fitsUint256 = (raw: bigint): boolean => raw >= 0n && raw <= MAX_UINT256

const truncateDecimal = (text: string, { places }: DecimalType): string => {
  const [whole = '', fraction = ''] = text.split('.')
  return fraction === '' ? whole : `${whole}.${fraction.slice(0, places)}`
}

const exceedsPrecision = (text: string, { whole }: DecimalType): boolean =>
  (text.split('.')[0] ?? '').replace('-', '').replace(/^0+(?=\d)/, '').length > whole

/** A plain decimal as a nullable column takes it: NULL when unknown ("") or beyond the column. Digits behind the last place are cut. */
export const nullableDecimal = (text: string, shape: DecimalType): string | null =>
  text === '' || exceedsPrecision(text, shape) ? null : truncateDecimal(text, shape)

/** A total as a column without NULL takes it: 0 when unknown (""), the column's end on either side when beyond it. */
export const saturatedDecimal = (text: string, shape: DecimalType): string => {
  if (text === '') return '0'
  if (!exceedsPrecision(text, shape)) return truncateDecimal(text, shape)
  const { whole, places } = shape
  return `${text.startsWith('-') ? '-' : ''}${'9'.repeat(whole)}.${'9'.repeat(places)}`
}
