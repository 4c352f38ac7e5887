import type { Query } from '../../core/clickhouse/client.ts'
import type { BlockScope } from './block-scope.ts'
import { compileGrouped } from './compile-grouped.ts'
import { compileJoined } from './compile-joined.ts'
import {
  createRecordLayout,
  type RecordLayout,
  selectList,
  storedColumn,
  storedLeaf,
} from './record-layout.ts'
import { type CubeSelection, isGrouped, joinFields, valueFields } from './selection.ts'
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

const compileUngrouped = (statement: StatementContext): CompiledQuery => {
  const { selection, use } = statement
  const shape = createRecordLayout(selection.fields, (field) => {
    const leaf = storedLeaf(field)
    return storedColumn(leaf, use(leaf), (sql) => sql)
  })
  const keys = orderKeys(statement)
  const by = (selection.limitBy?.by ?? []).map(({ leaf }) => use(leaf))
  const where = whereClause(statement)
  const tail =
    orderByClause(keys, selection.cube.order) + limitByClause(statement, by) + pageClause(statement)
  const columns = selectList(shape)
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
 * of the cube's own fragments. With a scope it reads what those blocks brought and nothing else.
 */
export const compileQuery = (
  selection: CubeSelection,
  nowMs: number,
  scope?: BlockScope,
): Query & { readonly shape: RecordLayout } => {
  const statement = createStatement(selection, nowMs, undefined, scope)
  const compiled = compileKind(selection)(statement)
  return { ...compiled, params: statement.binder.params }
}
