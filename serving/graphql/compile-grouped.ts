import { isListType, type Leaf } from '../../schemas/cubes/types.ts'
import { bucketStartSql, intervalSql } from './bucket-start.ts'
import { compileCondition } from './compile-condition.ts'
import type { Expression } from './expression.ts'
import { comparisonSign } from './operators.ts'
import { fieldsByName, type NamedFields } from './order-by.ts'
import {
  createRecordLayout,
  type OutputColumn,
  outputColumn,
  type RecordLayout,
} from './record-layout.ts'
import {
  type BucketField,
  isBucketField,
  type MetricField,
  type OrderKey,
  type PickField,
  type ValueField,
} from './selection.ts'
import {
  fromClause,
  limitByClause,
  orderByClause,
  pageClause,
  type StatementContext,
  whereClause,
} from './sql-clauses.ts'

/** Columns of the inner, aggregating SELECT: an expression stands there once. */
interface InnerSelect {
  readonly columns: Map<string, string>
  readonly keys: Set<string>
}

interface GroupedStatement extends StatementContext {
  readonly inner: InnerSelect
  readonly fields: readonly ValueField[]
  readonly named: NamedFields
  /** SQL of what was compiled already: a field that is also ordered by, compared or calculated with binds its values once. */
  readonly values: Map<ValueField, string>
  /** Stored buckets are merged into wider ones. */
  readonly widened: boolean
}

const innerColumn = ({ inner }: GroupedStatement, sql: string): string => {
  const known = inner.columns.get(sql)
  if (known) return known
  const name = `c${inner.columns.size}`
  inner.columns.set(sql, name)
  return name
}

const groupKeyColumn = (grouping: GroupedStatement, sql: string): string => {
  const name = innerColumn(grouping, sql)
  grouping.inner.keys.add(name)
  return name
}

/** The same interval of the same leaf is one group key, however often it is selected. */
const bucketStart = (
  grouping: GroupedStatement,
  { leaf, interval }: BucketField,
  buckets: Map<string, string>,
): string => {
  const { time } = grouping.selection.cube
  const base = leaf.bucket === 'start' && leaf.type === 'DateTime' ? leaf.sql : time
  const id = [base, interval.unit, interval.count, interval.zone].join(' ')
  const known = buckets.get(id)
  if (known) return known
  const start = groupKeyColumn(grouping, bucketStartSql(base, interval, grouping.binder))
  buckets.set(id, start)
  return start
}

const bucketOutput = (
  grouping: GroupedStatement,
  field: BucketField,
  buckets: Map<string, string>,
): OutputColumn => {
  const { leaf, interval } = field
  const start = bucketStart(grouping, field, buckets)
  if (leaf.bucket === 'start' && leaf.type !== 'Date') return outputColumn(start, leaf)
  const { zone } = interval
  const local =
    zone === undefined ? start : `toTimeZone(${start}, ${grouping.binder.bind(zone, 'String')})`
  if (leaf.bucket === 'start') return outputColumn(local, leaf)
  const later = `(${local} + ${intervalSql(interval, grouping.binder)})`
  const end = zone === undefined ? later : `toTimeZone(${later}, 'UTC')`
  if (leaf.bucket === 'end') return outputColumn(end, leaf)
  return outputColumn(`dateDiff('second', ${start}, ${end})`, leaf)
}

const dimensionColumn = (grouping: GroupedStatement, leaf: Leaf): string => {
  const sql = grouping.use(leaf)
  return grouping.widened && leaf.rollup
    ? innerColumn(grouping, leaf.rollup)
    : groupKeyColumn(grouping, sql)
}

const argMinMaxColumn = (grouping: GroupedStatement, { leaf, by, greatest }: PickField): string => {
  const { use, selection } = grouping
  const value = isListType(leaf.type) ? use(leaf) : `toNullable(${use(leaf)})`
  const rank = `tuple(assumeNotNull(${use(by)}), ${selection.cube.order.join(', ')})`
  const pick = greatest ? 'argMaxIf' : 'argMinIf'
  return innerColumn(
    grouping,
    `tupleElement(${pick}(tuple(${value}), ${rank}, isNotNull(${use(by)})), 1)`,
  )
}

