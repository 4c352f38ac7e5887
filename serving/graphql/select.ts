import {
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLObjectType,
  getArgumentValues,
  getNamedType,
  Kind,
  type OperationDefinitionNode,
} from 'graphql'
import type { Cube, CubeGroup } from '../../schemas/cubes/types.ts'
import { isLeaf, isLeafOrTree, type Leaf, type Tree } from '../../schemas/cubes/types.ts'
import { type CoercedInput, mentionsPath, parseCondition, selectorCondition } from './conditions.ts'
import { type CubeIndex, leafAt } from './cube-paths.ts'
import { parseExpression } from './expression.ts'
import type { FixedParts, ReadRecord } from './fixed-parts.ts'
import type { QueryLimits } from './limits.ts'
import { FLAT_ROOT_PREFIX, isSkipped, LEAF_FORM_ALIAS } from './normalize.ts'
import { canonicalOperator } from './operators.ts'
import { fieldsByName, parseOrderBy, validateReferences } from './order-by.ts'
import { parseInterval, parseLimit, parseLimitBy } from './paging.ts'
import type { PlanningBudget } from './planning-budget.ts'
import { type CubeSchema, chainsOfGroup, rootOf } from './schema.ts'
import type {
  Condition,
  CubeSelection,
  Field,
  Having,
  Interval,
  MetricName,
  ValueField,
} from './selection.ts'
import { isBucketField, isGrouped, JOIN_PREFIX, joinFields, valueFields } from './selection.ts'

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

/** A cube of the answer. */
export type CubeMember = Extract<GroupMember, { readonly selection: CubeSelection }>

/** Fields of a group: those below a root field, or the one that stands there itself. */
export const groupMembers = (member: RootMember): readonly GroupMember[] => {
  if (member.kind === 'group') return member.members
  return member.kind === 'flat' ? [member.member] : []
}

/** Cubes of the answer, in its order. */
export const cubeMembers = (members: readonly RootMember[]): readonly CubeMember[] =>
  members.flatMap(groupMembers).filter((member): member is CubeMember => 'selection' in member)

const responseKey = (node: FieldNode): string => node.alias?.value ?? node.name.value
const includedFields = (node: FieldNode): readonly FieldNode[] =>
  (node.selectionSet?.selections ?? []).filter(
    (inner): inner is FieldNode => inner.kind === Kind.FIELD && !isSkipped(inner),
  )

const fieldDefinition = (
  type: GraphQLObjectType,
  node: FieldNode,
): GraphQLField<unknown, unknown> => {
  const definition = type.getFields()[node.name.value]
  if (!definition) throw new Error(`document was not validated: ${node.name.value}`)
  return definition
}

interface SelectContext {
  readonly limits: QueryLimits
  readonly work: PlanningBudget
  readonly fixed: Pick<FixedParts, 'records' | 'coerced'>
  readonly indexOf: CubeSchema['indexOf']
}

const coerceArguments = (
  definition: GraphQLField<unknown, unknown>,
  node: FieldNode,
  { coerced }: Pick<FixedParts, 'coerced'>,
): CoercedInput => {
  const known = node.arguments && coerced.get(node.arguments)
  if (known) return known
  const values = getArgumentValues(definition, node) as CoercedInput
  if (node.arguments) coerced.set(node.arguments, values)
  return values
}

interface RecordContext extends SelectContext, CubeIndex {
  readonly cube: Cube
  /** Cubes of the group, for joins. */
  readonly cubes: ReadonlyMap<string, Cube>
  /** The record is joined to another one: it holds fields of rows only. */
  readonly isJoined: boolean
}

const notInJoin = (what: string, node: FieldNode): GraphQLError =>
  new GraphQLError(`A join takes fields of rows, not ${what}`, { nodes: node })

const parseHaving = (given: CoercedInput | undefined): readonly Having[] =>
  Object.entries(given ?? {}).map(([name, value]) => ({
    operator: canonicalOperator(name),
    value: String(value),
  }))

/** Gives the errors of a text that knows nothing of its document the place of the field that it stands in. */
const atNode = <T>(node: FieldNode, read: () => T): T => {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof GraphQLError) || error.nodes) throw error
    throw new GraphQLError(error.message, { nodes: node, extensions: error.extensions })
  }
}

/** Reading an expression costs more than reading other text. */
const CHARACTERS_PER_STEP = 4

const parseMetric = (node: FieldNode, args: CoercedInput, record: RecordContext): ValueField => {
  if (record.isJoined) throw notInJoin(`the aggregate '${node.name.value}'`, node)
  const key = responseKey(node)
  const having = parseHaving(args.selectWhere as CoercedInput | undefined)
  const name = node.name.value
  if (name === 'calculate') {
    const text = String(args.expression)
    record.work.spend(Math.ceil(text.length / CHARACTERS_PER_STEP), node)
    const expression = atNode(node, () => parseExpression(text, record.limits.maxExpression))
    return { kind: 'calculate', key, expression, having }
  }
  const path = args.of ?? args.distinct
  const where = args.if
    ? atNode(node, () => parseCondition(record.cube, args.if as CoercedInput))
    : undefined
  const level = String(args.level ?? '0.5')
  if (!(Number(level) >= 0 && Number(level) <= 1))
    throw new GraphQLError(`'level' of quantile must be between 0 and 1`, { nodes: node })
  return {
    kind: 'metric',
    key,
    metric: (name === 'count' && path !== undefined ? 'uniq' : name) as MetricName,
    ...(path !== undefined && { path: String(path), leaf: leafAt(record.paths, String(path)) }),
    ...(where && { where }),
    level,
    having,
  }
}

