import { type FieldNode, GraphQLError, Kind, type ValueNode } from 'graphql'
import type { Cube } from '../../schemas/cubes/types.ts'
import { type CubeIndex, leafAt, type PathAndLeaf, toUnderscorePath } from './cube-paths.ts'
import { expressionReferences } from './expression.ts'
import type { OrderKey, ValueField } from './selection.ts'

/** The path with its last step replaced by the response key: `Block_Bucket` for `Bucket: Time(…)`. */
const aliasedPath = (path: string, key: string): string =>
  toUnderscorePath([...path.split('.').slice(0, -1), key].join('.'))

/** Every name under which a field of a record can be ordered by or calculated with. */
const fieldNames = (field: ValueField): readonly string[] => {
  switch (field.kind) {
    case 'metric': {
      const path = field.path ? toUnderscorePath(field.path) : undefined
      return [field.key, field.metric, ...(path ? [`${path}_${field.metric}`] : [])]
    }
    case 'calculate':
      return [field.key, 'calculate']
    case 'pick': {
      const suffix = field.greatest ? 'maximum' : 'minimum'
      const path = toUnderscorePath(field.path)
      return [`${path}_${suffix}`, aliasedPath(field.path, field.key), field.key]
    }
    case 'dimension':
      return [aliasedPath(field.path, field.key), toUnderscorePath(field.path), field.key]
  }
}

/** Fields of a record by the names under which they are ordered by and calculated with. */
export type NamedFields = ReadonlyMap<string, ValueField>

/** The field that each name means: keys of what is not a plain dimension first, then every name in the order of the query. */
export const fieldsByName = (fields: readonly ValueField[]): NamedFields => {
  const named = new Map<string, ValueField>()
  const add = (name: string, field: ValueField): void => {
    if (!named.has(name)) named.set(name, field)
  }
  for (const field of fields) if (field.kind !== 'dimension') add(field.key, field)
  for (const field of fields) for (const name of fieldNames(field)) add(name, field)
  return named
}

const textValue = (node: ValueNode): string =>
  node.kind === Kind.STRING || node.kind === Kind.ENUM ? node.value : ''

const MAX_LISTED_FIELDS = 20

const orderByFieldName = (
  name: string,
  descending: boolean,
  paths: ReadonlyMap<string, PathAndLeaf>,
  fields: NamedFields,
  at: ValueNode,
): OrderKey => {
  const field = fields.get(name)
  if (field) return { field, descending }
  const found = paths.get(name)
  if (found) return { ...found, descending }
  const candidates = [...fields.keys()].slice(0, MAX_LISTED_FIELDS)
  const known = candidates.length > 0 ? `: use one of ${candidates.join(', ')}` : ''
  throw new GraphQLError(`Cannot order by an unknown field${known}`, { nodes: at })
}

const MAX_ORDER_KEYS = 50

/** The order of a cube selection, keys as written; the cube's own where none is given. */
export const parseOrderBy = (
  node: FieldNode,
  { paths, orderNames }: CubeIndex,
  fields: NamedFields,
  cube: Cube,
): readonly OrderKey[] => {
  const given = node.arguments?.find(({ name }) => name.value === 'orderBy')?.value
  const items = given ? (given.kind === Kind.LIST ? given.values : [given]) : []
  if (items.length > MAX_ORDER_KEYS)
    throw new GraphQLError(`'orderBy' has more than ${MAX_ORDER_KEYS} keys`, { nodes: node })
  const keys = items.flatMap((item) =>
    (item.kind === Kind.OBJECT ? item.fields : []).map(({ name, value }): OrderKey => {
      const descending = name.value.startsWith('descending')
      const text = textValue(value)
      if (name.value.endsWith('ByField'))
        return orderByFieldName(text, descending, orderNames, fields, value)
      return { ...(orderNames.get(text) ?? { path: text, leaf: leafAt(paths, text) }), descending }
    }),
  )
  if (keys.length > 0) return keys
  return [{ path: cube.newest, leaf: leafAt(paths, cube.newest), descending: true }]
}

/** Terms that one calculation may have once it is written out. */
const MAX_TERMS = 2_000
/** Operators and calls inside each other once it is written out; `a + b + c` has two. The engine reads about 300. */
const MAX_CALCULATE_DEPTH = 100

interface ExpandedSize {
  readonly terms: number
  readonly depth: number
}

/**
 * Checks that every name in a `calculate` is there and none stands on itself; gives the terms of all of them, written out.
 * Throws `GraphQLError`.
 */
export const validateReferences = (
  fields: readonly ValueField[],
  named: NamedFields,
  node: FieldNode,
): number => {
  const known = new Map<ValueField, ExpandedSize>()
  const open = new Set<ValueField>()
  const fail = (message: string): never => {
    throw new GraphQLError(message, { nodes: node })
  }
  const visit = (field: ValueField): ExpandedSize => {
    if (field.kind !== 'calculate') return { terms: 1, depth: 0 }
    const seen = known.get(field)
    if (seen) return seen
    if (open.has(field)) fail(`'${field.key}' is calculated from itself`)
    if (open.size >= MAX_CALCULATE_DEPTH) fail(tooDeepMessage(field.key))
    open.add(field)
    const uses = expressionReferences(field.expression)
    let { depth } = uses
    let terms = 1
    for (const { name, depth: around } of uses.references) {
      const target = named.get(name) ?? fail(`'$${name}' names no field of the record`)
      const inner = visit(target)
      depth = Math.max(depth, around + inner.depth)
      terms += inner.terms
      if (terms > MAX_TERMS) fail(`'${field.key}' has more than ${MAX_TERMS} terms`)
    }
    if (depth > MAX_CALCULATE_DEPTH) fail(tooDeepMessage(field.key))
    open.delete(field)
    const written = { terms, depth }
    known.set(field, written)
    return written
  }
  let all = 0
  for (const field of fields) if (field.kind === 'calculate') all += visit(field).terms
  return all
}

const tooDeepMessage = (key: string): string =>
  `'${key}' has more than ${MAX_CALCULATE_DEPTH} operators inside each other`
