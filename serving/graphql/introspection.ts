import {
  type FieldNode,
  type GraphQLField,
  GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  isLeafType,
  isListType,
  isNonNullType,
  Kind,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
} from 'graphql'
import type { QueryLimits } from './limits.ts'
import { isSkipped } from './normalize.ts'
import { type PlanningBudget, PlanningTooExpensive } from './planning-budget.ts'

interface IntrospectionRun {
  readonly schema: GraphQLSchema
  readonly work: PlanningBudget
  readonly limits: Pick<QueryLimits, 'maxIntrospection'>
  /** What is asked of each node's type; a node has one type. */
  readonly fieldsByNode: Map<FieldNode, readonly RequestedField[]>
  /** Values so far. */
  values: number
}

interface RequestedField {
  readonly key: string
  readonly node: FieldNode
  readonly definition: GraphQLField<unknown, unknown>
  readonly args: Readonly<Record<string, unknown>>
}

/** Values that cost as much as one node of a document. */
const VALUES_PER_STEP = 10
const META_FIELDS = [SchemaMetaFieldDef, TypeMetaFieldDef, TypeNameMetaFieldDef]

const requestedField = (node: FieldNode, type: GraphQLObjectType): RequestedField => {
  const name = node.name.value
  const definition = META_FIELDS.find((field) => field.name === name) ?? type.getFields()[name]
  if (!definition) throw new Error(`document was not validated: ${name}`)
  const key = node.alias?.value ?? name
  return { key, node, definition, args: getArgumentValues(definition, node) }
}

const requestedFields = (
  node: FieldNode,
  type: GraphQLObjectType,
  { fieldsByNode: asked }: IntrospectionRun,
): readonly RequestedField[] => {
  const requested = asked.get(node)
  if (requested) return requested
  const found = (node.selectionSet?.selections ?? []).flatMap((inner) =>
    inner.kind === Kind.FIELD && !isSkipped(inner) ? [requestedField(inner, type)] : [],
  )
  asked.set(node, found)
  return found
}

/** The value of a field as graphql-js resolves it: its resolvers of these types read nothing but the schema. */
const resolveField = (
  source: unknown,
  type: GraphQLObjectType,
  { node, definition, args }: RequestedField,
  reading: IntrospectionRun,
): unknown => {
  const info = { schema: reading.schema, parentType: type } as unknown as GraphQLResolveInfo
  const value = definition.resolve?.(source, { ...args }, undefined, info)
  return completeValue(value, definition.type, node, reading)
}

const completeValue = (
  value: unknown,
  type: GraphQLOutputType,
  node: FieldNode,
  reading: IntrospectionRun,
): unknown => {
  if (isNonNullType(type)) return completeValue(value, type.ofType, node, reading)
  if (++reading.values > reading.limits.maxIntrospection)
    throw new PlanningTooExpensive(
      `Introspection gives more than ${reading.limits.maxIntrospection} values`,
      node,
    )
  if (value === null || value === undefined) return null
  if (isListType(type))
    return Array.from(value as Iterable<unknown>, (item) =>
      completeValue(item, type.ofType, node, reading),
    )
  if (isLeafType(type)) return type.serialize(value)
  if (!(type instanceof GraphQLObjectType)) return null
  const record: Record<string, unknown> = Object.create(null)
  for (const asked of requestedFields(node, type, reading))
    record[asked.key] = resolveField(value, type, asked, reading)
  return record
}

/** Answers `__schema` and `__type` fields of a checked query, by response key. Throws `PlanningTooExpensive`. */
export const introspect = (
  schema: GraphQLSchema,
  nodes: readonly FieldNode[],
  limits: Pick<QueryLimits, 'maxIntrospection'>,
  work: PlanningBudget,
): Readonly<Record<string, unknown>> => {
  const root = schema.getQueryType()
  if (!root) throw new Error('the schema has no query type')
  const reading: IntrospectionRun = { schema, work, limits, fieldsByNode: new Map(), values: 0 }
  const answer: Record<string, unknown> = Object.create(null)
  try {
    for (const node of nodes) {
      const asked = requestedField(node, root)
      answer[asked.key] = resolveField(undefined, root, asked, reading)
    }
  } finally {
    work.spend(Math.ceil(reading.values / VALUES_PER_STEP))
  }
  return answer
}
