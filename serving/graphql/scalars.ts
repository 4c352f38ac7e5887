import { GraphQLError, GraphQLScalarType, Kind, type ValueNode } from 'graphql'

const NUMBER_PATTERN = /^[+-]?\d+(\.\d*)?([eE][+-]?\d{1,3})?$/
const INT64_MAX = 2n ** 63n - 1n

const literalText = (node: ValueNode): string | undefined =>
  node.kind === Kind.INT || node.kind === Kind.FLOAT || node.kind === Kind.STRING
    ? node.value.trim()
    : undefined

const intText = (node: ValueNode): string => {
  const text = literalText(node)
  if (text === undefined || !/^[+-]?\d{1,19}$/.test(text))
    throw new GraphQLError('Int cannot represent a value that is not a whole number', {
      nodes: node,
    })
  const value = BigInt(text)
  if (value > INT64_MAX || value < -INT64_MAX)
    throw new GraphQLError('Int cannot represent a value beyond 64 bits', { nodes: node })
  return value.toString()
}

const numberText = (node: ValueNode): string => {
  const text = literalText(node)
  if (
    text === undefined ||
    !NUMBER_PATTERN.test(text) ||
    !Number.isFinite(Number(text)) ||
    text.length > 100
  )
    throw new GraphQLError('Float cannot represent a value that is not a number', { nodes: node })
  return text
}

const TIME_PATTERN =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d\d:?\d\d)?)?$/i
/** What a `DateTime64(3)` column can hold. */
const EARLIEST_MS = Date.UTC(1970, 0, 1)
const LATEST_MS = Date.UTC(2200, 0, 1)

/** Epoch milliseconds of an ISO 8601 or "YYYY-MM-DD HH:MM:SS" time (UTC unless it says otherwise); undefined: neither. */
export const parseTimeMs = (text: string): number | undefined => {
  const match = TIME_PATTERN.exec(text.trim())
  if (!match) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] =
    match
  const ms = Number(fraction.padEnd(3, '0').slice(0, 3))
  const at = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
    ms,
  )
  const back = new Date(at)
  if (back.getUTCMonth() + 1 !== Number(month) || back.getUTCDate() !== Number(day))
    return undefined
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  const [, sign, hours = '0', minutes = '0'] = /^([+-])(\d\d):?(\d\d)$/.exec(zone) ?? []
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000
  return sign === '+' ? at - offset : at + offset
}

/** Epoch milliseconds in the form in which times are bound: clamped to what the columns can hold. */
export const formatBoundTime = (ms: number): string =>
  new Date(Math.min(Math.max(ms, EARLIEST_MS), LATEST_MS))
    .toISOString()
    .replace('T', ' ')
    .replace('Z', '')

const timeText = (node: ValueNode): string => {
  const ms = node.kind === Kind.STRING ? parseTimeMs(node.value) : undefined
  if (ms === undefined)
    throw new GraphQLError('DateTime needs a time such as "2026-01-02T03:04:05Z"', { nodes: node })
  return formatBoundTime(ms)
}

const createScalar = (
  name: string,
  description: string,
  parseLiteral: (node: ValueNode) => string,
): GraphQLScalarType =>
  new GraphQLScalarType({ name, description, parseLiteral, parseValue: String })

/** Whole numbers of 64 bits; operands may be strings. */
export const IntType = createScalar('Int', 'Whole number of 64 bits.', intText)
/** Longest count of a unit of a relative time: two thousand years of minutes. */
const MAX_AGO = 1_000_000_000

const agoText = (node: ValueNode): string => {
  const text = intText(node)
  const count = Number(text)
  if (count < 0 || count > MAX_AGO)
    throw new GraphQLError(`Ago must be 0 to ${MAX_AGO}`, { nodes: node })
  return text
}

/** How many units of time something was ago. */
export const AgoType = createScalar('Ago', 'Whole number from 0 on.', agoText)
/** Numbers; operands may be strings, so that digits survive. */
export const FloatType = createScalar(
  'Float',
  'Number; an operand may also be a string.',
  numberText,
)
/** Operand of `DecimalFilter` and `selectWhere`. */
export const DecimalType = createScalar(
  'Decimal',
  'Decimal number, as a string or a number.',
  numberText,
)
/** Times in UTC. */
export const DateTimeType = createScalar(
  'DateTime',
  'UTC time: ISO 8601, "YYYY-MM-DD HH:MM:SS" or a date.',
  timeText,
)
/** Days in UTC. */
export const DateType = createScalar('Date', 'UTC day, YYYY-MM-DD.', timeText)
/** What `min` and `max` of any field can be. */
export const AnyType = new GraphQLScalarType({
  name: 'Value',
  description: 'A number or a string, like the field it was taken from.',
})

/** A number's text without exponent: sign, whole digits, fraction digits. */
export const toPlainDecimal = (
  text: string,
): { readonly negative: boolean; readonly whole: string; readonly fraction: string } => {
  const [, sign = '', whole = '0', fraction = '', exponent = '0'] =
    /^([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const shift = Number(exponent)
  const digits = whole + fraction
  const point = whole.length + shift
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0')
  const at = point <= 0 ? 1 : point
  return {
    negative: sign === '-',
    whole: padded.slice(0, at).replace(/^0+(?=\d)/, ''),
    fraction: padded.slice(at).replace(/0+$/, ''),
  }
}
