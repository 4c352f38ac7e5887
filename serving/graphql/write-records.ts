import type { RecordLayout, ValueFormat } from './record-layout.ts'

const QUOTE_BYTE = 34
const COMMA_BYTE = 44
const BACKSLASH_BYTE = 92
const OPEN_BRACKET_BYTE = 91
const CLOSE_BRACKET_BYTE = 93
const N_BYTE = 110
const [NULL, TRUE, FALSE] = ['null', 'true', 'false'].map((text) => Buffer.from(text)) as [
  Buffer,
  Buffer,
  Buffer,
]

/** Copies a range and returns where it ended. A loop, because ranges are short: a call into the runtime costs more. */
const copyBytes = (
  into: Uint8Array,
  at: number,
  from: Uint8Array,
  start: number,
  end: number,
): number => {
  let to = at
  for (let index = start; index < end; index++) into[to++] = from[index] as number
  return to
}

/** First index behind the JSON text that starts at `from`. */
const textEnd = (bytes: Uint8Array, from: number): number => {
  let at = from + 1
  for (; bytes[at] !== QUOTE_BYTE; at++) if (bytes[at] === BACKSLASH_BYTE) at++
  return at + 1
}

/** First index behind the JSON list that starts at `from`; lists may hold lists. */
const listEnd = (bytes: Uint8Array, from: number): number => {
  let depth = 0
  let at = from
  do {
    const byte = bytes[at]
    if (byte === QUOTE_BYTE) {
      at = textEnd(bytes, at)
      continue
    }
    if (byte === OPEN_BRACKET_BYTE) depth++
    else if (byte === CLOSE_BRACKET_BYTE) depth--
    at++
  } while (depth > 0 && at < bytes.length)
  return at
}

/** First index behind the JSON value that starts at `from`: a text, a number, a list, or null. */
const valueEnd = (bytes: Uint8Array, from: number): number => {
  let at = from
  if (bytes[at] === QUOTE_BYTE) return textEnd(bytes, at)
  if (bytes[at] === OPEN_BRACKET_BYTE) return listEnd(bytes, at)
  while (bytes[at] !== COMMA_BYTE && bytes[at] !== CLOSE_BRACKET_BYTE && at < bytes.length) at++
  return at
}

const TIME_END = Buffer.from('Z"')
const DATE_END = Buffer.from('"')
const ZERO_BYTE = 48
const POINT_BYTE = 46
const T_BYTE = 84
/** What a printed value may be longer than the engine's: a base unit has at most 255 places, `0.` and zeros. */
const MAX_VALUE_GROWTH = 260

const parseNumberAt = (bytes: Uint8Array, from: number, end: number): number => {
  let value = 0
  for (let at = from; at < end; at++) value = value * 10 + (bytes[at] as number) - ZERO_BYTE
  return value
}

/** Digits of base units as a plain decimal without trailing zeros; every digit is kept. */
const writeUnits = (
  into: Uint8Array,
  at: number,
  bytes: Uint8Array,
  from: number,
  end: number,
  places: number,
): number => {
  const whole = end - from - places
  const point = from + Math.max(whole, 0)
  let last = end
  while (last > point && bytes[last - 1] === ZERO_BYTE) last--
  let to = at
  if (whole > 0) to = copyBytes(into, to, bytes, from, point)
  else into[to++] = ZERO_BYTE
  if (last === point) return to
  into[to++] = POINT_BYTE
  for (let zeros = whole; zeros < 0; zeros++) into[to++] = ZERO_BYTE
  return copyBytes(into, to, bytes, point, last)
}

