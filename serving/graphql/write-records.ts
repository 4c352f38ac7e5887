import { makeYieldIfDue } from '../../core/runtime/yield-if-due.ts'
import { QueryTooExpensive } from './errors.ts'
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
const MINUS_BYTE = 45
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
  const isNegative = bytes[from] === MINUS_BYTE
  const first = isNegative ? from + 1 : from
  const whole = end - first - places
  const point = first + Math.max(whole, 0)
  let last = end
  while (last > point && bytes[last - 1] === ZERO_BYTE) last--
  let to = at
  if (isNegative) into[to++] = MINUS_BYTE
  if (whole > 0) to = copyBytes(into, to, bytes, first, point)
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
  format: ValueFormat,
  bytes: Uint8Array,
  from: number,
  end: number,
): number => {
  if (format === 'optional-list') {
    // A list inside a list, or an empty one for no list at all.
    if (end - from <= 2) return copyBytes(into, at, NULL, 0, NULL.length)
    return copyBytes(into, at, bytes, from + 1, end - 1)
  }
  if (format === 'boolean') {
    const text = bytes[from] === 49 || bytes[from] === 116 ? TRUE : FALSE
    return copyBytes(into, at, text, 0, text.length)
  }
  if (format === 'date') {
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

/** Bytes that the records of one request may still take, over all of its selections. */
export interface AnswerBudget {
  readonly left: () => number
  /** Throws `QueryTooExpensive` once nothing is left. */
  readonly spend: (bytes: number) => void
}

/** A budget of `maxBytes`. */
export const createAnswerBudget = (maxBytes: number): AnswerBudget => {
  let left = maxBytes
  return {
    left: () => left,
    spend: (bytes) => {
      left -= bytes
      if (left < 0) throw new QueryTooExpensive(`The answer has more than ${maxBytes} bytes`, [])
    },
  }
}

/** What stands around records. */
export interface RecordFrame {
  /** Before the first record, between two, behind the last. */
  readonly head: Uint8Array
  readonly between: Uint8Array
  readonly tail: Uint8Array
  /** In place of all of it where there is no record. */
  readonly empty: Buffer
  /** Rewrites the JSON value that stands in `bytes` between `from` and `to`, to at most twice its size and two; returns where it ends. */
  readonly cell?: (bytes: Buffer, from: number, to: number) => number
}

/** Records as a JSON list. */
export const JSON_FRAME: RecordFrame = {
  head: Buffer.from('['),
  between: Buffer.from(','),
  tail: Buffer.from(']'),
  empty: Buffer.from('[]'),
}

/** Bytes that are written so far; `at` is the index behind the last one. */
interface Output {
  bytes: Buffer
  at: number
}

/** Bytes behind the budget that the output may have room for, so that the value that passes it fits. */
const SPARE_BYTES = 1_024

/** Makes room for `size` bytes. `uncharged` bytes are written, but not charged to the budget yet; throws `QueryTooExpensive` like `spend`. */
const makeRoom = (out: Output, size: number, uncharged: number, budget: AnswerBudget): void => {
  const needed = out.at + size
  if (needed <= out.bytes.length) return
  const most = out.at - uncharged + Math.max(budget.left(), 0) + SPARE_BYTES
  if (needed > most) budget.spend(uncharged + size)
  const bigger = Buffer.allocUnsafe(Math.max(needed, Math.min(out.bytes.length * 2, most)))
  bigger.set(out.bytes.subarray(0, out.at))
  out.bytes = bigger
}

interface EngineRow {
  readonly bytes: Uint8Array
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

const writeSlot = (
  into: Uint8Array,
  at: number,
  { column, format, places }: RecordLayout['slots'][number],
  { bytes, starts, ends }: EngineRow,
): number => {
  const start = starts[column] as number
  const end = ends[column] as number
  if (format === 'as-is' || bytes[start] === N_BYTE) return copyBytes(into, at, bytes, start, end)
  if (format !== 'units') return writeValue(into, at, format, bytes, start, end)
  const digits = starts[places] as number
  if (bytes[digits] === N_BYTE) return copyBytes(into, at, NULL, 0, NULL.length)
  const decimals = parseNumberAt(bytes, digits, ends[places] as number)
  return writeUnits(into, at, bytes, start, end, decimals)
}

const writeBytes = (out: Output, bytes: Uint8Array, spent: number, budget: AnswerBudget): void => {
  makeRoom(out, bytes.length, out.at - spent, budget)
  out.at = copyBytes(out.bytes, out.at, bytes, 0, bytes.length)
}

/** How records are written, and how many bytes they may take. */
export interface WritingOptions {
  readonly budget: AnswerBudget
  readonly signal: AbortSignal
  /** Default: a JSON list. */
  readonly frame?: RecordFrame
}

/**
 * Rows of the engine, JSON lists one after the other, as the list of records of the answer. Values are copied byte
 * by byte and not parsed: at 10,000 rows strings would cost more than the query. Gives others a turn between rows; throws
 * `QueryTooExpensive` when the records take more than `budget`, and the reason of `signal`.
 */
export const writeRecords = async (
  text: string,
  rowCount: number,
  shape: RecordLayout,
  { budget, signal, frame = JSON_FRAME }: WritingOptions,
): Promise<Buffer> => {
  const yieldIfDue = makeYieldIfDue()
  const bytes: Uint8Array = Buffer.from(text)
  const { slots } = shape
  const literals: readonly Uint8Array[] = shape.literals.map((literal) => Buffer.from(literal))
  const width = Math.max(shape.columns.length, 1)
  const row = { bytes, starts: new Uint32Array(width), ends: new Uint32Array(width) }
  const most = Math.max(budget.left(), 0) + SPARE_BYTES
  const out: Output = { bytes: Buffer.allocUnsafe(Math.min(bytes.length * 2 + 2, most)), at: 0 }
  const { head, between, tail, empty, cell } = frame
  let [at, spent] = [0, 0]
  for (let index = 0; index < rowCount; index++) {
    const turn = yieldIfDue()
    if (turn) {
      await turn
      signal.throwIfAborted()
    }
    while (bytes[at] !== OPEN_BRACKET_BYTE) {
      if (at++ >= bytes.length) throw new Error('the engine returned fewer rows than it counted')
    }
    at = scanRow(bytes, at + 1, row.starts, row.ends)
    writeBytes(out, index > 0 ? between : head, spent, budget)
    for (let piece = 0; piece < literals.length; piece++) {
      const literal = literals[piece] ?? NULL
      const slot = slots[piece]
      const size = slot
        ? (row.ends[slot.column] as number) - (row.starts[slot.column] as number)
        : 0
      const neededBytes = literal.length + (cell ? 2 : 1) * size + MAX_VALUE_GROWTH
      makeRoom(out, neededBytes, out.at - spent, budget)
      out.at = copyBytes(out.bytes, out.at, literal, 0, literal.length)
      if (!slot) continue
      const from = out.at
      const to = writeSlot(out.bytes, from, slot, row)
      out.at = cell ? cell(out.bytes, from, to) : to
    }
    budget.spend(out.at - spent)
    spent = out.at
  }
  if (rowCount === 0) {
    budget.spend(empty.length)
    return empty
  }
  writeBytes(out, tail, spent, budget)
  budget.spend(out.at - spent)
  return Buffer.from(out.bytes.buffer, out.bytes.byteOffset, out.at)
}
