import {
  GraphQLEnumType,
  GraphQLError,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLString,
  Kind,
  type ObjectFieldNode,
  type ValueNode,
} from 'graphql'
import { CHAIN_WORDS } from '../../schemas/chains.ts'
import type { QueryLimits } from './limits.ts'
import { DateTimeType } from './scalars.ts'

/** Values of the variables by name; absent where neither a value nor a default is given. */
export type Variables = ReadonlyMap<string, ValueNode>

/** A JSON value as a literal. Throws `GraphQLError` when it is nested too deep or a list is too long. */
export const valueNode = (value: unknown, limits: QueryLimits, depth = 0): ValueNode => {
  if (depth > limits.maxDepth) throw new GraphQLError('A variable is nested too deep')
  if (value === null || value === undefined) return { kind: Kind.NULL }
  if (typeof value === 'boolean') return { kind: Kind.BOOLEAN, value }
  if (typeof value === 'number') {
    const kind = Number.isInteger(value) ? Kind.INT : Kind.FLOAT
    return { kind, value: Number.isSafeInteger(value) ? value.toFixed(0) : String(value) }
  }
  if (Array.isArray(value)) {
    if (value.length > limits.maxListItems) throw tooLong(limits)
    return { kind: Kind.LIST, values: value.map((item) => valueNode(item, limits, depth + 1)) }
  }
  if (typeof value === 'object') {
    const fields = Object.entries(value).map(
      ([name, inner]): ObjectFieldNode => ({
        kind: Kind.OBJECT_FIELD,
        name: { kind: Kind.NAME, value: name },
        value: valueNode(inner, limits, depth + 1),
      }),
    )
    return { kind: Kind.OBJECT, fields }
  }
  return { kind: Kind.STRING, value: String(value) }
}

const tooLong = ({ maxListItems }: QueryLimits): GraphQLError =>
  new GraphQLError(`A list has more than ${maxListItems} items`)

/** What a rewrite of one value needs beside the value. */
export interface ValueContext {
  readonly variables: Variables
  readonly limits: QueryLimits
}

const TIME_WORDS: Readonly<Record<string, string>> = {
  gt: 'after',
  ge: 'since',
  gte: 'since',
  lt: 'before',
  le: 'till',
  lte: 'till',
  eq: 'is',
  ne: 'not',
}

/** `X` for `XState` where only `X` is known: names of state tables are accepted with and without the suffix. */
export const withoutState = (name: string, known: (name: string) => boolean): string => {
  if (known(name)) return name
  const bare = name.endsWith('State') ? name.slice(0, -'State'.length) : `${name}State`
  return known(bare) ? bare : name
}

const isScalar = ({ kind }: ValueNode): boolean =>
  kind === Kind.STRING ||
  kind === Kind.INT ||
  kind === Kind.FLOAT ||
  kind === Kind.BOOLEAN ||
  kind === Kind.ENUM

const field = (name: string, value: ValueNode): ObjectFieldNode => ({
  kind: Kind.OBJECT_FIELD,
  name: { kind: Kind.NAME, value: name },
  value,
})

const wordOf = (node: ValueNode): string | undefined =>
  node.kind === Kind.ENUM || node.kind === Kind.STRING ? node.value : undefined

/** N1 and N2: a bare scalar where an order or a filter is expected. */
const asObject = (node: ValueNode, type: GraphQLInputObjectType): ValueNode => {
  const fields = type.getFields()
  const [, path, direction] = /^(.+)_(ASC|DESC)$/.exec(wordOf(node) ?? '') ?? []
  if (fields.ascending && path) {
    const name = direction === 'ASC' ? 'ascending' : 'descending'
    return { ...positioned(node), kind: Kind.OBJECT, fields: [field(name, enumNode(path, node))] }
  }
  const operator = fields.is ? 'is' : fields.eq ? 'eq' : undefined
  if (!operator) return node
  return { ...positioned(node), kind: Kind.OBJECT, fields: [field(operator, node)] }
}

const positioned = ({ loc }: ValueNode) => (loc ? { loc } : {})
const enumNode = (value: string, at: ValueNode): ValueNode => ({
  ...positioned(at),
  kind: Kind.ENUM,
  value,
})

const objectValue = (
  node: ValueNode,
  type: GraphQLInputObjectType,
  context: ValueContext,
): ValueNode => {
  const shaped = isScalar(node) ? asObject(node, type) : node
  if (shaped.kind !== Kind.OBJECT) return shaped
  const known = type.getFields()
  const fields: ObjectFieldNode[] = []
  for (const given of shaped.fields) {
    const name = withoutState(given.name.value, (candidate) => candidate in known)
    const definition = known[name]
    const word = TIME_WORDS[name]
    if (!definition && word && known.since) {
      throw new GraphQLError(`${type.name} has no '${name}': use '${word}'`, { nodes: given })
    }
    const value = definition
      ? normalizeValue(given.value, definition.type, context)
      : given.value.kind === Kind.VARIABLE
        ? { kind: Kind.NULL as const }
        : given.value
    if (value) fields.push({ ...given, name: { ...given.name, value: name }, value })
  }
  return { ...shaped, fields }
}

const enumValue = (node: ValueNode, type: GraphQLEnumType): ValueNode => {
  const written = wordOf(node)
  if (written === undefined) return node
  const word = type.name === 'Network' ? (CHAIN_WORDS[written] ?? written) : written
  const known = (name: string): boolean =>
    type.getValue(name) !== undefined && type.getValue(name) !== null
  return enumNode(withoutState(word, known), node)
}

/**
 * Rewrites one value to what its type expects (contract/graphql.md 4.1, N1-N10): variables become literals, older and
 * shorter forms the declared one. undefined: the argument or operator is left out, because its value is null or absent.
 */
export const normalizeValue = (
  node: ValueNode,
  type: GraphQLInputType,
  context: ValueContext,
): ValueNode | undefined => {
  if (node.kind === Kind.VARIABLE) {
    const value = context.variables.get(node.name.value)
    if (value) return normalizeValue({ ...value, ...positioned(node) }, type, context)
    return type instanceof GraphQLNonNull ? { ...positioned(node), kind: Kind.NULL } : undefined
  }
  if (type instanceof GraphQLNonNull) return normalizeValue(node, type.ofType, context) ?? node
  if (node.kind === Kind.NULL) return undefined
  if (type instanceof GraphQLList) return listValue(node, type, context)
  if (type instanceof GraphQLInputObjectType) return objectValue(node, type, context)
  if (type instanceof GraphQLEnumType) return enumValue(node, type)
  const bareWord = node.kind === Kind.ENUM && (type === GraphQLString || type === DateTimeType)
  return bareWord ? { ...node, kind: Kind.STRING } : node
}

const listValue = (
  node: ValueNode,
  type: GraphQLList<GraphQLInputType>,
  context: ValueContext,
): ValueNode => {
  if (node.kind !== Kind.LIST) return normalizeValue(node, type.ofType, context) ?? node
  if (node.values.length > context.limits.maxListItems) throw tooLong(context.limits)
  const values = node.values.flatMap((item) => {
    const value = normalizeValue(item, type.ofType, context)
    return value ? [value] : []
  })
  return { ...node, values }
}
