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
  readonly limits: IntrospectionLimits
  /** What is asked of each node's type; a node has one type. */
  readonly fieldsByNode: Map<FieldNode, readonly RequestedField[]>
  /** Values so far. */
  values: number
  /** What they take as JSON, about: more than that where a text is escaped. */
  bytes: number
}

type IntrospectionLimits = Pick<QueryLimits, 'maxIntrospection' | 'maxIntrospectionBytes'>

interface RequestedField {
  readonly key: string
  readonly node: FieldNode
  readonly definition: GraphQLField<unknown, unknown>
  readonly args: Readonly<Record<string, unknown>>
}

/** Values that cost as much as one node of a document. */
const VALUES_PER_STEP = 10
/** Quotes, colon and comma of a field, brackets of a list, a word. */
const BYTES_PER_VALUE = 5
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
  spendBytes(BYTES_PER_VALUE, node, reading)
  if (value === null || value === undefined) return null
  if (isListType(type))
    return Array.from(value as Iterable<unknown>, (item) =>
      completeValue(item, type.ofType, node, reading),
    )
  if (isLeafType(type)) {
    if (typeof value === 'string') spendBytes(Buffer.byteLength(value), node, reading)
    return type.serialize(value)
  }
  if (!(type instanceof GraphQLObjectType)) return null
  const record: Record<string, unknown> = Object.create(null)
  for (const asked of requestedFields(node, type, reading)) {
    spendBytes(asked.key.length, asked.node, reading)
    record[asked.key] = resolveField(value, type, asked, reading)
  }
  return record
}

/** Names and values are counted as they come: a name of any length is repeated in every record. */
const spendBytes = (bytes: number, node: FieldNode, reading: IntrospectionRun): void => {
  reading.bytes += bytes
  const { maxIntrospectionBytes: most } = reading.limits
  if (reading.bytes > most)
    throw new PlanningTooExpensive(`Introspection gives more than ${most} bytes`, node)
}

/** Answers `__schema` and `__type` fields of a checked query as JSON, by response key. Throws `PlanningTooExpensive`. */
export const introspect = (
  schema: GraphQLSchema,
  nodes: readonly FieldNode[],
  limits: IntrospectionLimits,
  work: PlanningBudget,
): ReadonlyMap<string, Buffer> => {
  const root = schema.getQueryType()
  if (!root) throw new Error('the schema has no query type')
  const fieldsByNode: IntrospectionRun['fieldsByNode'] = new Map()
  const reading: IntrospectionRun = { schema, work, limits, fieldsByNode, values: 0, bytes: 0 }
  const answer = new Map<string, Buffer>()
  try {
    for (const node of nodes) {
      const asked = requestedField(node, root)
      const value = resolveField(undefined, root, asked, reading)
      answer.set(asked.key, Buffer.from(JSON.stringify(value ?? null)))
    }
  } finally {
    work.spend(Math.ceil(reading.values / VALUES_PER_STEP))
  }
  return answer
}
