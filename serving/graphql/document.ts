import {
  type DocumentNode,
  ExecutableDefinitionsRule,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  KnownDirectivesRule,
  KnownFragmentNamesRule,
  LoneAnonymousOperationRule,
  NoFragmentCyclesRule,
  NoUndefinedVariablesRule,
  NoUnusedFragmentsRule,
  NoUnusedVariablesRule,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  UniqueArgumentNamesRule,
  UniqueDirectivesPerLocationRule,
  UniqueFragmentNamesRule,
  UniqueInputFieldNamesRule,
  UniqueOperationNamesRule,
  UniqueVariableNamesRule,
  type ValueNode,
  type VariableDefinitionNode,
  validate,
  valueFromASTUntyped,
} from 'graphql'
import { checkSize, MAX_ERRORS, type QueryLimits } from './limits.ts'
import { type Variables, valueNode } from './values.ts'

/** Rules that need no types of fields or arguments: those are checked once the older forms are rewritten. */
const RULES = [
  ExecutableDefinitionsRule,
  UniqueOperationNamesRule,
  LoneAnonymousOperationRule,
  UniqueFragmentNamesRule,
  KnownFragmentNamesRule,
  NoUnusedFragmentsRule,
  NoFragmentCyclesRule,
  UniqueVariableNamesRule,
  NoUndefinedVariablesRule,
  NoUnusedVariablesRule,
  KnownDirectivesRule,
  UniqueDirectivesPerLocationRule,
  UniqueArgumentNamesRule,
  UniqueInputFieldNamesRule,
]

/** Several errors of one document. */
export class InvalidDocument extends Error {
  readonly errors: readonly GraphQLError[]

  constructor(errors: readonly GraphQLError[]) {
    super(errors[0]?.message ?? 'The document is not valid')
    this.name = 'InvalidDocument'
    this.errors = errors.slice(0, MAX_ERRORS)
  }
}

/** A document with its fragments, before variables are known. */
export interface ParsedDocument {
  readonly document: DocumentNode
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>
}

/** Parses and checks what needs no variables. Throws `GraphQLError` or `InvalidDocument`. */
export const parseDocument = (
  text: string,
  schema: GraphQLSchema,
  limits: QueryLimits,
): ParsedDocument => {
  checkSize(text, limits)
  const document = parse(text)
  const errors = validate(schema, document, RULES, { maxErrors: MAX_ERRORS })
  if (errors.length > 0) throw new InvalidDocument(errors)
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION)
      fragments.set(definition.name.value, definition)
  }
  return { document, fragments }
}

/** The operation to run. Throws `GraphQLError` when it cannot be told, or is no query. */
export const operationOf = (
  { document }: ParsedDocument,
  name: string | undefined,
): OperationDefinitionNode => {
  const operations = document.definitions.filter(
    (definition): definition is OperationDefinitionNode =>
      definition.kind === Kind.OPERATION_DEFINITION,
  )
  const chosen = name
    ? operations.filter((operation) => operation.name?.value === name)
    : operations
  const [operation] = chosen
  if (!operation)
    throw new GraphQLError(name ? `Unknown operation '${name}'` : 'The document has no operation')
  if (chosen.length > 1) throw new GraphQLError('Several operations: name one by operationName')
  if (operation.operation !== OperationTypeNode.QUERY) {
    throw new GraphQLError(
      `The schema has no ${operation.operation} type: only queries are served`,
      {
        nodes: operation,
      },
    )
  }
  return operation
}

const variableOf = (
  definition: VariableDefinitionNode,
  given: Readonly<Record<string, unknown>>,
  limits: QueryLimits,
): ValueNode | undefined => {
  const name = definition.variable.name.value
  const supplied = Object.hasOwn(given, name) ? given[name] : undefined
  const required = definition.type.kind === Kind.NON_NULL_TYPE
  if (supplied === undefined && definition.defaultValue) {
    return valueNode(valueFromASTUntyped(definition.defaultValue), limits)
  }
  if (required && (supplied === undefined || supplied === null)) {
    throw new GraphQLError(`Variable '$${name}' needs a value`, { nodes: definition })
  }
  return supplied === undefined ? undefined : valueNode(supplied, limits)
}

/** Turns the variables of a request into literals. Throws `GraphQLError`. */
export const variablesOf = (
  operation: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
  limits: QueryLimits,
): Variables => {
  const values = new Map<string, ValueNode>()
  for (const definition of operation.variableDefinitions ?? []) {
    const value = variableOf(definition, given, limits)
    if (value) values.set(definition.variable.name.value, value)
  }
  return values
}
