import { type FieldNode, GraphQLError } from 'graphql'
import type { Cube, Leaf } from '../../schemas/cubes/types.ts'
import type { CoercedInput } from './conditions.ts'
import { type CubePaths, leafAt } from './cube-paths.ts'
import type { CubeSelection, Interval, IntervalUnit } from './selection.ts'
import { canonicalTimeZone } from './time-zone.ts'

/** Widest bucket of each unit: about a hundred years. */
const MAX_INTERVAL_COUNT: Readonly<Record<IntervalUnit, number>> = {
  seconds: 1_000_000_000,
  minutes: 50_000_000,
  hours: 876_000,
  days: 36_500,
  weeks: 5_200,
  months: 1_200,
  quarters: 400,
  years: 100,
}
/** Deepest row that paging reaches: the engine sorts everything before it. */
const MAX_OFFSET = 1_000_000_000

const integerOr = (given: unknown, fallback: number): number =>
  given === undefined ? fallback : Number(given)

/** An interval argument. Throws `GraphQLError` for a width that no bucket can have, and for a zone that there is not. */
export const parseInterval = (given: CoercedInput, leaf: Leaf, node: FieldNode): Interval => {
  const unit = given.in as IntervalUnit
  const count = integerOr(given.count, 1)
  if (!(count >= 1 && count <= MAX_INTERVAL_COUNT[unit]))
    throw new GraphQLError(
      `'count' of an interval in ${unit} must be 1 to ${MAX_INTERVAL_COUNT[unit]}`,
      {
        nodes: node,
      },
    )
  if (leaf.type === 'Date' && (unit === 'seconds' || unit === 'minutes' || unit === 'hours'))
    throw new GraphQLError(`A date has no interval in ${unit}`, { nodes: node })
  if (given.timezone === undefined) return { unit, count }
  const zone = canonicalTimeZone(String(given.timezone))
  if (zone === undefined)
    throw new GraphQLError(`Unknown time zone '${String(given.timezone)}'`, { nodes: node })
  return zone === 'UTC' ? { unit, count } : { unit, count, zone }
}

const requireNonNegative = (name: string, value: number, node: FieldNode): number => {
  if (value < 0) throw new GraphQLError(`'${name}' must not be negative`, { nodes: node })
  return Math.min(value, MAX_OFFSET)
}

/** The page: 25 rows where nothing is said; more than the maximum is cut. */
export const parseLimit = (
  given: CoercedInput | undefined,
  { limit }: Cube,
  node: FieldNode,
): CubeSelection['limit'] => ({
  count: Math.min(
    requireNonNegative('count', integerOr(given?.count, limit.default), node),
    limit.max,
  ),
  offset: requireNonNegative('offset', integerOr(given?.offset, 0), node),
})

/** Rows kept per value of the paths. */
export const parseLimitBy = (
  given: CoercedInput | undefined,
  paths: CubePaths,
  node: FieldNode,
): CubeSelection['limitBy'] => {
  if (!given) return undefined
  const by = (given.by as readonly string[]).map((path) => ({ path, leaf: leafAt(paths, path) }))
  if (by.length === 0) return undefined
  return {
    by,
    count: requireNonNegative('count', integerOr(given.count, 1), node),
    offset: requireNonNegative('offset', integerOr(given.offset, 0), node),
  }
}
