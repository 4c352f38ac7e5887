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
import { type CubeSelection, type Field, isGrouped, joinFields } from './selection.ts'
import {
  createStatement,
  fromClause,
  limitByClause,
  lookupsClause,
  namesOfPageOnly,
  orderByClause,
  orderKeys,
  PAGE,
  pageClause,
  rowsClause,
  type StatementContext,
  whereClause,
} from './sql-clauses.ts'

/** A record of rows as they are stored. */
interface StoredRecord {
  readonly shape: RecordLayout
  readonly columns: string
  /** Lookups that its leaves need, in the order of the leaves. */
  readonly lookups: readonly string[]
}

/** Such records by their fields: no value of a request stands in them. */
export type StoredRecords = WeakMap<readonly Field[], StoredRecord>

const compileRecord = (fields: readonly Field[]): StoredRecord => {
  const lookups = new Set<string>()
  const shape = createRecordLayout(fields, (field) => {
    const leaf = storedLeaf(field)
    if (leaf.needs) lookups.add(leaf.needs)
    return storedColumn(leaf, leaf.sql, (sql) => sql)
  })
  return { shape, columns: selectList(shape), lookups: [...lookups] }
}

const compileUngrouped = (statement: StatementContext, stored: StoredRecords): Compiled => {
  const { selection, use, lookups } = statement
  const record = stored.get(selection.fields) ?? compileRecord(selection.fields)
  stored.set(selection.fields, record)
  for (const name of record.lookups) lookups.add(name)
  const keys = orderKeys(statement)
  const by = (selection.limitBy?.by ?? []).map(({ leaf }) => use(leaf))
  const where = whereClause(statement)
  const tail =
    orderByClause(keys, selection.cube.order) + limitByClause(statement, by) + pageClause(statement)
  const { shape, columns } = record
  if (!namesOfPageOnly(statement))
    return {
      shape,
      sql: `SELECT ${columns} FROM ${fromClause(statement, where)} WHERE ${where}${tail}`,
    }
  const page = `SELECT * FROM ${rowsClause(statement)} WHERE ${where}${tail}`
  const named = `${PAGE}${lookupsClause(statement, () => PAGE)}`
  const order = orderByClause(keys, selection.cube.order)
  return { shape, sql: `WITH ${PAGE} AS (${page}) SELECT ${columns} FROM ${named}${order}` }
}

const compileKind = ({ fields, values }: CubeSelection): typeof compileUngrouped => {
  if (joinFields(fields).length > 0) return compileJoined
  return isGrouped(values) ? compileGrouped : compileUngrouped
}

interface Compiled {
  readonly sql: string
  readonly shape: RecordLayout
}

/** A statement and how its rows become records. */
export interface CompiledQuery extends Compiled {
  readonly paramCount: number
  /** Its values for a run at this moment, epoch milliseconds: windows and relative times count from it. */
  readonly paramsAt: (nowMs: number) => NonNullable<Query['params']>
}

/**
 * One statement for one cube selection, and the shape of its rows. Pure. Values stand in parameters only: SQL text is made
 * of the cube's own fragments. With a scope it reads what those blocks brought and nothing else. Records found in `stored` are not compiled again.
 */
export const compileQuery = (
  selection: CubeSelection,
  scope?: BlockScope,
  stored: StoredRecords = new WeakMap(),
): CompiledQuery => {
  const statement = createStatement(selection, undefined, scope)
  const { sql, shape } = compileKind(selection)(statement, stored)
  const { binder } = statement
  return { sql, shape, paramCount: binder.count(), paramsAt: binder.paramsAt }
}
