import type { RowTemplate } from '../../core/clickhouse/client.ts'
import type { RecordLayout } from './record-layout.ts'

/** Stands before and behind a value that is rewritten, and between an amount and its decimal places: JSON has no such byte. */
export const MARK = '\x01'

/** What a record without values ends with: a template has at least one column, see `selectList`. */
const NO_VALUE = `\${0:Raw}`

/** What stands around records. */
export interface RecordFrame {
  /** Before the first record, between two, behind the last. */
  readonly head: string
  readonly between: string
  readonly tail: string
  /** Before all of it. The engine does not write it: it may be long. */
  readonly header?: string
  /** In place of all of it where there is no record. */
  readonly empty: string
  /** Rewrites the JSON value that stands in `bytes` between `from` and `to`, to at most twice its size and two; returns where it ends. */
  readonly cell?: (bytes: Buffer, from: number, to: number) => number
}

/** Records as a JSON list. */
export const JSON_FRAME: RecordFrame = { head: '[', between: ',', tail: ']', empty: '[]' }

/** How the engine writes records, and which of their values are marked because the engine cannot write them. */
export interface RecordTemplate extends RowTemplate {
  /** Of each marked value of a record in turn: it is an amount that is followed by its decimal places. */
  readonly marked: readonly boolean[]
  /** Least bytes of a record: what stands around its values. */
  readonly rowBytes: number
  /** How often the text that stands in a record most often is written for one column of it. */
  readonly repeats: number
}

/**
 * The records of a layout as a template of the engine: it writes names and values, so that no row is taken apart here. Amounts in
 * base units are marked, and every value where the frame rewrites each.
 */
export const createRecordTemplate = (
  { literals, slots }: RecordLayout,
  { head, between, tail, cell }: RecordFrame,
): RecordTemplate => {
  const marked: boolean[] = []
  const used = new Map<number, number>()
  const value = (column: number, rule: string): string => `\${${column}:${rule}}`
  const parts = slots.map(({ column, rule, places, isText }) => {
    const text = value(column, rule)
    if (isText) used.set(column, (used.get(column) ?? 0) + 1)
    if (places === -1 && !cell) return text
    marked.push(places !== -1)
    return places === -1
      ? MARK + text + MARK
      : `${MARK}${text}${MARK}${value(places, 'JSON')}${MARK}`
  })
  const values = slots.length > 0 ? '' : NO_VALUE
  const row = literals.map((literal, index) => literal + (parts[index] ?? '')).join('') + values
  const rowBytes = literals.reduce((sum, literal) => sum + literal.length, between.length)
  return { head, row, between, tail, marked, rowBytes, repeats: Math.max(1, ...used.values()) }
}
