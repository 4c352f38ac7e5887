/** Raw base units to decimals and back; the only place where either happens. */

import { InvalidInput } from './errors.ts'

const ZERO_CHAR_CODE = 48

const pow10 = (digits: number): bigint => 10n ** BigInt(digits)

/** Base units of a record, written as a whole number. Throws `InvalidInput` (`bad-amount`) on anything else. */
export const readUnits = (raw: string): bigint => {
  if (!/^-?\d+$/.test(raw)) throw new InvalidInput('bad-amount', 'an amount is not a whole number')
  return BigInt(raw)
}

/** Base units as a plain decimal string without trailing zeros: (1500000n, 6) is "1.5". */
export const formatUnits = (raw: bigint, decimals: number): string => {
  if (decimals === 0) return raw.toString()
  const negative = raw < 0n
  const digits = (negative ? -raw : raw).toString().padStart(decimals + 1, '0')
  const point = digits.length - decimals
  let end = digits.length
  while (end > point && digits.charCodeAt(end - 1) === ZERO_CHAR_CODE) end -= 1
  const whole = negative ? `-${digits.slice(0, point)}` : digits.slice(0, point)
  return end === point ? whole : `${whole}.${digits.slice(point, end)}`
}

/** Base units as a double in token units; for prices and ratios only. */
export const unitsToNumber = (raw: bigint, decimals: number): number =>
  Number(formatUnits(raw, decimals))

/** A ratio of two amounts as a plain decimal string of at most `places` digits, rounded half up. The divisor is above zero. */
export const formatRatio = (raw: bigint, byRaw: bigint, places: number): string =>
  formatUnits((raw * pow10(places) * 2n + byRaw) / (byRaw * 2n), places)

/** A plain decimal string as base units; digits beyond `decimals` are cut. Throws RangeError on anything else. */
export const parseUnits = (text: string, decimals: number): bigint => {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text)
  if (!match) throw new RangeError(`not a plain decimal: ${text.slice(0, 40)}`)
  const [, sign = '', whole = '0', fraction = ''] = match
  const raw =
    BigInt(whole) * pow10(decimals) +
    BigInt(fraction.padEnd(decimals, '0').slice(0, decimals) || '0')
  return sign === '-' ? -raw : raw
}

/** Base units of another number of decimals; digits beyond it are cut. */
export const rescaleRaw = (raw: bigint, decimals: number, places: number): bigint =>
  decimals > places ? raw / pow10(decimals - places) : raw * pow10(places - decimals)

/** A double in plain notation, never an exponent; "" for null and for what is not finite. */
export const formatDecimal = (value: number | null): string => {
  if (value === null || !Number.isFinite(value)) return ''
  const text = String(value)
  const cut = text.indexOf('e')
  if (cut === -1) return text
  const exponent = Number(text.slice(cut + 1))
  const mantissa = text.slice(0, cut)
  const negative = mantissa.startsWith('-')
  const [whole = '0', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = whole + fraction
  const point = whole.length + exponent
  const plain =
    point <= 0
      ? `0.${'0'.repeat(-point)}${digits}`
      : point >= digits.length
        ? digits.padEnd(point, '0')
        : `${digits.slice(0, point)}.${digits.slice(point)}`
  return negative ? `-${plain}` : plain
}

/** The inverse of `formatDecimal`: "" is null. */
export const parseDecimal = (text: string): number | null => (text === '' ? null : Number(text))

/** Decimal places of USD and native amounts in ClickHouse, `Decimal(38,12)`. */
export const USD_DECIMALS = 12

const USD_UNIT = pow10(USD_DECIMALS)
const FIVE_CHAR_CODE = 53

/** A USD or native amount in units of 10^-12, rounded half away from zero; null when unknown. */
export const usdToRaw = (value: number | null): bigint | null => {
  if (value === null || !Number.isFinite(value)) return null
  const plain = formatDecimal(value)
  const digits = plain.startsWith('-') ? plain.slice(1) : plain
  const point = digits.indexOf('.')
  let raw: bigint
  if (point === -1) raw = BigInt(digits) * USD_UNIT
  else {
    const end = point + 1 + USD_DECIMALS
    const cut = digits.slice(point + 1, end).padEnd(USD_DECIMALS, '0')
    raw =
      BigInt(digits.slice(0, point) + cut) + (digits.charCodeAt(end) >= FIVE_CHAR_CODE ? 1n : 0n)
  }
  return digits === plain ? raw : -raw
}

/** A USD or native amount as text with at most 12 places, rounded half away from zero; "" when unknown. */
export const formatUsd = (value: number | null): string => {
  const plain = formatDecimal(value)
  const point = plain.indexOf('.')
  if (point === -1 || plain.length - point - 1 <= USD_DECIMALS) return plain
  return formatUnits(usdToRaw(value) ?? 0n, USD_DECIMALS)
}