/** Looking up a zone that has a second name costs as much as reading so many nodes. */
const TIME_ZONE_STEPS = 10

const intervalOf = (
  args: CoercedInput,
  leaf: Leaf,
  node: FieldNode,
  { work }: RecordContext,
): Interval | undefined => {
  if (!args.interval) return undefined
  const given = args.interval as CoercedInput
  if (given.timezone !== undefined) work.spend(TIME_ZONE_STEPS, node)
  return parseInterval(given, leaf, node)
}

const parseLeafField = (
  node: FieldNode,
  path: string,
  leaf: Leaf,
  args: CoercedInput,
  record: RecordContext,
): ValueField => {
  const key = responseKey(node)
  const { maximum, minimum } = args
  if (record.isJoined && Object.keys(args).length > 0) throw notInJoin('an aggregate', node)
  if (maximum !== undefined || minimum !== undefined) {
    if (args.interval !== undefined || (maximum !== undefined && minimum !== undefined))
      throw new GraphQLError(`'${key}' takes one of maximum, minimum and interval`, { nodes: node })
    const by = leafAt(record.paths, String(maximum ?? minimum))
    return { kind: 'pick', key, path, leaf, by, greatest: maximum !== undefined }
  }
  const interval = intervalOf(args, leaf, node, record)
  return { kind: 'dimension', key, path, leaf, ...(interval && { interval }) }
}

const parseFields = (
  node: FieldNode,
  type: GraphQLObjectType,
  tree: Tree,
  prefix: string,
  record: RecordContext,
): readonly Field[] =>
  includedFields(node).map((inner): Field => {
    const name = inner.name.value
    const key = responseKey(inner)
    if (name === '__typename') return { kind: 'typename', key, name: type.name }
    const definition = fieldDefinition(type, inner)
    const args = coerceArguments(definition, inner, record.fixed)
    const target = tree[name]
    if (!target && name.startsWith(JOIN_PREFIX)) return parseJoin(inner, definition, record)
    if (!target) return parseMetric(inner, args, record)
    const path = prefix === '' ? name : `${prefix}.${name}`
    if (isLeaf(target)) return parseLeafField(inner, path, target, args, record)
    const innerType = getNamedType(definition.type) as GraphQLObjectType
    if (!isLeafOrTree(target))
      return { kind: 'group', key, fields: parseFields(inner, innerType, target, path, record) }
    const [first] = includedFields(inner)
    if (first?.alias?.value === LEAF_FORM_ALIAS)
      return parseLeafField(inner, path, leafAt(record.paths, path), args, record)
    const fields = parseFields(inner, innerType, target.tree, path, record)
    return {
      kind: 'group',
      key,
      fields: fields.map((field) => withInterval(field, args, inner, record)),
    }
  })

const parseJoin = (
  node: FieldNode,
  definition: GraphQLField<unknown, unknown>,
  record: RecordContext,
): Field => {
  const cube = record.cubes.get(node.name.value.slice(JOIN_PREFIX.length))
  if (!cube) throw new Error(`unknown cube in a join: ${node.name.value}`)
  if (record.isJoined) throw notInJoin('another join', node)
  const joined = { ...record, ...record.indexOf(cube), cube, isJoined: true }
  const type = getNamedType(definition.type) as GraphQLObjectType
  const fields = parseFields(node, type, cube.dimensions, '', joined)
  return { kind: 'join', key: responseKey(node), cube, fields }
}

/** Arguments of a field with two shapes hold for its leaves. */
const withInterval = (
  field: Field,
  args: CoercedInput,
  node: FieldNode,
  record: RecordContext,
): Field => {
  if (field.kind !== 'dimension' || field.interval) return field
  const interval = intervalOf(args, field.leaf, node, record)
  return interval ? { ...field, interval } : field
}

/** On cubes of buckets one interval holds for the whole record. */
const applySharedInterval = (fields: readonly Field[], record: RecordContext): readonly Field[] => {
  if (!record.cube.rowKey) return fields
  const interval = valueFields(fields).find(isBucketField)?.interval
  if (!interval) return fields
  const widen = (field: Field): Field => {
    if (field.kind === 'group') return { ...field, fields: field.fields.map(widen) }
    if (field.kind !== 'dimension' || !field.leaf.bucket || field.interval) return field
    return { ...field, interval }
  }
  return fields.map(widen)
}

