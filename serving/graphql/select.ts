import {
  type ArgumentNode,
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLObjectType,
  getArgumentValues,
  getNamedType,
  Kind,
  type OperationDefinitionNode,
} from 'graphql'
import type { Cube, GroupName } from '../../schemas/cubes/types.ts'
import { isLeaf, isTwoShapes, type Leaf, type Tree } from '../../schemas/cubes/types.ts'
import { leafAt, type Paths, pathsOf } from './catalogue.ts'
import { parseExpression } from './expression.ts'
import type { QueryLimits } from './limits.ts'
import { FLAT_ROOT, isSkipped, LEAF_FORM } from './normalize.ts'
import { checkReferences, namedFields, orderOf } from './order.ts'
import { intervalOf, limitByOf, limitOf } from './paging.ts'
import { type Catalogue, chainsOf } from './schema.ts'
import type {
  Condition,
  CubeSelection,
  DimensionField,
  Field,
  Having,
  MetricName,
  ValueField,
} from './selection.ts'
import { valueFields } from './selection.ts'
import { conditionOf, type Given, names, selectorCondition } from './where.ts'
import type { Work } from './work.ts'

/** One field of a group: a cube, or its type name. */
export type GroupMember =
  | { readonly key: string; readonly selection: CubeSelection; readonly node: FieldNode }
  | { readonly key: string; readonly name: string }

/** One root field of the answer. */
export type RootMember =
  | { readonly kind: 'group'; readonly key: string; readonly members: readonly GroupMember[] }
  | { readonly kind: 'flat'; readonly key: string; readonly member: GroupMember }
  | { readonly kind: 'typename'; readonly key: string; readonly name: string }
  | { readonly kind: 'introspection'; readonly key: string; readonly node: FieldNode }

const keyOf = (node: FieldNode): string => node.alias?.value ?? node.name.value
const taken = (node: FieldNode): readonly FieldNode[] =>
  (node.selectionSet?.selections ?? []).filter(
    (inner): inner is FieldNode => inner.kind === Kind.FIELD && !isSkipped(inner),
  )

const definitionOf = (type: GraphQLObjectType, node: FieldNode): GraphQLField<unknown, unknown> => {
  const definition = type.getFields()[node.name.value]
  if (!definition) throw new Error(`the document was not checked: ${node.name.value}`)
  return definition
}

interface Bounds {
  readonly limits: QueryLimits
  readonly work: Work
  readonly coerced: Coerced
}

/** Values of arguments by the list that fragments share. */
type Coerced = WeakMap<readonly ArgumentNode[], Given>

const argumentsOf = (
  definition: GraphQLField<unknown, unknown>,
  node: FieldNode,
  coerced: Coerced,
): Given => {
  const known = node.arguments && coerced.get(node.arguments)
  if (known) return known
  const values = getArgumentValues(definition, node) as Given
  if (node.arguments) coerced.set(node.arguments, values)
  return values
}

interface Record extends Bounds {
  readonly cube: Cube
  readonly paths: Paths
}

const havingOf = (given: Given | undefined): readonly Having[] =>
  Object.entries(given ?? {}).map(([name, value]) => ({
    operator: (name === 'gte' ? 'ge' : name === 'lte' ? 'le' : name) as Having['operator'],
    value: String(value),
  }))

/** Reading an expression costs more than reading other text. */
const CHARACTERS_PER_STEP = 4

