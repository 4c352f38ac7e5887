import type { Query } from '../../core/warehouse.ts'
import { compileGrouped } from './compile-grouped.ts'
import { type CubeSelection, isGrouped, type ValueField, valueFields } from './selection.ts'
import { printed, recordTuple } from './shape.ts'
import {
  fromText,
  limitText,
  orderText,
  type Statement,
  statementOf,
  whereText,
} from './statement.ts'

const compileRaw = (statement: Statement, nowMs: number): string => {
  const { selection, use } = statement
  const output = (field: ValueField) => {
    if (field.kind !== 'dimension') throw new Error(`an aggregate in a plain record: ${field.key}`)
    return printed(use(field.leaf), field.leaf)
  }
  const record = recordTuple(selection.fields, output)
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
  return `SELECT CAST(${record.sql}, '${quoted(record.type)}') AS r FROM ${fromText(statement)} WHERE ${where}${tail}`
}

const quoted = (text: string): string => text.replaceAll(`'`, `\\'`)

/**
 * One statement for one cube selection; its rows are single columns that print as the records of the answer. Pure.
 * Values stand in `params` only: SQL text is made of the cube's own fragments and of response keys.
 */
export const compile = (selection: CubeSelection, nowMs: number): Query => {
  const statement = statementOf(selection)
  const sql = isGrouped(valueFields(selection.fields))
    ? compileGrouped(statement, nowMs)
    : compileRaw(statement, nowMs)
  return { sql, params: statement.binder.params }
}
