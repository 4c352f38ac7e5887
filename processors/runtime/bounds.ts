import { USD_PLACES } from '../../core/amounts.ts'

/**
 * What a column holds at most. The engine wraps integers that are too wide without a word and refuses decimals that are, so
 * every number from a chain is brought into its column's range here: a total that is too large is stored as the largest value
 * of its column ("at least so much"), a single value that is too large is unknown, NULL, where the column can say so.
 */

const LARGEST_256 = 2n ** 256n - 1n
const LARGEST_SIGNED_256 = 2n ** 255n - 1n
const LARGEST_64 = 2n ** 64n - 1n

/** A decimal column: digits before the point and behind it. */
interface DecimalShape {
  readonly whole: number
  readonly places: number
}

/** `Decimal(38,12)`: USD and native values. */
export const VALUE_SHAPE: DecimalShape = { whole: 38 - USD_PLACES, places: USD_PLACES }
/** `Decimal(76,18)`: token units of a position. */
export const POSITION_SHAPE: DecimalShape = { whole: 76 - 18, places: 18 }
/** `Decimal(76,24)`: token units of a volume or a supply. */
export const UNITS_SHAPE: DecimalShape = { whole: 76 - 24, places: 24 }

const within = (raw: bigint, low: bigint, high: bigint): bigint =>
  raw < low ? low : raw > high ? high : raw

/** Whole number text within `UInt256`; "" is none. Throws SyntaxError for what is no whole number. */
export const total256 = (text: string): string => within(BigInt(text), 0n, LARGEST_256).toString()

/** Whole number text within `Int256`. */
export const signed256 = (text: string): string =>
  within(BigInt(text), -LARGEST_SIGNED_256, LARGEST_SIGNED_256).toString()

/** Whole number text within `UInt64`. */
export const total64 = (text: string): string => within(BigInt(text), 0n, LARGEST_64).toString()

/** True for base units that `UInt256` holds. */
export const fits256 = (raw: bigint): boolean => raw >= 0n && raw <= LARGEST_256

const cut = (text: string, { places }: DecimalShape): string => {
  const [whole = '', fraction = ''] = text.split('.')
  return fraction === '' ? whole : `${whole}.${fraction.slice(0, places)}`
}

const isTooWide = (text: string, { whole }: DecimalShape): boolean =>
  (text.split('.')[0] ?? '').replace('-', '').replace(/^0+(?=\d)/, '').length > whole

/** A plain decimal as a nullable column takes it: NULL when unknown ("") or beyond the column. Digits behind the last place are cut. */
export const knownDecimal = (text: string, shape: DecimalShape): string | null =>
  text === '' || isTooWide(text, shape) ? null : cut(text, shape)

/** A total as a column without NULL takes it: 0 when unknown (""), the column's end on either side when beyond it. */
export const totalDecimal = (text: string, shape: DecimalShape): string => {
  if (text === '') return '0'
  if (!isTooWide(text, shape)) return cut(text, shape)
  const { whole, places } = shape
  return `${text.startsWith('-') ? '-' : ''}${'9'.repeat(whole)}.${'9'.repeat(places)}`
}
