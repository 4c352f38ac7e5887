import { type FieldNode, GraphQLError } from 'graphql'
import type { Cube, Leaf } from '../../schemas/cubes/types.ts'
import { leafAt, type Paths } from './catalogue.ts'
import type { CubeSelection, Interval, IntervalUnit } from './selection.ts'
import type { Given } from './where.ts'

/** Widest bucket of each unit: about a hundred years. */
const MAX_COUNT: Readonly<Record<IntervalUnit, number>> = {
  seconds: 1_000_000_000,
  minutes: 50_000_000,
  hours: 876_000,
  days: 36_500,
  weeks: 5_200,
  months: 1_200,
  years: 100,
}
/** Deepest row that paging reaches: the engine sorts everything before it. */
const MAX_OFFSET = 1_000_000_000

const whole = (given: unknown, fallback: number): number =>
  given === undefined ? fallback : Number(given)

/** An interval argument. Throws `GraphQLError` for a width that no bucket can have. */
export const intervalOf = (given: Given, leaf: Leaf, node: FieldNode): Interval => {
  const unit = given.in as IntervalUnit
  const count = whole(given.count, 1)
  if (!(count >= 1 && count <= MAX_COUNT[unit]))
    throw new GraphQLError(`'count' of an interval in ${unit} must be 1 to ${MAX_COUNT[unit]}`, {
      nodes: node,
    })
  if (leaf.type === 'Date' && (unit === 'seconds' || unit === 'minutes' || unit === 'hours'))
    throw new GraphQLError(`A date has no interval in ${unit}`, { nodes: node })
  return { unit, count }
}

const notNegative = (name: string, value: number, node: FieldNode): number => {
  if (value < 0) throw new GraphQLError(`'${name}' must not be negative`, { nodes: node })
  return Math.min(value, MAX_OFFSET)
}

/** The page: 25 rows where nothing is said; more than the maximum is cut. */
export const limitOf = (
  given: Given | undefined,
  { limit }: Cube,
  node: FieldNode,
): CubeSelection['limit'] => ({
  count: Math.min(notNegative('count', whole(given?.count, limit.default), node), limit.max),
  offset: notNegative('offset', whole(given?.offset, 0), node),
})

/** Rows kept per value of the paths. */
export const limitByOf = (
  given: Given | undefined,
  paths: Paths,
  node: FieldNode,
): CubeSelection['limitBy'] => {
  if (!given) return undefined
  const by = (given.by as readonly string[]).map((path) => ({ path, leaf: leafAt(paths, path) }))
  if (by.length === 0) return undefined
  return {
    by,
    count: notNegative('count', whole(given.count, 1), node),
    offset: notNegative('offset', whole(given.offset, 0), node),
  }
}