const metricOf = (node: FieldNode, args: Given, record: Record): ValueField => {
  const key = keyOf(node)
  const having = havingOf(args.selectWhere as Given | undefined)
  const name = node.name.value
  if (name === 'calculate') {
    const text = String(args.expression)
    record.work.spend(Math.ceil(text.length / CHARACTERS_PER_STEP), node)
    const expression = parseExpression(text, record.limits.maxExpression)
    return { kind: 'calculate', key, expression, having }
  }
  const path = args.of ?? args.distinct
  const where = args.if ? conditionOf(record.cube, args.if as Given) : undefined
  const level = name === 'quantile' ? String(args.level ?? '0.5') : undefined
  if (level !== undefined && !(Number(level) >= 0 && Number(level) <= 1))
    throw new GraphQLError(`'level' of quantile must be between 0 and 1`, { nodes: node })
  return {
    kind: 'metric',
    key,
    metric: (name === 'count' && path !== undefined ? 'uniq' : name) as MetricName,
    ...(path !== undefined && { path: String(path), leaf: leafAt(record.paths, String(path)) }),
    ...(where && { where }),
    ...(level !== undefined && { level }),
    having,
  }
}

const leafField = (
  node: FieldNode,
  path: string,
  leaf: Leaf,
  args: Given,
  record: Record,
): ValueField => {
  const key = keyOf(node)
  const { maximum, minimum } = args
  if (maximum !== undefined || minimum !== undefined) {
    if (args.interval !== undefined || (maximum !== undefined && minimum !== undefined))
      throw new GraphQLError(`'${key}' takes one of maximum, minimum and interval`, { nodes: node })
    const by = leafAt(record.paths, String(maximum ?? minimum))
    return { kind: 'pick', key, path, leaf, by, greatest: maximum !== undefined }
  }
  const interval = args.interval ? intervalOf(args.interval as Given, leaf, node) : undefined
  return { kind: 'dimension', key, path, leaf, ...(interval && { interval }) }
}

const fieldsOf = (
  node: FieldNode,
  type: GraphQLObjectType,
  tree: Tree,
  prefix: string,
  record: Record,
): readonly Field[] =>
  taken(node).map((inner): Field => {
    const name = inner.name.value
    const key = keyOf(inner)
    if (name === '__typename') return { kind: 'typename', key, name: type.name }
    const definition = definitionOf(type, inner)
    const args = argumentsOf(definition, inner, record.coerced)
    const target = tree[name]
    if (!target) return metricOf(inner, args, record)
    const path = prefix === '' ? name : `${prefix}.${name}`
    if (isLeaf(target)) return leafField(inner, path, target, args, record)
    const innerType = getNamedType(definition.type) as GraphQLObjectType
    if (!isTwoShapes(target))
      return { kind: 'group', key, fields: fieldsOf(inner, innerType, target, path, record) }
    const [first] = taken(inner)
    if (first?.alias?.value === LEAF_FORM)
      return leafField(inner, path, leafAt(record.paths, path), args, record)
    const fields = fieldsOf(inner, innerType, target.tree, path, record)
    return { kind: 'group', key, fields: fields.map((field) => withArguments(field, args, inner)) }
  })

/** Arguments of a field with two shapes hold for its leaves. */
const withArguments = (field: Field, args: Given, node: FieldNode): Field => {
  if (field.kind !== 'dimension' || !args.interval || field.interval) return field
  return { ...field, interval: intervalOf(args.interval as Given, field.leaf, node) }
}

/** On cubes of buckets one interval holds for the whole record. */
const spread = (fields: readonly Field[], record: Record): readonly Field[] => {
  if (!record.cube.rowKey) return fields
  const interval = valueFields(fields).find(
    (field): field is DimensionField => field.kind === 'dimension' && field.interval !== undefined,
  )?.interval
  if (!interval) return fields
  const widen = (field: Field): Field => {
    if (field.kind === 'group') return { ...field, fields: field.fields.map(widen) }
    if (field.kind !== 'dimension' || !field.leaf.bucket || field.interval) return field
    return { ...field, interval }
  }
  return fields.map(widen)
}

const whereOf = (record: Record, args: Given): Condition => {
  const { cube, paths } = record
  const where = conditionOf(cube, args.where as Given | undefined)
  const selectors = Object.entries(cube.selectors).flatMap(([name, targets]) =>
    args[name] ? [selectorCondition(paths, targets, args[name] as Given)] : [],
  )
  const defaults = Object.entries(cube.defaults)
    .filter(([path]) => !names(where, path))
    .map(
      ([path, value]): Condition => ({
        kind: 'compare',
        path,
        leaf: leafAt(paths, path),
        operator: 'is',
        value,
      }),
    )
  return { kind: 'all', of: [where, ...selectors, ...defaults] }
}

