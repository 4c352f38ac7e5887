import type { Leaf } from '../../schemas/cubes/types.ts'
import type { Value } from './metric-cases.ts'

/** A filter of one leaf, and what it keeps of values that are not null. */
export interface OperatorCase {
  readonly operator: string
  readonly text: string
  readonly keep: (value: Value | readonly Value[]) => boolean
}

const scalarCases = (
  operators: Readonly<Record<string, (value: Value, operand: Value) => boolean>>,
  operand: Value,
): readonly OperatorCase[] =>
  Object.entries(operators).map(([operator, holds]) => ({
    operator,
    text: `${operator}: ${JSON.stringify(operand)}`,
    keep: (value) => holds(value as Value, operand),
  }))

const listCases = (
  operand: Value,
  other: Value,
  holds: (value: Value | readonly Value[], operand: Value) => boolean,
): readonly OperatorCase[] => {
  const list = JSON.stringify([operand, other])
  const either = (value: Value | readonly Value[]): boolean =>
    holds(value, operand) || holds(value, other)
  return [
    { operator: 'in', text: `in: ${list}`, keep: either },
    { operator: 'notIn', text: `notIn: ${list}`, keep: (value) => !either(value) },
  ]
}

const NUMBERS = {
  eq: (value: Value, operand: Value) => value === operand,
  ne: (value: Value, operand: Value) => value !== operand,
  gt: (value: Value, operand: Value) => Number(value) > Number(operand),
  ge: (value: Value, operand: Value) => Number(value) >= Number(operand),
  gte: (value: Value, operand: Value) => Number(value) >= Number(operand),
  lt: (value: Value, operand: Value) => Number(value) < Number(operand),
  le: (value: Value, operand: Value) => Number(value) <= Number(operand),
  lte: (value: Value, operand: Value) => Number(value) <= Number(operand),
} as const
const timeOf = (value: Value): number => Date.parse(String(value))
const TIMES = {
  is: (value: Value, operand: Value) => timeOf(value) === timeOf(operand),
  not: (value: Value, operand: Value) => timeOf(value) !== timeOf(operand),
  since: (value: Value, operand: Value) => timeOf(value) >= timeOf(operand),
  till: (value: Value, operand: Value) => timeOf(value) <= timeOf(operand),
  after: (value: Value, operand: Value) => timeOf(value) > timeOf(operand),
  before: (value: Value, operand: Value) => timeOf(value) < timeOf(operand),
} as const
const BOOLEANS = {
  is: (value: Value, operand: Value) => value === operand,
  eq: (value: Value, operand: Value) => value === operand,
} as const

const folded = (text: Value): string => String(text).replace(/[_ ]/g, '').toLowerCase()

const textCases = (leaf: Leaf, operand: string, other: string): readonly OperatorCase[] => {
  const equal = (value: unknown, to: string): boolean =>
    leaf.folds ? folded(value as Value) === folded(to) : value === to
  const [head, tail] = [operand.slice(0, 3), operand.slice(-2)]
  const upper = leaf.address ? operand : operand.toUpperCase()
  const lower = (value: unknown): string => String(value).toLowerCase()
  const one = (operator: string, text: string, keep: (value: string) => boolean): OperatorCase => ({
    operator,
    text: `${operator}: ${JSON.stringify(text)}`,
    keep: (value) => keep(String(value)),
  })
  const isLike = (value: string): boolean => value.startsWith(head) && value.endsWith(tail)
  const isLikely = (value: string): boolean => lower(value).startsWith(lower(head))
  const pattern = `${head}%${tail}`
  return [
    one('is', operand, (value) => equal(value, operand)),
    one('not', operand, (value) => !equal(value, operand)),
    ...listCases(operand, other, (value, to) => equal(value, String(to))),
    one('like', pattern, (value) => isLike(value) && value.length >= head.length + tail.length),
    one(
      'notLike',
      pattern,
      (value) => !(isLike(value) && value.length >= head.length + tail.length),
    ),
    one('likeCaseInsensitive', `${upper.slice(0, 3)}%`, isLikely),
    one('notLikeCaseInsensitive', `${upper.slice(0, 3)}%`, (value) => !isLikely(value)),
    one('includes', tail, (value) => value.includes(tail)),
    one('notIncludes', tail, (value) => !value.includes(tail)),
    one('includesCaseInsensitive', upper.slice(-2), (value) => lower(value).includes(lower(tail))),
    one(
      'notIncludesCaseInsensitive',
      upper.slice(-2),
      (value) => !lower(value).includes(lower(tail)),
    ),
    one('startsWith', head, (value) => value.startsWith(head)),
    one('endsWith', tail, (value) => value.endsWith(tail)),
    one('startsWithCaseInsensitive', upper.slice(0, 3), isLikely),
  ]
}

const itemCases = (operand: Value, other: Value): readonly OperatorCase[] => {
  const holds = (value: Value | readonly Value[], item: Value): boolean =>
    Array.isArray(value) && value.includes(item)
  const one = (operator: string, positive: boolean): OperatorCase => ({
    operator,
    text: `${operator}: ${JSON.stringify(operand)}`,
    keep: (value) => holds(value, operand) === positive,
  })
  return [
    ...['is', 'includes'].map((operator) => one(operator, true)),
    ...['not', 'notIncludes', 'excludes'].map((operator) => one(operator, false)),
    ...listCases(operand, other, holds),
    {
      operator: 'length',
      text: 'length: {ge: 2}',
      keep: (value) => Array.isArray(value) && value.length >= 2,
    },
  ]
}

/** Every operator of a leaf, with operands taken from its values; a text among them holds no `%` and no `_`. */
export const operatorCases = (
  leaf: Leaf,
  values: readonly (Value | readonly Value[])[],
): readonly OperatorCase[] => {
  const flat = [...new Set(values.flat())].filter((value) => value !== null)
  const usable = flat.filter((value) => typeof value !== 'string' || !/[%_]/.test(value))
  const operand = usable[Math.floor(usable.length / 2)]
  if (operand === undefined) return []
  const other = usable[0] ?? operand
  switch (leaf.type) {
    case 'String':
      return textCases(leaf, String(operand), String(other))
    case 'Int':
    case 'Float':
      return [
        ...scalarCases(NUMBERS, operand),
        ...listCases(operand, other, (value, to) => value === to),
      ]
    case 'DateTime':
    case 'Date':
      return [
        ...scalarCases(TIMES, operand),
        ...listCases(operand, other, (value, to) => value === to),
        {
          operator: 'between',
          text: `between: [${[other, operand]
            .toSorted()
            .map((value) => JSON.stringify(value))
            .join(', ')}]`,
          keep: (value) =>
            timeOf(value as Value) >= Math.min(timeOf(other), timeOf(operand)) &&
            timeOf(value as Value) <= Math.max(timeOf(other), timeOf(operand)),
        },
      ]
    case 'Boolean':
      return scalarCases(BOOLEANS, operand)
    default:
      return itemCases(operand, other)
  }
}
