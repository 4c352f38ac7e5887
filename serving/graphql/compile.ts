import type { Query } from '../../core/clickhouse/client.ts'
import { compileGrouped } from './compile-grouped.ts'
import {
  createRecordLayout,
  type OutputColumn,
  outputColumn,
  type RecordLayout,
} from './record-layout.ts'
import { type CubeSelection, isGrouped, type ValueField, valueFields } from './selection.ts'
import {
  createStatement,
  fromClause,
  limitClause,
  orderByClause,
  type StatementContext,
  whereClause,
} from './sql-clauses.ts'

const compileUngrouped = (statement: StatementContext, nowMs: number): CompiledQuery => {
  const { selection, use } = statement
  const output = (field: ValueField): OutputColumn => {
    if (field.kind !== 'dimension') throw new Error(`an aggregate in a plain record: ${field.key}`)
    const sql = use(field.leaf)
    const { exactUnits } = field.leaf
    if (!exactUnits) return outputColumn(sql, field.leaf)
    return { sql: exactUnits.raw, printer: 'units', places: exactUnits.places }
  }
  const shape = createRecordLayout(selection.fields, output)
  const keys = selection.order.map((key) => {
    const leaf =
      'leaf' in key ? key.leaf : key.field.kind === 'dimension' ? key.field.leaf : undefined
    if (!leaf) throw new Error('an aggregate orders a plain record')
    const sql = use(leaf)
    return { sql: leaf.rank ?? leaf.fast ?? sql, descending: key.descending }
  })
  const by = (selection.limitBy?.by ?? []).map(({ leaf }) => use(leaf))
  const where = whereClause(statement, nowMs)
  const tail = orderByClause(keys, selection.cube.order) + limitClause(statement, by)
  const columns = shape.columns.join(', ') || '1'
  return { shape, sql: `SELECT ${columns} FROM ${fromClause(statement)} WHERE ${where}${tail}` }
}

/** A statement and how its rows become records. */
export interface CompiledQuery {
  readonly sql: string
  readonly shape: RecordLayout
}

/**
 * One statement for one cube selection, and the shape of its rows. Pure. Values stand in `params` only: SQL text is made
 * of the cube's own fragments.
 */
export const compileQuery = (
  selection: CubeSelection,
  nowMs: number,
): Query & { readonly shape: RecordLayout } => {
  const statement = createStatement(selection)
  const compiled = isGrouped(valueFields(selection.fields))
    ? compileGrouped(statement, nowMs)
    : compileUngrouped(statement, nowMs)
  return { ...compiled, params: statement.binder.params }
}
