import { makeYieldIfDue } from '../../core/runtime/yield-if-due.ts'
import type { AnswerBudget } from './answer-budget.ts'
import { MARK, type RecordFrame } from './record-template.ts'

const MARK_BYTE = MARK.charCodeAt(0)
const N_BYTE = 110
const ZERO_BYTE = 48
const MINUS_BYTE = 45
const POINT_BYTE = 46
const NULL = Buffer.from('null')
/** What a printed value may be longer than the engine's: a base unit has at most 255 places, `0.` and zeros. */
const MAX_VALUE_GROWTH = 260
/** Values between two looks at the clock. */
const VALUES_PER_TURN = 256

/** What is read and what is written: `at` and `to` are the indexes behind the last byte of each. */
interface Copying {
  readonly from: Buffer
  at: number
  into: Buffer
  to: number
}

/** Index of the mark at or behind `from`, within a value of few bytes: a call into the runtime costs more than the loop. */
const markAfter = (bytes: Buffer, from: number): number => {
  let at = from
  while (bytes[at] !== MARK_BYTE && at < bytes.length) at++
  return at
}

/** Copies the bytes up to `end`. */
const copyDigits = (copying: Copying, end: number): void => {
  const { from, into } = copying
  let { at, to } = copying
  while (at < end) into[to++] = from[at++] as number
  copying.at = at
  copying.to = to
}

/** Writes digits of base units up to `end` as a plain decimal without trailing zeros; every digit is kept. */
const writeUnits = (copying: Copying, end: number, places: number): void => {
  const { from, into } = copying
  if (from[copying.at] === MINUS_BYTE) copyDigits(copying, copying.at + 1)
  const whole = end - copying.at - places
  const point = copying.at + Math.max(whole, 0)
  let last = end
  while (last > point && from[last - 1] === ZERO_BYTE) last--
  if (whole > 0) copyDigits(copying, point)
  else into[copying.to++] = ZERO_BYTE
  if (last === point) return
  into[copying.to++] = POINT_BYTE
  for (let zeros = whole; zeros < 0; zeros++) into[copying.to++] = ZERO_BYTE
  copyDigits(copying, last)
}

/** Writes the amount behind a mark, and moves behind its last mark. */
const writeAmount = (copying: Copying): void => {
  const { from } = copying
  const end = markAfter(from, copying.at)
  const last = markAfter(from, end + 1)
  if (from[copying.at] === N_BYTE || from[end + 1] === N_BYTE)
    copying.to += NULL.copy(copying.into, copying.to)
  else {
    let places = 0
    for (let at = end + 1; at < last; at++) places = places * 10 + (from[at] as number) - ZERO_BYTE
    writeUnits(copying, end, places)
  }
  copying.at = last + 1
}

/** Writes the value behind a mark as it is, and moves behind its other mark. */
const writePlain = (copying: Copying): void => {
  const { from, into, to, at } = copying
  const end = from.indexOf(MARK_BYTE, at)
  copying.to += from.copy(into, to, at, end)
  copying.at = end + 1
}

/** Bytes up to the mark behind a value. Throws where there is none. */
const valueLength = ({ from, at }: Copying): number => {
  const end = from.indexOf(MARK_BYTE, at)
  if (end === -1) throw new Error('the engine returned a value without its end')
  return end - at
}

/** Bytes behind the budget that the output may have room for, so that the value that passes it fits. */
const SPARE_BYTES = 1_024

/** Makes room for `size` bytes; throws `QueryTooExpensive` where the budget has no room for them. */
const makeRoom = (copying: Copying, size: number, budget: AnswerBudget): void => {
  const needed = copying.to + size
  if (needed <= copying.into.length) return
  const most = Math.max(budget.left(), 0) + SPARE_BYTES
  if (needed > most) budget.spend(needed)
  const bigger = Buffer.allocUnsafe(Math.max(needed, Math.min(copying.into.length * 2, most)))
  copying.into.copy(bigger, 0, 0, copying.to)
  copying.into = bigger
}

/** How marked values are rewritten, and how many bytes all of it may take. */
export interface RewriteOptions {
  /** Of each marked value of a record in turn: it is an amount that is followed by its decimal places. */
  readonly marked: readonly boolean[]
  readonly cell?: RecordFrame['cell']
  /** Stands before all of it. */
  readonly header?: RecordFrame['header']
  readonly budget: AnswerBudget
  readonly signal: AbortSignal
}

/**
 * Records as the engine wrote them, with each marked value rewritten: amounts in base units as decimals, cells as the frame writes them.
 * Bytes, not texts: at 10,000 rows those would cost more than the query. Gives others a turn between values; throws
 * `QueryTooExpensive` when the records take more than `budget`, and the reason of `signal`.
 */
export const rewriteValues = async (
  from: Buffer,
  { marked, cell, header = '', budget, signal }: RewriteOptions,
): Promise<Buffer> => {
  if (marked.length === 0) {
    budget.spend(header.length + from.length)
    return header === '' ? from : Buffer.concat([Buffer.from(header), from])
  }
  const yieldIfDue = makeYieldIfDue()
  const room = Math.min(header.length + from.length, Math.max(budget.left(), 0)) + SPARE_BYTES
  const copying: Copying = { from, at: 0, into: Buffer.allocUnsafe(room), to: 0 }
  makeRoom(copying, header.length, budget)
  copying.to += copying.into.write(header)
  let value = 0
  for (let count = 0; ; count++) {
    if (count % VALUES_PER_TURN === 0) {
      const turn = yieldIfDue()
      if (turn) {
        await turn
        signal.throwIfAborted()
      }
    }
    const mark = from.indexOf(MARK_BYTE, copying.at)
    const end = mark === -1 ? from.length : mark
    makeRoom(copying, end - copying.at, budget)
    copying.to += from.copy(copying.into, copying.to, copying.at, end)
    if (mark === -1) break
    copying.at = mark + 1
    const written = copying.to
    makeRoom(copying, (cell ? 2 : 1) * valueLength(copying) + MAX_VALUE_GROWTH, budget)
    if (marked[value]) writeAmount(copying)
    else writePlain(copying)
    if (cell) copying.to = cell(copying.into, written, copying.to)
    value = value + 1 === marked.length ? 0 : value + 1
  }
  budget.spend(copying.to)
  return copying.into.subarray(0, copying.to)
}