const metricColumn = (grouping: GroupedStatement, field: MetricField): string => {
  const { metric, leaf, where, level } = field
  const test = where ? compileCondition(where, grouping) : undefined
  const suffix = test === undefined ? '' : 'If'
  const more = test === undefined ? '' : `, ${test}`
  const count = `count${suffix}(${test ?? ''})`
  if (!leaf) return innerColumn(grouping, count)
  const exact = grouping.use(leaf)
  const value = leaf.fast ?? exact
  switch (metric) {
    case 'uniq':
      return innerColumn(grouping, `uniqExact${suffix}(${exact}${more})`)
    case 'sum': {
      const sum = leaf.exact || leaf.type === 'Int' ? 'sum' : 'sumKahan'
      return innerColumn(grouping, `if(${count} = 0, 0, ${sum}OrNull${suffix}(${value}${more}))`)
    }
    case 'quantile': {
      const bound = grouping.binder.bind(level, 'Float64')
      const call = `quantileExactInclusiveOrNull${suffix}(${bound})`
      return innerColumn(grouping, `${call}(toFloat64(${value})${more})`)
    }
    case 'avg':
      return innerColumn(grouping, `avgOrNull${suffix}(${value}${more})`)
    default:
      return innerColumn(grouping, `${metric}OrNull${suffix}(${exact}${more})`)
  }
}

/** Outer SQL of a field as a plain value, before it is printed. */
const cachedValueSql = (
  grouping: GroupedStatement,
  field: ValueField,
  buckets: Map<string, string>,
): string => {
  const known = grouping.values.get(field)
  if (known !== undefined) return known
  const sql = compileValue(grouping, field, buckets)
  grouping.values.set(field, sql)
  return sql
}

const compileValue = (
  grouping: GroupedStatement,
  field: ValueField,
  buckets: Map<string, string>,
): string => {
  switch (field.kind) {
    case 'dimension':
      return isBucketField(field)
        ? bucketStart(grouping, field, buckets)
        : dimensionColumn(grouping, field.leaf)
    case 'pick':
      return argMinMaxColumn(grouping, field)
    case 'metric':
      return metricColumn(grouping, field)
    case 'calculate':
      return compileExpression(grouping, field.expression, buckets)
  }
}

/** Averages and quantiles are of numbers alone, which are all written in one way. */
const valueType = (field: ValueField): Leaf['type'] => {
  switch (field.kind) {
    case 'calculate':
      return 'Float'
    case 'metric':
      return field.leaf === undefined || field.metric === 'uniq' ? 'Int' : field.leaf.type
    default:
      return field.leaf.type
  }
}

const compileOutput = (
  grouping: GroupedStatement,
  field: ValueField,
  buckets: Map<string, string>,
): OutputColumn => {
  if (isBucketField(field)) return bucketOutput(grouping, field, buckets)
  return outputColumn(cachedValueSql(grouping, field, buckets), { type: valueType(field) })
}

const numericSql = (
  grouping: GroupedStatement,
  field: ValueField,
  buckets: Map<string, string>,
): string => {
  const sql = cachedValueSql(grouping, field, buckets)
  if (field.kind === 'calculate') return sql
  const type = valueType(field)
  const isNumber = type === 'Int' || type === 'Float' || type === 'Boolean'
  return isNumber ? `toFloat64(${sql})` : `toFloat64OrNull(toString(${sql}))`
}