const buildWhere = (record: RecordContext, args: CoercedInput): Condition => {
  const { cube, paths } = record
  const where = parseCondition(cube, args.where as CoercedInput | undefined)
  const selectors = Object.entries(cube.selectors).flatMap(([name, targets]) =>
    args[name] ? [selectorCondition(paths, targets, args[name] as CoercedInput)] : [],
  )
  const defaults = Object.entries(cube.defaults)
    .filter(([path]) => !mentionsPath(where, path))
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

/** Joins are of rows: aggregated ones belong to no single transaction. */
const rejectGroupedJoins = (fields: readonly Field[], node: FieldNode): void => {
  const [join] = joinFields(fields)
  if (join && isGrouped(valueFields(fields)))
    throw new GraphQLError(`'${join.key}' cannot be joined to aggregated rows`, { nodes: node })
}

interface GroupArguments {
  readonly chains: readonly string[]
  readonly dataset: CubeSelection['dataset']
  readonly aggregates: CubeSelection['aggregates']
}

/** The fields of a record; those of a selection set that is the same in every request are read once. */
const readRecord = (
  node: FieldNode,
  type: GraphQLObjectType,
  record: RecordContext,
): Omit<ReadRecord, 'steps'> => {
  const { cube, cubes, work, fixed } = record
  const selections = node.selectionSet?.selections as readonly FieldNode[] | undefined
  const known = selections && fixed.records.get(selections)
  if (known?.cube === cube && known.cubes === cubes) {
    work.spend(known.steps, node)
    return known
  }
  const before = work.done()
  const fields = applySharedInterval(parseFields(node, type, cube.dimensions, '', record), record)
  rejectGroupedJoins(fields, node)
  const values = valueFields(fields)
  const named = fieldsByName(values)
  work.spend(validateReferences(values, named, node), node)
  const read = { cube, cubes, fields, values, named }
  if (selections) fixed.records.set(selections, { ...read, steps: work.done() - before })
  return read
}

const parseCubeSelection = (
  node: FieldNode,
  type: GraphQLObjectType,
  cube: Cube,
  { cubes, ...group }: GroupArguments & Pick<RecordContext, 'cubes'>,
  bounds: SelectContext,
): CubeSelection => {
  const definition = fieldDefinition(type, node)
  const args = coerceArguments(definition, node, bounds.fixed)
  const record = { ...bounds, ...bounds.indexOf(cube), cube, cubes, isJoined: false }
  const recordType = getNamedType(definition.type) as GraphQLObjectType
  const { fields, values, named } = readRecord(node, recordType, record)
  const limitBy = parseLimitBy(args.limitBy as CoercedInput | undefined, record.paths, node)
  return {
    cube,
    ...group,
    fields,
    values,
    where: atNode(node, () => buildWhere(record, args)),
    order: parseOrderBy(node, record, named, cube),
    limit: parseLimit(args.limit as CoercedInput | undefined, cube, node),
    ...(limitBy && { limitBy }),
  }
}

const parseGroup = (
  node: FieldNode,
  type: GraphQLObjectType,
  catalogue: CubeSchema,
  bounds: SelectContext,
): readonly GroupMember[] => {
  const definition = fieldDefinition(type, node)
  const args = coerceArguments(definition, node, bounds.fixed)
  const groupType = getNamedType(definition.type) as GraphQLObjectType
  const network = typeof args.network === 'string' ? args.network : undefined
  const cubes = catalogue.inGroup[node.name.value as CubeGroup]
  const group = {
    cubes,
    chains: chainsOfGroup(node.name.value as CubeGroup, network, catalogue.chains),
    dataset: (args.dataset ?? 'combined') as GroupArguments['dataset'],
    aggregates: (args.aggregates ?? 'yes') as GroupArguments['aggregates'],
  }
  return includedFields(node).map((inner): GroupMember => {
    const key = responseKey(inner)
    const cube = cubes.get(inner.name.value)
    if (!cube) return { key, name: groupType.name }
    return {
      key,
      node: inner,
      selection: parseCubeSelection(inner, groupType, cube, group, bounds),
    }
  })
}

/** Reads a checked operation as what is asked of each cube. Pure; throws `GraphQLError` for values that no rule can check. */
export const selectCubes = (
  operation: OperationDefinitionNode,
  catalogue: CubeSchema,
  { limits, work, fixed }: Pick<SelectContext, 'limits' | 'work' | 'fixed'>,
): readonly RootMember[] => {
  const root = rootOf(catalogue, operation)
  const nodes = operation.selectionSet.selections.filter(
    (node): node is FieldNode => node.kind === Kind.FIELD && !isSkipped(node),
  )
  const members = nodes.flatMap((node): readonly RootMember[] => {
    const key = responseKey(node)
    if (node.name.value === '__typename') return [{ kind: 'typename', key, name: root.name }]
    if (node.name.value.startsWith('__')) return [{ kind: 'introspection', key, node }]
    const { indexOf } = catalogue
    const inner = parseGroup(node, root, catalogue, { limits, work, fixed, indexOf })
    if (!key.startsWith(FLAT_ROOT_PREFIX)) return [{ kind: 'group', key, members: inner }]
    return inner.map((member) => ({ kind: 'flat', key: member.key, member }))
  })
  if (members.flatMap(groupMembers).length > limits.maxCubes)
    throw new GraphQLError(`The document selects more than ${limits.maxCubes} cubes`)
  return members
}
