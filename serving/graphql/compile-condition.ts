import type { Leaf, ListLeafType } from '../../schemas/cubes/types.ts'
import { comparisonSign, operatorRow } from './operators.ts'
import { type QueryParameters, TIME_PARAMETER_TYPE } from './query-parameters.ts'
import { type RelativeTime, relativeTimeMs } from './relative-time.ts'
import { toPlainDecimal } from './scalars.ts'
import type { Condition } from './selection.ts'

/** What a condition is compiled for. */
export interface ConditionContext {
  readonly binder: QueryParameters
  /** SQL of a leaf; notes the lookup it needs. */
  readonly use: (leaf: Leaf) => string
  /** True when every chain of the selection writes addresses in lower-case hex. */
  readonly hex: boolean
}

type Comparison = Extract<Condition, { readonly kind: 'compare' }>

/** WHERE text of a condition. A null value makes it null, which holds nowhere. */
export const compileCondition = (condition: Condition, context: ConditionContext): string => {
  if (condition.kind === 'compare') return compileComparison(condition, context)
  const parts = condition.of.map((inner) => compileCondition(inner, context))
  const distinct = [...new Set(parts)].filter((part) => condition.kind === 'any' || part !== '1')
  const [first = '1', ...others] = distinct
  if (others.length === 0) return first
  return `(${distinct.join(condition.kind === 'all' ? ' AND ' : ' OR ')})`
}

const compileComparison = (compare: Comparison, context: ConditionContext): string => {
  const { leaf, operator, value } = compare
  const sql = context.use(leaf)
  if (operatorRow(operator).operand === 'flag')
    return value === true ? `isNull(${sql})` : `isNotNull(${sql})`
  switch (leaf.type) {
    case 'String':
      return stringComparison(compare, sql, context)
    case 'Int':
      return numberComparison(compare, sql, (text) => context.binder.bind(text, 'Int64'))
    case 'Float':
      return leaf.exact
        ? decimalComparison(compare, sql, context.binder)
        : numberComparison(compare, sql, (text) => context.binder.bind(text, 'Float64'))
    case 'Boolean':
      return numberComparison(compare, sql, () =>
        context.binder.bind(value === true ? '1' : '0', 'UInt8'),
      )
    case 'DateTime':
    case 'Date':
      return timeComparison(compare, sql, context)
    case 'StringList':
    case 'IntList':
    case 'FloatList':
      return itemComparison(compare, sql, leaf.type, context)
  }
}

const listComparison = (
  { operator, value }: Comparison,
  sql: string,
  bind: (text: string) => string,
): string | undefined => {
  const { operand, negative } = operatorRow(operator)
  if (operand !== 'several') return undefined
  const items = (value as readonly string[]).map((item) => bind(String(item)))
  if (items.length === 0) return negative ? '1' : '0'
  return `${sql} ${negative ? 'NOT IN' : 'IN'} (${items.join(', ')})`
}

const ITEM_TYPES = { StringList: 'String', IntList: 'Int64', FloatList: 'Float64' } as const

/** Whether a list holds an item, or one of several. */
const itemComparison = (
  { leaf, operator, value }: Comparison,
  sql: string,
  type: ListLeafType,
  context: ConditionContext,
): string => {
  const { operand, negative } = operatorRow(operator)
  const items = (operand === 'several' ? (value as readonly unknown[]) : [value]).map((item) =>
    addressText(leaf, String(item), context),
  )
  if (items.length === 0) return negative ? '1' : '0'
  const bound = items.map((item) => context.binder.bind(item, ITEM_TYPES[type])).join(', ')
  const held = type === 'IntList' ? `arrayMap(item -> toInt64(item), ${sql})` : sql
  return `${negative ? 'NOT ' : ''}hasAny(${held}, [${bound}])`
}

const numberComparison = (
  compare: Comparison,
  sql: string,
  bind: (text: string) => string,
): string =>
  listComparison(compare, sql, bind) ??
  `${sql} ${comparisonSign(compare.operator)} ${bind(String(compare.value))}`

/** Whole digits that a Decimal(76, 30) operand can have beside a Decimal(38, 12) column. */
const MAX_WHOLE_DIGITS = 26

const decimalComparison = (compare: Comparison, sql: string, binder: QueryParameters): string => {
  const texts = (Array.isArray(compare.value) ? compare.value : [compare.value]).map(String)
  const numbers = texts.map(toPlainDecimal)
  if (numbers.some(({ whole }) => whole.length > MAX_WHOLE_DIGITS)) {
    return numberComparison(compare, `toFloat64(${sql})`, (text) => binder.bind(text, 'Float64'))
  }
  const bind = (text: string): string => {
    const { negative, whole, fraction } = toPlainDecimal(text)
    const plain = `${negative ? '-' : ''}${whole}.${fraction.slice(0, 30) || '0'}`
    return binder.bind(plain, 'Decimal(76, 30)')
  }
  return numberComparison(compare, sql, bind)
}

const timeComparison = (compare: Comparison, sql: string, { binder }: ConditionContext): string => {
  const bind = (text: string): string => binder.bind(text, TIME_PARAMETER_TYPE)
  const { value } = compare
  if (isRelativeTime(value))
    return numberComparison(compare, sql, () =>
      binder.bindMoment((nowMs) => relativeTimeMs(value, nowMs)),
    )
  const { operand } = operatorRow(compare.operator)
  if (operand === 'several') {
    return numberComparison(compare, `toDateTime64(${sql}, 3, 'UTC')`, bind)
  }
  if (operand !== 'period') return numberComparison(compare, sql, bind)
  const [from, to = from] = compare.value as readonly [from: string, to?: string]
  return `(${sql} >= ${bind(from)} AND ${sql} <= ${bind(to)})`
}

const isRelativeTime = (value: unknown): value is RelativeTime =>
  typeof value === 'object' && value !== null && 'msAgo' in value

const HEX_PATTERN = /^0x[0-9a-fA-F%_]*$/
const foldedSql = (sql: string): string => `lower(replaceRegexpAll(${sql}, '[_ ]', ''))`
const foldText = (text: string): string => text.replace(/[_ ]/g, '').toLowerCase()

/** An address or hash of a chain that writes them in lower case. */
const addressText = (leaf: Leaf, text: string, { hex }: ConditionContext): string =>
  leaf.address && (hex || HEX_PATTERN.test(text)) ? text.toLowerCase() : text

const stringComparison = (
  compare: Comparison,
  column: string,
  context: ConditionContext,
): string => {
  const { leaf, operator } = compare
  const { operand, negative, pattern, sql: textSql } = operatorRow(operator)
  // Comparisons of the whole text.
  const folds = leaf.folds === true && textSql === undefined
  const sql = folds ? foldedSql(column) : column
  const adapt = (value: unknown): string =>
    folds ? foldText(String(value)) : addressText(leaf, String(value), context)
  const { binder } = context
  if (operand === 'several') {
    const items = (compare.value as readonly unknown[]).map(adapt)
    if (items.length === 0) return negative ? '1' : '0'
    return `${sql} ${negative ? 'NOT IN' : 'IN'} ${binder.bind(items, 'Array(String)')}`
  }
  const text = adapt(compare.value)
  const bound = binder.bind(pattern ? text.replaceAll('\\', '\\\\') : text, 'String')
  return textSql?.(sql, bound) ?? `${sql} ${comparisonSign(operator)} ${bound}`
}
