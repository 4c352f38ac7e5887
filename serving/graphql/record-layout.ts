import type { Leaf } from '../../schemas/cubes/types.ts'
import { PlanningTooExpensive } from './planning-budget.ts'
import type { Field, ValueField } from './selection.ts'

/** How the engine writes a value into a record: as JSON, or a text that is JSON already. Source: ClickHouse, "Format Template". */
export type EscapingRule = 'JSON' | 'Raw'

/** One value of a record: its SQL, and for an amount in base units the SQL of its decimal places. */
export interface OutputColumn {
  readonly sql: string
  readonly rule: EscapingRule
  readonly places?: string
  /** Of any length: each copy in a record is a column of its own, so that the engine counts its bytes as often as it writes them. */
  readonly isText: boolean
  /** SQL of further copies of a text: of a type whose bytes the engine counts, since columns with a dictionary count one for each row. */
  readonly copySql?: string
}

/** Text around the values of a record, and which columns they are. */
export interface RecordLayout {
  /** Expressions of the SELECT list. */
  readonly columns: readonly string[]
  /** One more than `slots`: before the first value, between two, after the last. */
  readonly literals: readonly string[]
  readonly slots: readonly RecordSlot[]
}

/** A value of a record. */
export interface RecordSlot {
  /** Index of its column. */
  readonly column: number
  readonly rule: EscapingRule
  /** Index of the column with the decimal places of an amount in base units; -1: the value stands as it is. */
  readonly places: number
  readonly isText: boolean
}

/** The SELECT list of a record; of one without values a column that is printed as nothing, because a template needs one. */
export const selectList = ({ columns }: Pick<RecordLayout, 'columns'>): string =>
  columns.join(', ') || "''"

/** SQL that the engine prints as a value of its type: seconds of a time, because no chain of ours has finer block times. */
const PRINTED: Readonly<Partial<Record<Leaf['type'], (sql: string) => string>>> = {
  Boolean: (sql) => `toBool(${sql})`,
  DateTime: (sql) => `toDateTime64(${sql}, 0, 'UTC')`,
  Date: (sql) => `toDate(${sql})`,
}

/** Types whose values have at most some eighty characters. */
const SHORT_TYPES: ReadonlySet<Leaf['type']> = new Set([
  'Int',
  'Float',
  'Boolean',
  'DateTime',
  'Date',
])

/** A value of a leaf's type. */
export const outputColumn = (sql: string, { type }: Pick<Leaf, 'type'>): OutputColumn => ({
  sql: PRINTED[type]?.(sql) ?? sql,
  rule: 'JSON',
  isText: !SHORT_TYPES.has(type),
  ...(type === 'String' && { copySql: `CAST(${sql}, 'Nullable(String)')` }),
})

/** A list that stands alone in a list, or null for an empty list around it. */
export const optionalListColumn = (sql: string): OutputColumn => ({
  sql: `if(empty(${sql}), 'null', toJSONString(arrayElement(${sql}, 1)))`,
  rule: 'Raw',
  isText: true,
})

/** Leaf of a field of rows as they are stored: planning lets nothing else into a record that is not grouped. */
export const storedLeaf = (field: ValueField): Leaf => {
  if (field.kind !== 'dimension')
    throw new Error(`unexpected aggregate in a plain record: ${field.key}`)
  return field.leaf
}

/**
 * A leaf as it is stored, read by `sql`: an amount as base units and decimal places, from which it is printed without rounding.
 * `place` gives an expression its name in the SELECT.
 */
export const storedColumn = (
  leaf: Leaf,
  sql: string,
  place: (sql: string) => string,
): OutputColumn => {
  const { exactUnits } = leaf
  if (!exactUnits) return outputColumn(place(sql), leaf)
  return {
    sql: place(exactUnits.raw),
    rule: 'JSON',
    places: place(exactUnits.places),
    isText: false,
  }
}

/** Characters of the names of one record: they stand in its template, and in every row of the answer. */
const MAX_RECORD_NAMES = 500_000

/** Columns of one text at most: further copies in a record share them. */
const MAX_COPIES = 32

/**
 * The shape of a record with the names and the nesting of the query. Names are GraphQL names, so they need no escape. Throws
 * `PlanningTooExpensive` where they are too long together: fragments repeat them.
 */
export const createRecordLayout = (
  fields: readonly Field[],
  output: (field: ValueField) => OutputColumn,
): RecordLayout => {
  const columns: string[] = []
  const known = new Map<string, number[]>()
  const literals: string[] = []
  const slots: RecordSlot[] = []
  let [text, size] = ['', 0]
  const columnOf = ({ sql, isText, copySql = sql }: OutputColumn): number => {
    const copies = known.get(sql) ?? []
    const [first] = copies
    if (first !== undefined && !isText) return first
    if (copies.length < MAX_COPIES)
      copies.push(columns.push(first === undefined ? sql : copySql) - 1)
    else copies.push(copies.shift() ?? 0)
    known.set(sql, copies)
    return copies.at(-1) ?? 0
  }
  const write = (inner: readonly Field[]): void => {
    text += '{'
    size += 2
    for (const [index, field] of inner.entries()) {
      text += `${index > 0 ? ',' : ''}"${field.key}":`
      size += field.key.length + 4
      if (size > MAX_RECORD_NAMES)
        throw new PlanningTooExpensive(
          `A record of the query has more than ${MAX_RECORD_NAMES} characters of names`,
        )
      if (field.kind === 'group' || field.kind === 'join') write(field.fields)
      else if (field.kind === 'typename') text += `"${field.name}"`
      else {
        const column = output(field)
        const { rule, places, isText } = column
        literals.push(text)
        text = ''
        slots.push({
          column: columnOf(column),
          rule,
          places: places ? columnOf({ sql: places, rule, isText: false }) : -1,
          isText,
        })
      }
    }
    text += '}'
  }
  write(fields)
  literals.push(text)
  return { columns, literals, slots }
}
