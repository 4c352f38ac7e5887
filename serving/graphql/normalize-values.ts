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
  type StringValueNode,
  type ValueNode,
  type VariableNode,
} from 'graphql'
import { CHAIN_ID_BY_NAME } from '../../schemas/chains.ts'
import type { QueryLimits } from './limits.ts'
import { takesPattern, timeOperatorFor } from './operators.ts'
import { type PlanningBudget, stepsOfText } from './planning-budget.ts'
import { DateTimeType } from './scalars.ts'

/** Values of the variables by name; absent where neither a value nor a default is given. */
export type Variables = ReadonlyMap<string, ValueNode>

/** A JSON value as a literal. Throws `GraphQLError` when it is nested too deep or a list is too long. */
export const toValueNode = (
  value: unknown,
  context: Pick<ValueContext, 'limits' | 'work'>,
  depth = 0,
): ValueNode => {
  const { limits, work } = context
  work.spend(1)
  if (depth > limits.maxDepth) throw new GraphQLError('A variable is nested too deep')
  if (value === null || value === undefined) return { kind: Kind.NULL }
  if (typeof value === 'boolean') return { kind: Kind.BOOLEAN, value }
  if (typeof value === 'number') {
    const kind = Number.isInteger(value) ? Kind.INT : Kind.FLOAT
    return { kind, value: Number.isSafeInteger(value) ? value.toFixed(0) : String(value) }
  }
  if (Array.isArray(value)) {
    if (value.length > limits.maxListItems) throw listTooLong(limits)
    return { kind: Kind.LIST, values: value.map((item) => toValueNode(item, context, depth + 1)) }
  }
  if (typeof value === 'object') {
    const fields = Object.entries(value).map(
      ([name, inner]): ObjectFieldNode => ({
        kind: Kind.OBJECT_FIELD,
        name: { kind: Kind.NAME, value: name },
        value: toValueNode(inner, context, depth + 1),
      }),
    )
    return { kind: Kind.OBJECT, fields }
  }
  return { kind: Kind.STRING, value: String(value) }
}

const listTooLong = ({ maxListItems }: QueryLimits): GraphQLError =>
  new GraphQLError(`A list has more than ${maxListItems} items`)

/** What a rewrite of one value needs beside the value. */
export interface ValueContext {
  readonly variables: Variables
  readonly limits: QueryLimits
  readonly work: PlanningBudget
  /** Values of variables by name and type, as far as they were rewritten. */
  readonly rewrittenVariables: Map<
    string,
    { readonly value: ValueNode | undefined; readonly steps: number }
  >
}

/** The chain that a word of a query means; a word that means none is given back. */
export const resolveChainAlias = (word: string): string =>
  Object.hasOwn(CHAIN_ID_BY_NAME, word) ? (CHAIN_ID_BY_NAME[word] ?? word) : word

