import type { Leaf, ListLeafType } from '../../schemas/cubes/types.ts'
import { type QueryParameters, TIME_PARAMETER_TYPE } from './query-parameters.ts'
import { type RelativeTime, relativeTimeMs } from './relative-time.ts'
import { formatBoundTime, toPlainDecimal } from './scalars.ts'
import type { Condition, Operator } from './selection.ts'

/** What a condition is compiled for. */
export interface ConditionContext {
  readonly binder: QueryParameters
  /** SQL of a leaf; notes the lookup it needs. */
  readonly use: (leaf: Leaf) => string
  /** True when every chain of the selection writes addresses in lower-case hex. */
  readonly hex: boolean
  /** When the statement runs: relative times count from it. */
  readonly nowMs: number
}

type Comparison = Extract<Condition, { readonly kind: 'compare' }>

const SQL_OPERATORS = {
  is: '=',
  not: '!=',
  gt: '>',
  ge: '>=',
  lt: '<',
  le: '<=',
  after: '>',
  since: '>=',
  before: '<',
  till: '<=',
} as const satisfies Readonly<Partial<Record<Operator, string>>>

/** SQL of an operator that compares two values. */
const sqlOperator = (operator: Operator): string =>
  SQL_OPERATORS[operator as keyof typeof SQL_OPERATORS]

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
  if (operator === 'isNull') return value === true ? `isNull(${sql})` : `isNotNull(${sql})`
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
      return `${sql} = ${context.binder.bind(value === true ? '1' : '0', 'UInt8')}`
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
  if (operator !== 'in' && operator !== 'notIn') return undefined
  const items = (value as readonly string[]).map((item) => bind(String(item)))
  if (items.length === 0) return operator === 'in' ? '0' : '1'
  return `${sql} ${operator === 'in' ? 'IN' : 'NOT IN'} (${items.join(', ')})`
}

const ITEM_TYPES = { StringList: 'String', IntList: 'Int64', FloatList: 'Float64' } as const

/** Whether a list holds an item, or one of several. */
const itemComparison = (
  { leaf, operator, value }: Comparison,
  sql: string,
  type: ListLeafType,
  context: ConditionContext,
): string => {
  const several = operator === 'in' || operator === 'notIn'
  const items = (several ? (value as readonly unknown[]) : [value]).map((item) =>
    addressText(leaf, String(item), context),
  )
  const isNegative = operator === 'not' || operator === 'notIn' || operator === 'notIncludes'
  if (items.length === 0) return isNegative ? '1' : '0'
  const bound = items.map((item) => context.binder.bind(item, ITEM_TYPES[type])).join(', ')
  const held = type === 'IntList' ? `arrayMap(item -> toInt64(item), ${sql})` : sql
  return `${isNegative ? 'NOT ' : ''}hasAny(${held}, [${bound}])`
}

const numberComparison = (
  compare: Comparison,
  sql: string,
  bind: (text: string) => string,
): string =>
  listComparison(compare, sql, bind) ??
  `${sql} ${sqlOperator(compare.operator)} ${bind(String(compare.value))}`

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

const timeComparison = (
  compare: Comparison,
  sql: string,
  { binder, nowMs }: ConditionContext,
): string => {
  const bind = (text: string): string => binder.bind(text, TIME_PARAMETER_TYPE)
  if (isRelativeTime(compare.value)) {
    const value = formatBoundTime(relativeTimeMs(compare.value, nowMs))
    return numberComparison({ ...compare, value }, sql, bind)
  }
  if (compare.operator === 'in' || compare.operator === 'notIn') {
    return numberComparison(compare, `toDateTime64(${sql}, 3, 'UTC')`, bind)
  }
  if (compare.operator !== 'between') return numberComparison(compare, sql, bind)
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
  const equality =
    operator === 'is' || operator === 'not' || operator === 'in' || operator === 'notIn'
  const folds = leaf.folds === true && equality
  const sql = folds ? foldedSql(column) : column
  const adapt = (value: unknown): string =>
    folds ? foldText(String(value)) : addressText(leaf, String(value), context)
  const { binder } = context
  if (operator === 'in' || operator === 'notIn') {
    const items = (compare.value as readonly unknown[]).map(adapt)
    if (items.length === 0) return operator === 'in' ? '0' : '1'
    return `${sql} ${operator === 'in' ? 'IN' : 'NOT IN'} ${binder.bind(items, 'Array(String)')}`
  }
  return stringOperator(operator, sql, (like) =>
    binder.bind(
      like ? adapt(compare.value).replaceAll('\\', '\\\\') : adapt(compare.value),
      'String',
    ),
  )
}

/** `like`: the operand is a pattern in which only `%` and `_` are special. */
const stringOperator = (
  operator: Operator,
  sql: string,
  bind: (like: boolean) => string,
): string => {
  switch (operator) {
    case 'like':
      return `${sql} LIKE ${bind(true)}`
    case 'notLike':
      return `${sql} NOT LIKE ${bind(true)}`
    case 'likeCaseInsensitive':
      return `${sql} ILIKE ${bind(true)}`
    case 'notLikeCaseInsensitive':
      return `${sql} NOT ILIKE ${bind(true)}`
    case 'includes':
      return `position(${sql}, ${bind(false)}) > 0`
    case 'notIncludes':
      return `position(${sql}, ${bind(false)}) = 0`
    case 'includesCaseInsensitive':
      return `positionCaseInsensitiveUTF8(${sql}, ${bind(false)}) > 0`
    case 'notIncludesCaseInsensitive':
      return `positionCaseInsensitiveUTF8(${sql}, ${bind(false)}) = 0`
    case 'startsWith':
      return `startsWith(${sql}, ${bind(false)})`
    case 'endsWith':
      return `endsWith(${sql}, ${bind(false)})`
    case 'startsWithCaseInsensitive':
      return `startsWith(lowerUTF8(${sql}), lowerUTF8(${bind(false)}))`
    default:
      return `${sql} ${sqlOperator(operator)} ${bind(false)}`
  }
}