interface GroupFacts {
  readonly chains: readonly string[]
  readonly dataset: CubeSelection['dataset']
  readonly aggregates: CubeSelection['aggregates']
}

const selectionOf = (
  node: FieldNode,
  type: GraphQLObjectType,
  cube: Cube,
  group: GroupFacts,
  bounds: Bounds,
): CubeSelection => {
  const definition = definitionOf(type, node)
  const args = argumentsOf(definition, node, bounds.coerced)
  const record: Record = { cube, paths: pathsOf(cube), ...bounds }
  const recordType = getNamedType(definition.type) as GraphQLObjectType
  const fields = spread(fieldsOf(node, recordType, cube.dimensions, '', record), record)
  const values = valueFields(fields)
  const named = namedFields(values)
  bounds.work.spend(checkReferences(values, named, node), node)
  const limitBy = limitByOf(args.limitBy as Given | undefined, record.paths, node)
  return {
    cube,
    ...group,
    fields,
    where: whereOf(record, args),
    order: orderOf(node, record.paths, named, cube),
    limit: limitOf(args.limit as Given | undefined, cube, node),
    ...(limitBy && { limitBy }),
  }
}

const membersOf = (
  node: FieldNode,
  type: GraphQLObjectType,
  catalogue: Catalogue,
  bounds: Bounds,
): readonly GroupMember[] => {
  const definition = definitionOf(type, node)
  const args = argumentsOf(definition, node, bounds.coerced)
  const groupType = getNamedType(definition.type) as GraphQLObjectType
  const network = typeof args.network === 'string' ? args.network : undefined
  const group: GroupFacts = {
    chains: chainsOf(node.name.value as GroupName, network, catalogue.chains),
    dataset: (args.dataset ?? 'combined') as GroupFacts['dataset'],
    aggregates: (args.aggregates ?? 'yes') as GroupFacts['aggregates'],
  }
  return taken(node).map((inner): GroupMember => {
    const key = keyOf(inner)
    const cube = catalogue.cubes.get(inner.name.value)
    if (!cube) return { key, name: groupType.name }
    return { key, node: inner, selection: selectionOf(inner, groupType, cube, group, bounds) }
  })
}

/** Reads a checked operation as what is asked of each cube. Pure; throws `GraphQLError` for values that no rule can check. */
export const select = (
  operation: OperationDefinitionNode,
  catalogue: Catalogue,
  limits: QueryLimits,
  work: Work,
): readonly RootMember[] => {
  const root = catalogue.schema.getQueryType()
  if (!root) throw new Error('the schema has no query type')
  const coerced: Coerced = new WeakMap()
  const nodes = operation.selectionSet.selections.filter(
    (node): node is FieldNode => node.kind === Kind.FIELD && !isSkipped(node),
  )
  const members = nodes.flatMap((node): readonly RootMember[] => {
    const key = keyOf(node)
    if (node.name.value === '__typename') return [{ kind: 'typename', key, name: root.name }]
    if (node.name.value.startsWith('__')) return [{ kind: 'introspection', key, node }]
    const inner = membersOf(node, root, catalogue, { limits, work, coerced })
    if (!key.startsWith(FLAT_ROOT)) return [{ kind: 'group', key, members: inner }]
    return inner.map((member) => ({ kind: 'flat', key: member.key, member }))
  })
  const cubes = members.flatMap((member) =>
    member.kind === 'group' ? member.members : member.kind === 'flat' ? [member.member] : [],
  )
  if (cubes.length > limits.maxCubes)
    throw new GraphQLError(`The document selects more than ${limits.maxCubes} cubes`)
  return members
}
