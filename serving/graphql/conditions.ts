import { GraphQLError } from 'graphql'
import type { Cube, Leaf, Tree } from '../../schemas/cubes/types.ts'
import { isLeaf, isLeafOrTree } from '../../schemas/cubes/types.ts'
import { type CubePaths, leafAt } from './cube-paths.ts'
import { canonicalOperator, operatorRow } from './operators.ts'
import { parseRelative } from './relative-time.ts'
import type { Condition } from './selection.ts'

/** A filter argument after coercion. */
export type CoercedInput = Readonly<Record<string, unknown>>

const comparison = (path: string, leaf: Leaf, name: string, value: unknown): Condition => {
  const { operand } = operatorRow(name)
  if (operand === 'length')
    return allOf(parseOperators(path, lengthLeaf(leaf), value as CoercedInput))
  if (operand === 'period') checkPeriod(path, name, value as readonly unknown[])
  return {
    kind: 'compare',
    path,
    leaf,
    operator: canonicalOperator(name),
    value: operand === 'ago' ? parseRelative(value as CoercedInput) : value,
  }
}

const checkPeriod = (path: string, name: string, { length }: readonly unknown[]): void => {
  if (length === 1 || length === 2) return
  throw new GraphQLError(`'${name}' of ${path} takes a first and a last time, not ${length}`)
}

const lengthLeaf = ({ sql, about, ...rest }: Leaf): Leaf => ({
  sql: `length(${sql})`,
  type: 'Int',
  about,
  ...(rest.needs && { needs: rest.needs }),
})

interface FilterLevel {
  readonly tree: Tree
  readonly path: string
  /** Leaf form of a field with two shapes. */
  readonly own?: Leaf
}

const parseConditions = (given: CoercedInput, level: FilterLevel): readonly Condition[] =>
  Object.entries(given).flatMap(([name, value]): readonly Condition[] => {
    if (name === 'any') {
      const branches = (value as readonly CoercedInput[]).map((branch) =>
        allOf(parseConditions(branch, level)),
      )
      return branches.length > 0 ? [{ kind: 'any', of: branches }] : []
    }
    const node = level.tree[name]
    if (!node) return level.own ? [comparison(level.path, level.own, name, value)] : []
    const path = level.path === '' ? name : `${level.path}.${name}`
    if (isLeaf(node)) return parseOperators(path, node, value as CoercedInput)
    if (!isLeafOrTree(node)) return parseConditions(value as CoercedInput, { tree: node, path })
    const own = node.tree[node.leaf]
    return parseConditions(value as CoercedInput, {
      tree: node.tree,
      path,
      ...(own && isLeaf(own) && { own }),
    })
  })

const parseOperators = (path: string, leaf: Leaf, given: CoercedInput): readonly Condition[] =>
  Object.entries(given).map(([name, value]) => comparison(path, leaf, name, value))

const allOf = (of: readonly Condition[]): Condition => ({ kind: 'all', of })

/** The condition of a `where` or `if` argument. Throws `GraphQLError` for a period that is not one or two times. */
export const parseCondition = (cube: Cube, given: CoercedInput | undefined): Condition =>
  allOf(given ? parseConditions(given, { tree: cube.dimensions, path: '' }) : [])

/** A selector over several paths: either side for positive operators, neither side for negative ones. */
export const selectorCondition = (
  paths: CubePaths,
  targets: readonly string[],
  given: CoercedInput,
): Condition =>
  allOf(
    Object.entries(given).map(([name, value]): Condition => {
      const of = targets.map((path) => comparison(path, leafAt(paths, path), name, value))
      return { kind: operatorRow(canonicalOperator(name)).negative ? 'all' : 'any', of }
    }),
  )

/** True when a path is named anywhere in a condition. */
export const mentionsPath = (condition: Condition, path: string): boolean =>
  condition.kind === 'compare'
    ? condition.path === path
    : condition.of.some((inner) => mentionsPath(inner, path))
