import type { Cube, Leaf, Tree } from '../../schemas/cubes/types.ts'
import { isLeaf, isTwoShapes } from '../../schemas/cubes/types.ts'
import { leafAt, type Paths } from './catalogue.ts'
import type { Condition, Operator } from './selection.ts'

/** A filter argument after coercion. */
export type Given = Readonly<Record<string, unknown>>

const CANONICAL: Readonly<Record<string, Operator>> = { gte: 'ge', lte: 'le', eq: 'is', ne: 'not' }
const NEGATIVE: ReadonlySet<Operator> = new Set([
  'not',
  'notIn',
  'notLike',
  'notIncludes',
  'notLikeCaseInsensitive',
  'notIncludesCaseInsensitive',
])

const compare = (path: string, leaf: Leaf, name: string, value: unknown): Condition => ({
  kind: 'compare',
  path,
  leaf,
  operator: CANONICAL[name] ?? (name as Operator),
  value,
})

interface Level {
  readonly tree: Tree
  readonly path: string
  /** Leaf form of a field with two shapes. */
  readonly own?: Leaf
}

const conditionsOf = (given: Given, level: Level): readonly Condition[] =>
  Object.entries(given).flatMap(([name, value]): readonly Condition[] => {
    if (name === 'any') {
      const branches = (value as readonly Given[]).map((branch) => all(conditionsOf(branch, level)))
      return branches.length > 0 ? [{ kind: 'any', of: branches }] : []
    }
    const node = level.tree[name]
    if (!node) return level.own ? [compare(level.path, level.own, name, value)] : []
    const path = level.path === '' ? name : `${level.path}.${name}`
    if (isLeaf(node)) return operatorsOf(path, node, value as Given)
    if (!isTwoShapes(node)) return conditionsOf(value as Given, { tree: node, path })
    const own = node.tree[node.leaf]
    return conditionsOf(value as Given, {
      tree: node.tree,
      path,
      ...(own && isLeaf(own) && { own }),
    })
  })

const operatorsOf = (path: string, leaf: Leaf, given: Given): readonly Condition[] =>
  Object.entries(given).map(([name, value]) => compare(path, leaf, name, value))

const all = (of: readonly Condition[]): Condition => ({ kind: 'all', of })

/** The condition of a `where` or `if` argument. */
export const conditionOf = (cube: Cube, given: Given | undefined): Condition =>
  all(given ? conditionsOf(given, { tree: cube.dimensions, path: '' }) : [])

/** A selector over several paths: either side for positive operators, neither side for negative ones. */
export const selectorCondition = (
  paths: Paths,
  targets: readonly string[],
  given: Given,
): Condition =>
  all(
    Object.entries(given).map(([name, value]): Condition => {
      const of = targets.map((path) => compare(path, leafAt(paths, path), name, value))
      const operator = CANONICAL[name] ?? (name as Operator)
      return { kind: NEGATIVE.has(operator) ? 'all' : 'any', of }
    }),
  )

/** True when a path is named anywhere in a condition. */
export const names = (condition: Condition, path: string): boolean =>
  condition.kind === 'compare'
    ? condition.path === path
    : condition.of.some((inner) => names(inner, path))