const compileExpression = (
  grouping: GroupedStatement,
  expression: Expression,
  buckets: Map<string, string>,
): string => {
  const text = (inner: Expression): string => compileExpression(grouping, inner, buckets)
  switch (expression.kind) {
    case 'number':
      return grouping.binder.bind(expression.text, 'Float64')
    case 'reference': {
      const field = grouping.named.get(expression.name)
      if (!field) throw new Error(`expression was not validated: ${expression.name}`)
      return numericSql(grouping, field, buckets)
    }
    case 'negative':
      return `(-${text(expression.of)})`
    case 'binary': {
      const [left, right] = [text(expression.left), text(expression.right)]
      if (expression.operator === '/') return `(${left} / nullIf(${right}, 0))`
      return `toFloat64(${left} ${expression.operator} ${right})`
    }
    case 'call': {
      const [first, second, third] = expression.with.map(text)
      if (expression.name === 'abs') return `abs(${first})`
      if (expression.name === 'if') return `if(${first} != 0, ${second}, ${third})`
      const [, places] = expression.with
      const digits = places?.kind === 'number' ? places.text : '0'
      return `round(${first}, ${grouping.binder.bind(digits, 'Int8')})`
    }
  }
}

const havingClause = (grouping: GroupedStatement, buckets: Map<string, string>): string => {
  const parts = grouping.fields.flatMap((field) =>
    field.kind === 'metric' || field.kind === 'calculate'
      ? field.having.map(({ operator, value }) => {
          const bound = grouping.binder.bind(value, 'Float64')
          return `${numericSql(grouping, field, buckets)} ${comparisonSign(operator)} ${bound}`
        })
      : [],
  )
  return parts.length > 0 ? ` WHERE ${parts.join(' AND ')}` : ''
}

/** A path outside the group keys orders by its greatest value descending, by its least ascending. */
const orderPathColumn = (grouping: GroupedStatement, leaf: Leaf, descending: boolean): string => {
  const sql = grouping.use(leaf)
  const known = grouping.inner.columns.get(sql)
  if (known) return known
  if (grouping.widened && leaf.rollup) return innerColumn(grouping, leaf.rollup)
  return innerColumn(grouping, `${descending ? 'maxOrNull' : 'minOrNull'}(${sql})`)
}

const orderSql = (
  grouping: GroupedStatement,
  key: OrderKey,
  buckets: Map<string, string>,
): string =>
  'field' in key
    ? cachedValueSql(grouping, key.field, buckets)
    : orderPathColumn(grouping, key.leaf, key.descending)

/** Statement of an aggregated record: an inner SELECT groups, the outer one calculates, keeps, orders and prints. */
export const compileGrouped = (
  statement: StatementContext,
): { readonly sql: string; readonly shape: RecordLayout } => {
  const { selection } = statement
  const fields = selection.values
  const rowKey = fields.some(isBucketField) ? selection.cube.rowKey : undefined
  const grouping: GroupedStatement = {
    ...statement,
    inner: { columns: new Map(), keys: new Set() },
    fields,
    named: fieldsByName(fields),
    values: new Map(),
    widened: rowKey !== undefined,
  }
  const buckets = new Map<string, string>()
  const shape = createRecordLayout(selection.fields, (field) =>
    compileOutput(grouping, field, buckets),
  )
  if (rowKey && fields.some((field) => field.kind === 'dimension' && field.leaf.rollup)) {
    for (const key of rowKey) groupKeyColumn(grouping, key)
  }
  const having = havingClause(grouping, buckets)
  const { inner } = grouping
  const order = inner.keys.size > 0 ? selection.order : []
  const keys = order.map((key) => ({
    sql: orderSql(grouping, key, buckets),
    descending: key.descending,
  }))
  const by = (selection.limitBy?.by ?? []).map(({ leaf }) => orderPathColumn(grouping, leaf, false))
  if (inner.columns.size === 0) innerColumn(grouping, 'count()')
  const tail =
    orderByClause(keys, [...inner.keys]) + limitByClause(grouping, by) + pageClause(grouping)
  const columns = [...inner.columns].map(([sql, name]) => `${sql} AS ${name}`).join(', ')
  const groupBy = inner.keys.size > 0 ? ` GROUP BY ${[...inner.keys].join(', ')}` : ''
  const where = whereClause(grouping)
  const source = `SELECT ${columns} FROM ${fromClause(grouping, where)} WHERE ${where}${groupBy}`
  return { shape, sql: `SELECT ${shape.columns.join(', ')} FROM (${source})${having}${tail}` }
}
