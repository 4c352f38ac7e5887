import type { Query } from '../../core/clickhouse/client.ts'
import { compileGrouped } from './compile-grouped.ts'
import { type CubeSelection, isGrouped, type ValueField, valueFields } from './selection.ts'
import { type Output, printed, type Shape, shapeOf } from './shape.ts'
import {
  fromText,
  limitText,
  orderText,
  type Statement,
  statementOf,
  whereText,
} from './statement.ts'

const compileRaw = (statement: Statement, nowMs: number): Compiled => {
  const { selection, use } = statement
  const output = (field: ValueField): Output => {
    if (field.kind !== 'dimension') throw new Error(`an aggregate in a plain record: ${field.key}`)
    const sql = use(field.leaf)
    const { exactUnits } = field.leaf
    if (!exactUnits) return printed(sql, field.leaf)
    return { sql: exactUnits.raw, printer: 'units', places: exactUnits.places }
  }
  const shape = shapeOf(selection.fields, output)
  const keys = selection.order.map((key) => {
    const leaf =
      'leaf' in key ? key.leaf : key.field.kind === 'dimension' ? key.field.leaf : undefined
    if (!leaf) throw new Error('an aggregate orders a plain record')
    const sql = use(leaf)
    return { sql: leaf.rank ?? leaf.fast ?? sql, descending: key.descending }
  })
  const by = (selection.limitBy?.by ?? []).map(({ leaf }) => use(leaf))
  const where = whereText(statement, nowMs)
  const tail = orderText(keys, selection.cube.order) + limitText(statement, by)
  const columns = shape.columns.join(', ') || '1'
  return { shape, sql: `SELECT ${columns} FROM ${fromText(statement)} WHERE ${where}${tail}` }
}

/** A statement and how its rows become records. */
export interface Compiled {
  readonly sql: string
  readonly shape: Shape
}

/**
 * One statement for one cube selection, and the shape of its rows. Pure. Values stand in `params` only: SQL text is made
 * of the cube's own fragments.
 */
export const compile = (
  selection: CubeSelection,
  nowMs: number,
): Query & { readonly shape: Shape } => {
  const statement = statementOf(selection)
  const compiled = isGrouped(valueFields(selection.fields))
    ? compileGrouped(statement, nowMs)
    : compileRaw(statement, nowMs)
  return { ...compiled, params: statement.binder.params }
}
