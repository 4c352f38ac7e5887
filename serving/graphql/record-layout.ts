import type { Leaf } from '../../schemas/cubes/types.ts'
import type { Field, ValueField } from './selection.ts'

/** How a value of the engine becomes a value of the answer. */
export type ValueFormat = 'as-is' | 'time' | 'date' | 'boolean' | 'units' | 'optional-list'

/** One value of a record: its SQL, and with `units` the SQL of the decimal places. */
export interface OutputColumn {
  readonly sql: string
  readonly format: ValueFormat
  readonly places?: string
}

/** Text around the values of a record, and which columns they are. */
export interface RecordLayout {
  /** Expressions of the SELECT list. */
  readonly columns: readonly string[]
  /** One more than `slots`: before the first value, between two, after the last. */
  readonly literals: readonly string[]
  readonly slots: readonly {
    readonly column: number
    readonly format: ValueFormat
    readonly places: number
  }[]
}

const FORMAT_BY_TYPE: Readonly<Record<Leaf['type'], ValueFormat>> = {
  String: 'as-is',
  Int: 'as-is',
  Float: 'as-is',
  Boolean: 'boolean',
  DateTime: 'time',
  Date: 'date',
  StringList: 'as-is',
  IntList: 'as-is',
  FloatList: 'as-is',
}

/** A value of a leaf's type. */
export const outputColumn = (sql: string, { type }: Pick<Leaf, 'type'>): OutputColumn => ({
  sql,
  format: FORMAT_BY_TYPE[type],
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
  return { sql: place(exactUnits.raw), format: 'units', places: place(exactUnits.places) }
}

/** The shape of a record with the names and the nesting of the query. Names are GraphQL names, so they need no escape. */
export const createRecordLayout = (
  fields: readonly Field[],
  output: (field: ValueField) => OutputColumn,
): RecordLayout => {
  const columns = new Map<string, number>()
  const literals: string[] = []
  const slots: { column: number; format: ValueFormat; places: number }[] = []
  let text = ''
  const columnOf = (sql: string): number => {
    const known = columns.get(sql) ?? columns.size
    columns.set(sql, known)
    return known
  }
  const write = (inner: readonly Field[]): void => {
    text += '{'
    for (const [index, field] of inner.entries()) {
      text += `${index > 0 ? ',' : ''}"${field.key}":`
      if (field.kind === 'group' || field.kind === 'join') write(field.fields)
      else if (field.kind === 'typename') text += `"${field.name}"`
      else {
        const { sql, format, places } = output(field)
        literals.push(text)
        text = ''
        slots.push({ column: columnOf(sql), format, places: places ? columnOf(places) : -1 })
      }
    }
    text += '}'
  }
  write(fields)
  literals.push(text)
  return { columns: [...columns.keys()], literals, slots }
}