/** `X` for `XState` where only `X` is known: names of state tables are accepted with and without the suffix. */
export const resolveStateSuffix = (name: string, known: (name: string) => boolean): string => {
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

const objectField = (name: string, value: ValueNode): ObjectFieldNode => ({
  kind: Kind.OBJECT_FIELD,
  name: { kind: Kind.NAME, value: name },
  value,
})

const enumOrString = (node: ValueNode): string | undefined =>
  node.kind === Kind.ENUM || node.kind === Kind.STRING ? node.value : undefined

/** N1 and N2: a bare scalar where an order or a filter is expected. */
const scalarToObject = (node: ValueNode, type: GraphQLInputObjectType): ValueNode => {
  const fields = type.getFields()
  const [, path, direction] = /^(.+)_(ASC|DESC)$/.exec(enumOrString(node) ?? '') ?? []
  if (fields.ascending && path) {
    const name = direction === 'ASC' ? 'ascending' : 'descending'
    return {
      ...locationOf(node),
      kind: Kind.OBJECT,
      fields: [objectField(name, enumNode(path, node))],
    }
  }
  const operator = fields.is ? 'is' : fields.eq ? 'eq' : undefined
  if (!operator) return node
  return { ...locationOf(node), kind: Kind.OBJECT, fields: [objectField(operator, node)] }
}

const locationOf = ({ loc }: ValueNode) => (loc ? { loc } : {})
const enumNode = (value: string, at: ValueNode): ValueNode => ({
  ...locationOf(at),
  kind: Kind.ENUM,
  value,
})

const MAX_PATTERN_LENGTH = 300
const MAX_WILDCARDS = 20

/** A pattern is matched against every row: its wildcards multiply that work. */
const validatePattern = (node: ValueNode): void => {
  if (node.kind !== Kind.STRING) return
  const wildcards = node.value.match(/[%_]/g)?.length ?? 0
  if (node.value.length > MAX_PATTERN_LENGTH || wildcards > MAX_WILDCARDS)
    throw new GraphQLError(
      `A pattern has at most ${MAX_PATTERN_LENGTH} characters and ${MAX_WILDCARDS} of '%' and '_'`,
      { nodes: node },
    )
}

const normalizeObject = (
  node: ValueNode,
  type: GraphQLInputObjectType,
  context: ValueContext,
): ValueNode => {
  const shaped = isScalar(node) ? scalarToObject(node, type) : node
  if (shaped.kind !== Kind.OBJECT) return shaped
  const known = type.getFields()
  const fields: ObjectFieldNode[] = []
  for (const given of shaped.fields) {
    const name = resolveStateSuffix(given.name.value, (candidate) => candidate in known)
    const definition = known[name]
    const word = definition || !known.since ? undefined : timeOperatorFor(name)
    if (word) {
      throw new GraphQLError(`${type.name} has no '${name}': use '${word}'`, { nodes: given })
    }
    const value = definition
      ? normalizeValue(given.value, definition.type, context)
      : given.value.kind === Kind.VARIABLE
        ? { kind: Kind.NULL as const }
        : given.value
    if (value && takesPattern(name)) validatePattern(value)
    if (value) fields.push({ ...given, name: { ...given.name, value: name }, value })
  }
  return { ...shaped, fields }
}

const normalizeEnum = (node: ValueNode, type: GraphQLEnumType): ValueNode => {
  const written = enumOrString(node)
  if (written === undefined) return node
  const word = type.name === 'Network' ? resolveChainAlias(written) : written
  const known = (name: string): boolean =>
    type.getValue(name) !== undefined && type.getValue(name) !== null
  return enumNode(resolveStateSuffix(word, known), node)
}

/**
 * Rewrites one value to what its type expects: variables become literals, older and
 * shorter forms the declared one. undefined: the argument or operator is left out, because its value is null or absent.
 */
export const normalizeValue = (
  node: ValueNode,
  type: GraphQLInputType,
  context: ValueContext,
): ValueNode | undefined => {
  context.work.spend(1, node)
  if (node.kind === Kind.VARIABLE) {
    const value = context.variables.get(node.name.value)
    if (value) return normalizeVariable({ ...value, ...locationOf(node) }, node, type, context)
    return type instanceof GraphQLNonNull ? { ...locationOf(node), kind: Kind.NULL } : undefined
  }
  if (type instanceof GraphQLNonNull) return normalizeValue(node, type.ofType, context) ?? node
  if (node.kind === Kind.NULL) return undefined
  if (type instanceof GraphQLList) return normalizeList(node, type, context)
  if (type instanceof GraphQLInputObjectType) return normalizeObject(node, type, context)
  if (type instanceof GraphQLEnumType) return normalizeEnum(node, type)
  if (node.kind === Kind.STRING) validateTextLength(node, context)
  const bareWord = node.kind === Kind.ENUM && (type === GraphQLString || type === DateTimeType)
  return bareWord ? { ...node, kind: Kind.STRING } : node
}

/** A variable's value for one type is rewritten once, and counted wherever it is used. */
const normalizeVariable = (
  value: ValueNode,
  { name }: VariableNode,
  type: GraphQLInputType,
  context: ValueContext,
): ValueNode | undefined => {
  const key = `${name.value} ${type}`
  const known = context.rewrittenVariables.get(key)
  if (known) {
    context.work.spend(known.steps, value)
    return known.value
  }
  const before = context.work.done()
  const rewritten = normalizeValue(value, type, context)
  const steps = context.work.done() - before
  context.rewrittenVariables.set(key, { value: rewritten, steps })
  return rewritten
}

const validateTextLength = (node: StringValueNode, { limits, work }: ValueContext): void => {
  work.spend(stepsOfText(node.value.length), node)
  if (node.value.length > limits.maxText)
    throw new GraphQLError(`A text has more than ${limits.maxText} characters`, { nodes: node })
}

const normalizeList = (
  node: ValueNode,
  type: GraphQLList<GraphQLInputType>,
  context: ValueContext,
): ValueNode => {
  if (node.kind !== Kind.LIST) return normalizeValue(node, type.ofType, context) ?? node
  if (node.values.length > context.limits.maxListItems) throw listTooLong(context.limits)
  const values = node.values.flatMap((item) => {
    const value = normalizeValue(item, type.ofType, context)
    return value ? [value] : []
  })
  return { ...node, values }
}
