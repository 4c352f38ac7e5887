import type { LeafType } from '../../schemas/cubes/types.ts'

/** What kind of values an operator compares. */
export type ValueKind = 'text' | 'number' | 'boolean' | 'time' | 'list'

/** What stands behind an operator: a value, any number of them, the first and the last of a period, true or false, a relative time, or the filter of a list's length. */
export type OperandKind = 'value' | 'several' | 'period' | 'flag' | 'ago' | 'length'

/** SQL comparison of two values. */
type ComparisonSign = '=' | '!=' | '<' | '<=' | '>' | '>='

/** One filter operator. */
interface OperatorRow {
  /** Values that have it. */
  readonly of: readonly ValueKind[]
  readonly operand: OperandKind
  /** The operator of which it is another name, or a form with another operand. */
  readonly sameAs?: string
  readonly sign?: ComparisonSign
  /** SQL over a text, from the column and the bound operand. */
  readonly sql?: (column: string, operand: string) => string
  /** True for what keeps the values that do not match: of several fields none may match then. */
  readonly negative?: true
  /** The operand is a pattern in which only `%` and `_` are special. */
  readonly pattern?: true
  readonly about: string
}

/** A row is all that an operator needs: the schema, its checks, the statements and the page of operators follow from it. */
const OPERATORS = {
  is: {
    of: ['text', 'boolean', 'time', 'list'],
    operand: 'value',
    sign: '=',
    about: 'equals; a list holds the item',
  },
  eq: { of: ['number', 'boolean'], operand: 'value', sameAs: 'is', about: 'equals' },
  not: {
    of: ['text', 'time', 'list'],
    operand: 'value',
    sign: '!=',
    negative: true,
    about: 'differs; a list does not hold the item',
  },
  ne: { of: ['number'], operand: 'value', sameAs: 'not', about: 'differs' },
  gt: { of: ['number'], operand: 'value', sign: '>', about: 'greater' },
  ge: { of: ['number'], operand: 'value', sign: '>=', about: 'greater or equal' },
  gte: { of: ['number'], operand: 'value', sameAs: 'ge', about: 'greater or equal' },
  lt: { of: ['number'], operand: 'value', sign: '<', about: 'less' },
  le: { of: ['number'], operand: 'value', sign: '<=', about: 'less or equal' },
  lte: { of: ['number'], operand: 'value', sameAs: 'le', about: 'less or equal' },
  like: {
    of: ['text'],
    operand: 'value',
    sql: (column, operand) => `${column} LIKE ${operand}`,
    pattern: true,
    about: 'matches a pattern: `%` is any text, `_` any character',
  },
  notLike: {
    of: ['text'],
    operand: 'value',
    sql: (column, operand) => `${column} NOT LIKE ${operand}`,
    negative: true,
    pattern: true,
    about: 'does not match a pattern',
  },
  includes: {
    of: ['text', 'list'],
    operand: 'value',
    sql: (column, operand) => `position(${column}, ${operand}) > 0`,
    about: 'holds the text, or the item',
  },
  notIncludes: {
    of: ['text', 'list'],
    operand: 'value',
    sql: (column, operand) => `position(${column}, ${operand}) = 0`,
    negative: true,
    about: 'does not hold the text, or the item',
  },
  excludes: {
    of: ['list'],
    operand: 'value',
    sameAs: 'notIncludes',
    about: 'does not hold the item',
  },
  startsWith: {
    of: ['text'],
    operand: 'value',
    sql: (column, operand) => `startsWith(${column}, ${operand})`,
    about: 'begins with the text',
  },
  endsWith: {
    of: ['text'],
    operand: 'value',
    sql: (column, operand) => `endsWith(${column}, ${operand})`,
    about: 'ends with the text',
  },
  likeCaseInsensitive: {
    of: ['text'],
    operand: 'value',
    sql: (column, operand) => `${column} ILIKE ${operand}`,
    pattern: true,
    about: 'matches a pattern in either case',
  },
  notLikeCaseInsensitive: {
    of: ['text'],
    operand: 'value',
    sql: (column, operand) => `${column} NOT ILIKE ${operand}`,
    negative: true,
    pattern: true,
    about: 'does not match a pattern in either case',
  },
  includesCaseInsensitive: {
    of: ['text'],
    operand: 'value',
    sql: (column, operand) => `positionCaseInsensitiveUTF8(${column}, ${operand}) > 0`,
    about: 'holds the text in either case',
  },
  notIncludesCaseInsensitive: {
    of: ['text'],
    operand: 'value',
    sql: (column, operand) => `positionCaseInsensitiveUTF8(${column}, ${operand}) = 0`,
    negative: true,
    about: 'does not hold the text in either case',
  },
  startsWithCaseInsensitive: {
    of: ['text'],
    operand: 'value',
    sql: (column, operand) => `startsWith(lowerUTF8(${column}), lowerUTF8(${operand}))`,
    about: 'begins with the text in either case',
  },
  since: { of: ['time'], operand: 'value', sign: '>=', about: 'at that time or later' },
  till: { of: ['time'], operand: 'value', sign: '<=', about: 'at that time or earlier' },
  after: { of: ['time'], operand: 'value', sign: '>', about: 'later' },
  before: { of: ['time'], operand: 'value', sign: '<', about: 'earlier' },
  between: {
    of: ['time'],
    operand: 'period',
    about: 'from a first to a last time, both included; one time is both',
  },
  in: {
    of: ['text', 'number', 'time', 'list'],
    operand: 'several',
    about: 'equals one of several; a list holds one of them',
  },
  notIn: {
    of: ['text', 'number', 'time', 'list'],
    operand: 'several',
    negative: true,
    about: 'equals none of several; a list holds none of them',
  },
  isNull: {
    of: ['text', 'number', 'boolean', 'time'],
    operand: 'flag',
    about: '`true`: the value is null; `false`: it is not',
  },
  since_relative: { of: ['time'], operand: 'ago', sameAs: 'since', about: 'so long ago or later' },
  till_relative: { of: ['time'], operand: 'ago', sameAs: 'till', about: 'so long ago or earlier' },
  after_relative: {
    of: ['time'],
    operand: 'ago',
    sameAs: 'after',
    about: 'later than so long ago',
  },
  before_relative: {
    of: ['time'],
    operand: 'ago',
    sameAs: 'before',
    about: 'earlier than so long ago',
  },
  length: {
    of: ['list'],
    operand: 'length',
    about: 'operators of a number over the count of items',
  },
} as const satisfies Readonly<Record<string, OperatorRow>>

