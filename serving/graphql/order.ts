import { type FieldNode, GraphQLError, Kind, type ValueNode } from 'graphql'
import type { Cube } from '../../schemas/cubes/types.ts'
import { leafAt, type Paths } from './catalogue.ts'
import { referencesOf } from './expression.ts'
import type { OrderKey, ValueField } from './selection.ts'

const underscored = (path: string): string => path.replaceAll('.', '_')

/** The path with its last step replaced by the response key: `Block_Bucket` for `Bucket: Time(…)`. */
const aliased = (path: string, key: string): string =>
  underscored([...path.split('.').slice(0, -1), key].join('.'))

/** Every name under which a field of a record can be ordered by or calculated with. */
const namesOf = (field: ValueField): readonly string[] => {
  switch (field.kind) {
    case 'metric': {
      const path = field.path ? underscored(field.path) : undefined
      return [field.key, field.metric, ...(path ? [`${path}_${field.metric}`] : [])]
    }
    case 'calculate':
      return [field.key, 'calculate']
    case 'pick': {
      const suffix = field.greatest ? 'maximum' : 'minimum'
      const path = underscored(field.path)
      return [`${path}_${suffix}`, aliased(field.path, field.key), field.key]
    }
    case 'dimension':
      return [aliased(field.path, field.key), underscored(field.path), field.key]
  }
}

/** The field that a name means: keys and paths first, then the name of a metric. */
export const fieldNamed = (name: string, fields: readonly ValueField[]): ValueField | undefined =>
  fields.find((field) => field.key === name && field.kind !== 'dimension') ??
  fields.find((field) => namesOf(field).includes(name))

const stringOf = (node: ValueNode): string =>
  node.kind === Kind.STRING || node.kind === Kind.ENUM ? node.value : ''

const MAX_LISTED = 20

const byField = (
  name: string,
  descending: boolean,
  paths: Paths,
  fields: readonly ValueField[],
  at: ValueNode,
): OrderKey => {
  const field = fieldNamed(name, fields)
  if (field) return { field, descending }
  const path = [...paths.keys()].find((candidate) => underscored(candidate) === name)
  if (path) return { path, leaf: leafAt(paths, path), descending }
  const candidates = [...new Set(fields.flatMap(namesOf))].slice(0, MAX_LISTED)
  const known = candidates.length > 0 ? `: use one of ${candidates.join(', ')}` : ''
  throw new GraphQLError(`Cannot order by an unknown field${known}`, { nodes: at })
}

/** The order of a cube selection, keys as written; the cube's own where none is given. */
export const orderOf = (
  node: FieldNode,
  paths: Paths,
  fields: readonly ValueField[],
  cube: Cube,
): readonly OrderKey[] => {
  const given = node.arguments?.find(({ name }) => name.value === 'orderBy')?.value
  const items = given ? (given.kind === Kind.LIST ? given.values : [given]) : []
  const keys = items.flatMap((item) =>
    (item.kind === Kind.OBJECT ? item.fields : []).map(({ name, value }): OrderKey => {
      const descending = name.value.startsWith('descending')
      const text = stringOf(value)
      if (name.value.endsWith('ByField')) return byField(text, descending, paths, fields, value)
      const path = [...paths.keys()].find((candidate) => underscored(candidate) === text) ?? text
      return { path, leaf: leafAt(paths, path), descending }
    }),
  )
  if (keys.length > 0) return keys
  return [{ path: cube.newest, leaf: leafAt(paths, cube.newest), descending: true }]
}

/** Terms that the calculations of one record may have once they are written out. */
const MAX_TERMS = 2_000

/** Checks that every name in a `calculate` is there and none stands on itself. Throws `GraphQLError`. */
export const checkReferences = (fields: readonly ValueField[], node: FieldNode): void => {
  const terms = new Map<ValueField, number>()
  const open = new Set<ValueField>()
  const fail = (message: string): never => {
    throw new GraphQLError(message, { nodes: node })
  }
  const visit = (field: ValueField): number => {
    if (field.kind !== 'calculate') return 1
    const known = terms.get(field)
    if (known !== undefined) return known
    if (open.has(field)) fail(`'${field.key}' is calculated from itself`)
    open.add(field)
    let sum = 1
    for (const name of referencesOf(field.expression)) {
      const target = fieldNamed(name, fields)
      sum += target ? visit(target) : fail(`'$${name}' names no field of the record`)
    }
    if (sum > MAX_TERMS) fail(`'${field.key}' has more than ${MAX_TERMS} terms`)
    open.delete(field)
    terms.set(field, sum)
    return sum
  }
  for (const field of fields) visit(field)
}
