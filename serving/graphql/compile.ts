import type { Query } from '../../core/clickhouse/client.ts'
import { compileGrouped } from './compile-grouped.ts'
import { compileJoined } from './compile-joined.ts'
import {
  createRecordLayout,
  type OutputColumn,
  outputColumn,
  type RecordLayout,
} from './record-layout.ts'
import {
  type CubeSelection,
  isGrouped,
  joinFields,
  type ValueField,
  valueFields,
} from './selection.ts'
import {
  createStatement,
  fromClause,
  limitByClause,
  orderByClause,
  orderKeys,
  pageClause,
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
  const keys = orderKeys(statement)
  const by = (selection.limitBy?.by ?? []).map(({ leaf }) => use(leaf))
  const where = whereClause(statement, nowMs)
  const tail =
    orderByClause(keys, selection.cube.order) + limitByClause(statement, by) + pageClause(statement)
  const columns = shape.columns.join(', ') || '1'
  return { shape, sql: `SELECT ${columns} FROM ${fromClause(statement)} WHERE ${where}${tail}` }
}

const compileKind = ({ fields }: CubeSelection): typeof compileUngrouped => {
  if (joinFields(fields).length > 0) return compileJoined
  return isGrouped(valueFields(fields)) ? compileGrouped : compileUngrouped
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
  const compiled = compileKind(selection)(statement, nowMs)
  return { ...compiled, params: statement.binder.params }
}