type OperatorName = keyof typeof OPERATORS

/** Operators that conditions are made of: of several names or forms one, and none that stands for a condition of its own. */
export type Operator = Exclude<
  {
    [Name in OperatorName]: (typeof OPERATORS)[Name] extends { readonly sameAs: string }
      ? never
      : Name
  }[OperatorName],
  'length'
>

/** An operator with its name. */
type NamedOperator = OperatorRow & { readonly name: string }

/** Every operator of filters with its name, in the order of the schema. */
export const OPERATOR_ROWS: readonly NamedOperator[] = Object.entries<OperatorRow>(OPERATORS).map(
  ([name, row]) => ({ name, ...row }),
)
const ROW_BY_NAME: ReadonlyMap<string, OperatorRow> = new Map(
  OPERATOR_ROWS.map((row) => [row.name, row]),
)

/** The row of an operator by any of its names. Throws for a name that the schema does not have. */
export const operatorRow = (name: string): OperatorRow => {
  const row = ROW_BY_NAME.get(name)
  if (row === undefined) throw new Error(`document was not validated: ${name}`)
  return row
}

/** The one name of an operator. */
export const canonicalOperator = (name: string): Operator =>
  (operatorRow(name).sameAs ?? name) as Operator

/** True where the operand is a pattern; false for a name that is not an operator. */
export const takesPattern = (name: string): boolean => ROW_BY_NAME.get(name)?.pattern === true

/** SQL of an operator that compares two values. */
export const comparisonSign = (operator: Operator): ComparisonSign => {
  const { sign } = operatorRow(operator)
  if (sign === undefined) throw new Error(`${operator} does not compare two values`)
  return sign
}

const KIND_BY_LEAF: Readonly<Record<LeafType, ValueKind>> = {
  String: 'text',
  Int: 'number',
  Float: 'number',
  Boolean: 'boolean',
  DateTime: 'time',
  Date: 'time',
  StringList: 'list',
  IntList: 'list',
  FloatList: 'list',
}

/** Kind of a leaf's values. */
export const valueKind = (type: LeafType): ValueKind => KIND_BY_LEAF[type]

/** Operators of a kind of values, in the order of the schema. */
export const operatorsOf = (kind: ValueKind): readonly NamedOperator[] =>
  OPERATOR_ROWS.filter(({ of }) => of.includes(kind))

/** The operator of times that compares as one of numbers does; undefined for other words. */
export const timeOperatorFor = (name: string): string | undefined => {
  const row = operatorsOf('number').find((each) => each.name === name)
  if (row === undefined || row.of.includes('time')) return undefined
  const { sign } = operatorRow(row.sameAs ?? name)
  return operatorsOf('time').find((each) => each.sign !== undefined && each.sign === sign)?.name
}

/** Comparisons of a metric's value with a number, in the order of the schema. */
export const metricOperators = (): readonly string[] => {
  const names = operatorsOf('number').flatMap(({ name, operand }) =>
    operand === 'value' ? [name] : [],
  )
  const isEquality = (name: string): boolean =>
    ['=', '!='].includes(comparisonSign(canonicalOperator(name)))
  return [...names.filter((name) => !isEquality(name)), ...names.filter(isEquality)]
}
