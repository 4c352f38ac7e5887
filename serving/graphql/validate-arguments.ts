import {
  type ArgumentNode,
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLNonNull,
  type GraphQLObjectType,
  getNamedType,
  isEnumType,
  isLeafType,
  isListType,
  isNonNullType,
  isRequiredArgument,
  isRequiredInputField,
  Kind,
  type ObjectValueNode,
  print,
  type ValueNode,
} from 'graphql'
import { didYouMean } from 'graphql/jsutils/didYouMean.js'
import { suggestionList } from 'graphql/jsutils/suggestionList.js'
import { MAX_ERRORS } from './limits.ts'
import { InvalidDocument } from './parse-document.ts'

/** What was found so far in one document. */
export interface ValidationState {
  /** Oldest first. */
  readonly errors: GraphQLError[]
  /** Lists and objects that were looked at. */
  readonly checked: Set<ValueNode>
}

/** Notes an error. Throws `InvalidDocument` once there are as many as are listed. */
export const addError = (
  { errors }: Pick<ValidationState, 'errors'>,
  error: GraphQLError,
): void => {
  errors.push(error)
  if (errors.length >= MAX_ERRORS) throw new InvalidDocument(errors)
}

/** Errors that come with a suggestion: looking for one costs more than finding the error. */
const MAX_SUGGESTIONS = 10
/** Longest name for which one is looked for. */
const MAX_SUGGESTED_NAME = 60
const MAX_SHOWN_VALUE = 100
/** Names that one suggestion has. */
const MAX_NEAR_NAMES = 3

/** ` Did you mean "Amount"?` for a name that is nearly one of those known; '' where none is near or enough was suggested. */
export const suggestNames = (
  name: string,
  known: readonly string[],
  { errors }: Pick<ValidationState, 'errors'>,
): string => {
  if (errors.length >= MAX_SUGGESTIONS || name.length > MAX_SUGGESTED_NAME) return ''
  return didYouMean(suggestionList(name, known).slice(0, MAX_NEAR_NAMES))
}

const describeValue = (node: ValueNode): string => {
  if (node.kind === Kind.LIST) return 'a list'
  if (node.kind === Kind.OBJECT) return 'an object'
  return print(node).slice(0, MAX_SHOWN_VALUE)
}

/**
 * Checks the values of one rewritten field once, where graphql-js would check them wherever a fragment repeats the field:
 * its rules KnownArgumentNames, ProvidedRequiredArguments and ValuesOfCorrectType for literals without variables.
 */
export const validateArguments = (
  node: FieldNode,
  given: readonly ArgumentNode[],
  definition: GraphQLField<unknown, unknown>,
  type: GraphQLObjectType,
  into: ValidationState,
): void => {
  const names = new Set<string>()
  for (const argument of given) {
    const name = argument.name.value
    names.add(name)
    const expected = definition.args.find((arg) => arg.name === name)
    if (expected) validateValue(argument.value, expected.type, into)
    else {
      const near = suggestNames(
        name,
        definition.args.map((arg) => arg.name),
        into,
      )
      const message = `Unknown argument '${name}' on field '${type.name}.${definition.name}'${near}`
      addError(into, new GraphQLError(message, { nodes: argument }))
    }
  }
  for (const argument of definition.args) {
    if (!(argument.type instanceof GraphQLNonNull) || !isRequiredArgument(argument)) continue
    if (names.has(argument.name)) continue
    const message = `Field '${definition.name}' needs the argument '${argument.name}' of type '${argument.type}'`
    addError(into, new GraphQLError(message, { nodes: node }))
  }
}

/** Whether a field has a selection exactly where its type has fields (rule ScalarLeafs). */
export const validateSelectionSet = (
  node: FieldNode,
  selects: boolean,
  { name, type }: GraphQLField<unknown, unknown>,
  into: ValidationState,
): boolean => {
  const isLeaf = isLeafType(getNamedType(type))
  if (isLeaf !== selects) return true
  const message = isLeaf
    ? `Field '${name}' has no subfields, because its type is '${type}'`
    : `Field '${name}' of type '${type}' needs a selection of subfields`
  addError(into, new GraphQLError(message, { nodes: node }))
  return false
}

/** The rewritten value of a variable stands in many places: it is looked at once, as it was rewritten for one type. */
const markChecked = (node: ValueNode, { checked }: ValidationState): boolean => {
  if (checked.has(node)) return false
  checked.add(node)
  return true
}

const validateValue = (node: ValueNode, type: GraphQLInputType, into: ValidationState): void => {
  if (isNonNullType(type)) {
    if (node.kind !== Kind.NULL) validateValue(node, type.ofType, into)
    else
      addError(into, new GraphQLError(`A value of type '${type}' cannot be null`, { nodes: node }))
  } else if (node.kind === Kind.NULL) return
  else if (isListType(type)) {
    if (node.kind !== Kind.LIST) validateValue(node, type.ofType, into)
    else if (markChecked(node, into))
      for (const item of node.values) validateValue(item, type.ofType, into)
  } else if (type instanceof GraphQLInputObjectType) {
    if (node.kind !== Kind.OBJECT) addError(into, unexpectedValue(node, type))
    else if (markChecked(node, into)) validateObject(node, type, into)
  } else validateLeafValue(node, type, into)
}

const unexpectedValue = (node: ValueNode, type: GraphQLInputType): GraphQLError =>
  new GraphQLError(`Expected a value of type '${type}', found ${describeValue(node)}`, {
    nodes: node,
  })

const validateObject = (
  node: ObjectValueNode,
  type: GraphQLInputObjectType,
  into: ValidationState,
): void => {
  const known = type.getFields()
  const names = new Set<string>()
  for (const field of node.fields) {
    const name = field.name.value
    names.add(name)
    const definition = known[name]
    if (definition) validateValue(field.value, definition.type, into)
    else {
      const near = suggestNames(name, Object.keys(known), into)
      const message = `'${type.name}' has no field '${name}'${near}`
      addError(into, new GraphQLError(message, { nodes: field }))
    }
  }
  for (const name in known) {
    const field = known[name]
    // Before the rule of graphql-js: of many fields hardly one is of such a type.
    if (!(field?.type instanceof GraphQLNonNull) || !isRequiredInputField(field)) continue
    if (names.has(field.name)) continue
    const message = `'${type.name}' needs the field '${field.name}' of type '${field.type}'`
    addError(into, new GraphQLError(message, { nodes: node }))
  }
}

const validateLeafValue = (
  node: ValueNode,
  type: Exclude<GraphQLInputType, GraphQLInputObjectType>,
  into: ValidationState,
): void => {
  if (!isLeafType(type)) return
  try {
    const plain =
      into.errors.length >= MAX_SUGGESTIONS ||
      (node.kind === Kind.ENUM && node.value.length > MAX_SUGGESTED_NAME)
    const value = isEnumType(type)
      ? type.parseLiteral(node, undefined, plain)
      : type.parseLiteral(node, undefined)
    if (value === undefined) addError(into, unexpectedValue(node, type))
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error
    addError(into, error)
  }
}
