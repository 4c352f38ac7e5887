import { type Cube, isListType, type Leaf } from '../../schemas/cubes/types.ts'
import { cubePaths } from '../../serving/graphql/cube-paths.ts'

/** A leaf by one of the paths that name it. */
export interface NamedLeaf {
  readonly path: string
  readonly leaf: Leaf
}

/** A metric of a leaf, and what it is of the values of a group that are not null. */
export interface MetricCase extends NamedLeaf {
  readonly metric: 'count' | 'uniq' | 'sum' | 'avg' | 'min' | 'max' | 'quantile'
}

/** A value of a record as JSON prints it. */
export type Value = string | number | boolean | null

/** The leaves of a cube, each once, however many paths lead to it. */
export const cubeLeaves = (cube: Cube): readonly NamedLeaf[] => {
  const bySql = new Map<string, NamedLeaf>()
  for (const [path, leaf] of cubePaths(cube)) {
    const key = `${leaf.type} ${leaf.sql}`
    if (!bySql.has(key)) bySql.set(key, { path, leaf })
  }
  return [...bySql.values()]
}

const METRICS_FOR_LISTS = ['count', 'uniq'] as const
const METRICS_FOR_ALL = ['count', 'uniq', 'min', 'max'] as const
const METRICS_FOR_NUMBERS = [...METRICS_FOR_ALL, 'sum', 'avg', 'quantile'] as const

/** Every metric that a leaf has. */
export const leafMetrics = ({ path, leaf }: NamedLeaf): readonly MetricCase[] => {
  const isNumber = leaf.type === 'Int' || leaf.type === 'Float'
  const scalars = isNumber ? METRICS_FOR_NUMBERS : METRICS_FOR_ALL
  const metrics = isListType(leaf.type) ? METRICS_FOR_LISTS : scalars
  return metrics.map((metric) => ({ metric, path, leaf }))
}

/** The path as enums and names of an order write it. */
export const toUnderscorePath = (path: string): string => path.replaceAll('.', '_')

/** The selection of one leaf with its groups around it. */
export const nestedSelection = (path: string): string =>
  path.split('.').reduceRight((inner, name) => (inner ? `${name} { ${inner} }` : name), '')

/** The value of a leaf in a record that selected it; lists as they are. */
export const readPath = (record: unknown, path: string): Value | readonly Value[] =>
  path
    .split('.')
    .reduce<unknown>((inner, name) => (inner as Record<string, unknown>)[name], record) as Value

/** A list as one text, so that equal lists are equal. */
export const textOfList = (value: Value | readonly Value[]): Value =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as Value)

/** The value of a leaf in a record that selected it, a list as one text. */
export const valueAtPath = (record: unknown, path: string): Value =>
  textOfList(readPath(record, path))

const median = (sorted: readonly number[]): number => {
  const at = (sorted.length - 1) / 2
  const [low = 0, high = low] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]]
  return (low + high) / 2
}

const extremeValue = (values: readonly Value[], sign: 1 | -1): Value =>
  values.reduce((best, value) => {
    const less = sign * compareValues(value, best) < 0
    return less ? value : best
  })

/** Order of two values of one type that are not null. */
export const compareValues = (a: Value, b: Value): number => {
  if (a === b || a === null || b === null) return 0
  return a < b ? -1 : 1
}

/** The metric of a group's values, by a loop. */
export const bruteMetric = (metric: MetricCase['metric'], values: readonly Value[]): Value => {
  const known = values.filter((value) => value !== null)
  if (metric === 'count' || metric === 'uniq') return new Set(known).size
  if (known.length === 0) return null
  if (metric === 'min') return extremeValue(known, 1)
  if (metric === 'max') return extremeValue(known, -1)
  const numbers = known.map(Number)
  const sum = numbers.reduce((total, value) => total + value, 0)
  if (metric === 'sum') return sum
  if (metric === 'avg') return sum / numbers.length
  return median([...numbers].sort((a, b) => a - b))
}
