import type { Printer, Shape } from './shape.ts'

const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92
const OPEN = 91
const CLOSE = 93
const LETTER_N = 110
const [NULL, TRUE, FALSE] = ['null', 'true', 'false'].map((text) => Buffer.from(text)) as [
  Buffer,
  Buffer,
  Buffer,
]

/** Bytes of the answer so far; grows by doubling. */
interface Writer {
  bytes: Buffer
  at: number
}

const makeRoom = (writer: Writer, length: number): void => {
  const size = Math.max(writer.bytes.length * 2, writer.at + length)
  const bytes = Buffer.allocUnsafe(size)
  writer.bytes.copy(bytes, 0, 0, writer.at)
  writer.bytes = bytes
}

const copy = (writer: Writer, from: Uint8Array, start: number, end: number): void => {
  if (writer.at + end - start > writer.bytes.length) makeRoom(writer, end - start)
  const { bytes } = writer
  let { at } = writer
  for (let index = start; index < end; index++) bytes[at++] = from[index] as number
  writer.at = at
}

const copyAll = (writer: Writer, from: Uint8Array): void => copy(writer, from, 0, from.length)

/** First index behind the JSON value that starts at `from`: a text, a number, or null. */
const valueEnd = (bytes: Uint8Array, from: number): number => {
  let at = from
  if (bytes[at] === QUOTE) {
    for (at++; bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++
    return at + 1
  }
  while (bytes[at] !== COMMA && bytes[at] !== CLOSE && at < bytes.length) at++
  return at
}

/** `"2026-03-01 00:39:48.000"` as `"2026-03-01T00:39:48Z"`: seconds, because no chain of ours has finer block times. */
const writeTime = (writer: Writer, bytes: Buffer, from: number): void => {
  copy(writer, bytes, from, from + 20)
  writer.bytes[writer.at - 9] = 84
  copyAll(writer, TIME_END)
}
const TIME_END = Buffer.from('Z"')
const DATE_END = Buffer.from('"')

const ZERO = 48
const POINT = 46
/** A base unit has at most 255 places: `0.` and as many digits. */
const MOST_ZEROS = 258

const numberAt = (bytes: Uint8Array, from: number, end: number): number => {
  let value = 0
  for (let at = from; at < end; at++) value = value * 10 + (bytes[at] as number) - ZERO
  return value
}

/** Digits of base units as a plain decimal without trailing zeros; every digit is kept. */
const writeUnits = (
  writer: Writer,
  bytes: Uint8Array,
  from: number,
  end: number,
  places: number,
): void => {
  const whole = end - from - places
  let last = end
  while (last > from && last > from + whole && bytes[last - 1] === ZERO) last--
  if (writer.at + MOST_ZEROS + end - from > writer.bytes.length)
    makeRoom(writer, MOST_ZEROS + end - from)
  if (whole > 0) copy(writer, bytes, from, from + whole)
  else writer.bytes[writer.at++] = ZERO
  if (last <= from + Math.max(whole, 0)) return
  writer.bytes[writer.at++] = POINT
  for (let zeros = whole; zeros < 0; zeros++) writer.bytes[writer.at++] = ZERO
  copy(writer, bytes, from + Math.max(whole, 0), last)
}

/** Writes one value that is no amount. */
const writeValue = (
  writer: Writer,
  printer: Printer,
  bytes: Buffer,
  from: number,
  end: number,
): void => {
  if (printer === 'as-is' || bytes[from] === LETTER_N) copy(writer, bytes, from, end)
  else if (printer === 'time') writeTime(writer, bytes, from)
  else if (printer === 'boolean') {
    copyAll(writer, bytes[from] === 49 || bytes[from] === 116 ? TRUE : FALSE)
  } else {
    copy(writer, bytes, from, from + 11)
    copyAll(writer, DATE_END)
  }
}

/**
 * Rows of the engine, JSON lists one after the other, as the JSON list of records of the answer. Values are copied byte
 * by byte and not parsed: at 10,000 rows strings would cost more than the query.
 */
export const recordsBytes = (text: string, rowCount: number, shape: Shape): Buffer => {
  const bytes = Buffer.from(text)
  const { slots } = shape
  const literals = shape.literals.map((literal) => Buffer.from(literal))
  const last = literals[slots.length] ?? NULL
  const width = Math.max(shape.columns.length, 1)
  const starts = new Uint32Array(width)
  const ends = new Uint32Array(width)
  const literalBytes = literals.reduce((sum, literal) => sum + literal.length, 1)
  const writer: Writer = {
    bytes: Buffer.allocUnsafe(bytes.length + rowCount * literalBytes + 2),
    at: 0,
  }
  writer.bytes[writer.at++] = OPEN
  let at = 0
  for (let row = 0; row < rowCount; row++) {
    while (bytes[at] !== OPEN) at++
    at++
    for (let column = 0; column < width; column++) {
      starts[column] = at
      at = valueEnd(bytes, at)
      ends[column] = at
      at += 2
    }
    for (let index = 0; index < slots.length; index++) {
      const { column, printer, places } = slots[index] ?? NO_SLOT
      copyAll(writer, literals[index] ?? NULL)
      const from = starts[column] as number
      const end = ends[column] as number
      if (printer !== 'units') writeValue(writer, printer, bytes, from, end)
      else {
        const digits = starts[places] as number
        if (bytes[digits] === LETTER_N || bytes[from] === LETTER_N) copyAll(writer, NULL)
        else {
          const count = numberAt(bytes, digits, ends[places] as number)
          writeUnits(writer, bytes, from, end, count)
        }
      }
    }
    copyAll(writer, last)
    if (writer.at + 1 >= writer.bytes.length) makeRoom(writer, 2)
    writer.bytes[writer.at++] = row + 1 < rowCount ? COMMA : CLOSE
  }
  if (rowCount === 0) writer.bytes[writer.at++] = CLOSE
  return writer.bytes.subarray(0, writer.at)
}

const NO_SLOT = { column: 0, printer: 'as-is', places: -1 } as const