/** Times as `2026-03-01T00:39:48Z`: seconds, because no chain of ours has finer block times. */
const writeValue = (
  into: Uint8Array,
  at: number,
  printer: ValueFormat,
  bytes: Uint8Array,
  from: number,
  end: number,
): number => {
  if (printer === 'optional-list') {
    // A list inside a list, or an empty one for no list at all.
    if (end - from <= 2) return copyBytes(into, at, NULL, 0, NULL.length)
    return copyBytes(into, at, bytes, from + 1, end - 1)
  }
  if (printer === 'boolean') {
    const text = bytes[from] === 49 || bytes[from] === 116 ? TRUE : FALSE
    return copyBytes(into, at, text, 0, text.length)
  }
  if (printer === 'date') {
    return copyBytes(
      into,
      copyBytes(into, at, bytes, from, from + 11),
      DATE_END,
      0,
      DATE_END.length,
    )
  }
  const to = copyBytes(into, at, bytes, from, from + 20)
  into[to - 9] = T_BYTE
  return copyBytes(into, to, TIME_END, 0, TIME_END.length)
}

/** Scans the values of one row that starts behind its bracket; returns the index behind the row. */
const scanRow = (
  bytes: Uint8Array,
  from: number,
  starts: Uint32Array,
  ends: Uint32Array,
): number => {
  let at = from
  for (let column = 0; column < starts.length; column++) {
    starts[column] = at
    at = valueEnd(bytes, at)
    ends[column] = at
    at += 2
  }
  return at
}

/**
 * Rows of the engine, JSON lists one after the other, as the JSON list of records of the answer. Values are copied byte
 * by byte and not parsed: at 10,000 rows strings would cost more than the query.
 */
export const writeRecords = (text: string, rowCount: number, shape: RecordLayout): Buffer => {
  const bytes: Uint8Array = Buffer.from(text)
  const { slots } = shape
  const literals: readonly Uint8Array[] = shape.literals.map((literal) => Buffer.from(literal))
  const width = Math.max(shape.columns.length, 1)
  const starts = new Uint32Array(width)
  const ends = new Uint32Array(width)
  const rowRoom =
    literals.reduce((sum, { length }) => sum + length, 2) + slots.length * MAX_VALUE_GROWTH
  let out: Uint8Array = Buffer.allocUnsafe(bytes.length * 2 + rowRoom)
  let to = 0
  let at = 0
  out[to++] = OPEN_BRACKET_BYTE
  for (let row = 0; row < rowCount; row++) {
    while (bytes[at] !== OPEN_BRACKET_BYTE) at++
    const from = at + 1
    at = scanRow(bytes, from, starts, ends)
    const room = rowRoom + (at - from) * slots.length
    if (to + room > out.length) out = growBuffer(out, to, room)
    if (row > 0) out[to++] = COMMA_BYTE
    for (let index = 0; index < slots.length; index++) {
      const { column, printer, places } = slots[index] ?? EMPTY_SLOT
      const literal = literals[index] ?? NULL
      to = copyBytes(out, to, literal, 0, literal.length)
      const start = starts[column] as number
      const end = ends[column] as number
      if (printer === 'as-is' || bytes[start] === N_BYTE) to = copyBytes(out, to, bytes, start, end)
      else if (printer !== 'units') to = writeValue(out, to, printer, bytes, start, end)
      else {
        const digits = starts[places] as number
        to =
          bytes[digits] === N_BYTE
            ? copyBytes(out, to, NULL, 0, NULL.length)
            : writeUnits(
                out,
                to,
                bytes,
                start,
                end,
                parseNumberAt(bytes, digits, ends[places] as number),
              )
      }
    }
    const last = literals[slots.length] ?? NULL
    to = copyBytes(out, to, last, 0, last.length)
  }
  out[to++] = CLOSE_BRACKET_BYTE
  return Buffer.from(out.buffer, out.byteOffset, to)
}

const growBuffer = (out: Uint8Array, used: number, room: number): Uint8Array => {
  const bigger = Buffer.allocUnsafe(Math.max(out.length * 2, used + room))
  bigger.set(out.subarray(0, used))
  return bigger
}

const EMPTY_SLOT = { column: 0, printer: 'as-is', places: -1 } as const
