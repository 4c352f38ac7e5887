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
import { PlanningTooExpensive, type Work } from './work.ts'

interface Reading {
  readonly schema: GraphQLSchema
  readonly work: Work
  readonly limits: Pick<QueryLimits, 'maxIntrospection'>
  /** What is asked of each node's type; a node has one type. */
  readonly asked: Map<FieldNode, readonly Asked[]>
  /** Values so far. */
  values: number
}

interface Asked {
  readonly key: string
  readonly node: FieldNode
  readonly definition: GraphQLField<unknown, unknown>
  readonly args: Readonly<Record<string, unknown>>
}

/** Values that cost as much as one node of a document. */
const VALUES_PER_STEP = 10
const META = [SchemaMetaFieldDef, TypeMetaFieldDef, TypeNameMetaFieldDef]

const askedOf = (node: FieldNode, type: GraphQLObjectType): Asked => {
  const name = node.name.value
  const definition = META.find((field) => field.name === name) ?? type.getFields()[name]
  if (!definition) throw new Error(`the document was not checked: ${name}`)
  const key = node.alias?.value ?? name
  return { key, node, definition, args: getArgumentValues(definition, node) }
}

const askedIn = (
  node: FieldNode,
  type: GraphQLObjectType,
  { asked }: Reading,
): readonly Asked[] => {
  const known = asked.get(node)
  if (known) return known
  const found = (node.selectionSet?.selections ?? []).flatMap((inner) =>
    inner.kind === Kind.FIELD && !isSkipped(inner) ? [askedOf(inner, type)] : [],
  )
  asked.set(node, found)
  return found
}

/** The value of a field as graphql-js resolves it: its resolvers of these types read nothing but the schema. */
const answerOf = (
  source: unknown,
  type: GraphQLObjectType,
  { node, definition, args }: Asked,
  reading: Reading,
): unknown => {
  const info = { schema: reading.schema, parentType: type } as unknown as GraphQLResolveInfo
  const value = definition.resolve?.(source, { ...args }, undefined, info)
  return completed(value, definition.type, node, reading)
}

const completed = (
  value: unknown,
  type: GraphQLOutputType,
  node: FieldNode,
  reading: Reading,
): unknown => {
  if (isNonNullType(type)) return completed(value, type.ofType, node, reading)
  if (++reading.values > reading.limits.maxIntrospection)
    throw new PlanningTooExpensive(
      `Introspection gives more than ${reading.limits.maxIntrospection} values`,
      node,
    )
  if (value === null || value === undefined) return null
  if (isListType(type))
    return Array.from(value as Iterable<unknown>, (item) =>
      completed(item, type.ofType, node, reading),
    )
  if (isLeafType(type)) return type.serialize(value)
  if (!(type instanceof GraphQLObjectType)) return null
  const record: Record<string, unknown> = Object.create(null)
  for (const asked of askedIn(node, type, reading))
    record[asked.key] = answerOf(value, type, asked, reading)
  return record
}

/** Answers `__schema` and `__type` fields of a checked query, by response key. Throws `PlanningTooExpensive`. */
export const introspect = (
  schema: GraphQLSchema,
  nodes: readonly FieldNode[],
  limits: Pick<QueryLimits, 'maxIntrospection'>,
  work: Work,
): Readonly<Record<string, unknown>> => {
  const root = schema.getQueryType()
  if (!root) throw new Error('the schema has no query type')
  const reading: Reading = { schema, work, limits, asked: new Map(), values: 0 }
  const answer: Record<string, unknown> = Object.create(null)
  try {
    for (const node of nodes) {
      const asked = askedOf(node, root)
      answer[asked.key] = answerOf(undefined, root, asked, reading)
    }
  } finally {
    work.spend(Math.ceil(reading.values / VALUES_PER_STEP))
  }
  return answer
}
