import {
  type DocumentNode,
  ExecutableDefinitionsRule,
  type FragmentDefinitionNode,
  type FragmentSpreadNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  KnownDirectivesRule,
  KnownFragmentNamesRule,
  LoneAnonymousOperationRule,
  NoUndefinedVariablesRule,
  NoUnusedFragmentsRule,
  NoUnusedVariablesRule,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  Source,
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
  visit,
} from 'graphql'
import { type FixedParts, findFixedParts } from './fixed-parts.ts'
import { countTokens, MAX_ERRORS, type QueryLimits } from './limits.ts'
import { toValueNode, type ValueContext, type Variables } from './normalize-values.ts'
import { type PlanningBudget, stepsOfText } from './planning-budget.ts'

/** Rules that need no types of fields or arguments: those are checked once the older forms are rewritten. */
const VALIDATION_RULES = [
  ExecutableDefinitionsRule,
  UniqueOperationNamesRule,
  LoneAnonymousOperationRule,
  UniqueFragmentNamesRule,
  KnownFragmentNamesRule,
  NoUnusedFragmentsRule,
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
  readonly fixed: FixedParts
}

/**
 * Reads a text within the limits. The document is left without its text: an error looks through the text for its line as soon
 * as it is made, once per error, while the first token of a node knows its place. Throws `GraphQLError`.
 */
export const parseDocument = (
  text: string,
  limits: QueryLimits,
  work: PlanningBudget,
): DocumentNode => {
  work.spend(stepsOfText(text.length))
  work.spend(countTokens(text, limits))
  const source = new Source(text)
  const document = parse(source)
  source.body = ''
  return document
}

/** Refuses fragments that hold themselves, at the first one: the rule of graphql-js lists every way around. */
const rejectFragmentCycles = (document: DocumentNode): void => {
  const spreads = new Map<string, FragmentSpreadNode[]>()
  let current: FragmentSpreadNode[] = []
  visit(document, {
    OperationDefinition: () => false,
    FragmentDefinition: ({ name }) => {
      current = []
      spreads.set(name.value, current)
    },
    FragmentSpread: (node) => {
      current.push(node)
    },
  })
  const open = new Set<string>()
  const closed = new Set<string>()
  const follow = (name: string): void => {
    open.add(name)
    for (const node of spreads.get(name) ?? []) {
      const next = node.name.value
      if (open.has(next)) throw new GraphQLError(`Fragment '${next}' holds itself`, { nodes: node })
      if (!closed.has(next)) follow(next)
    }
    open.delete(name)
    closed.add(name)
  }
  for (const name of spreads.keys()) if (!closed.has(name)) follow(name)
}

/** Spreads and uses of variables that the rules look at in one step. */
const USES_PER_STEP = 50

/**
 * The rules follow every operation through the fragments that it spreads, and count each use in them anew: what they will
 * take is counted before they run.
 */
const chargeRules = (document: DocumentNode, work: PlanningBudget): void => {
  let operations = 0
  let uses = 0
  const count = (): void => {
    uses += 1
  }
  visit(document, {
    OperationDefinition: () => {
      operations += 1
    },
    FragmentSpread: count,
    Variable: count,
  })
  work.spend(Math.ceil((operations * uses) / USES_PER_STEP))
}

/** Checks what needs no variables. Throws `GraphQLError` or `InvalidDocument`. */
export const validateDocument = (
  document: DocumentNode,
  schema: GraphQLSchema,
  work: PlanningBudget,
): ParsedDocument => {
  chargeRules(document, work)
  rejectFragmentCycles(document)
  const errors = validate(schema, document, VALIDATION_RULES, { maxErrors: MAX_ERRORS })
  if (errors.length > 0) throw new InvalidDocument(errors)
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION)
      fragments.set(definition.name.value, definition)
  }
  return { document, fragments, fixed: findFixedParts(document, work.done()) }
}

/** What an operation must be, by the surface that it came in at: HTTP takes queries, the socket takes subscriptions. */
export type OperationKind = 'query' | 'subscription'

const wrongKind = ({ operation }: OperationDefinitionNode, wanted: OperationKind): string => {
  if (wanted === 'subscription')
    return `Only subscriptions are served here, not a ${operation}: send it by POST to /graphql`
  if (operation === OperationTypeNode.SUBSCRIPTION)
    return 'Subscriptions are served over WebSocket (graphql-transport-ws): only queries are served here'
  return `The schema has no ${operation} type: only queries are served`
}

/** The operation to run. Throws `GraphQLError` when it is ambiguous, or is not of the kind. */
export const selectOperation = (
  { document }: ParsedDocument,
  name: string | undefined,
  kind: OperationKind,
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
  if (operation.operation !== kind)
    throw new GraphQLError(wrongKind(operation, kind), { nodes: operation })
  return operation
}

const coerceVariable = (
  definition: VariableDefinitionNode,
  given: Readonly<Record<string, unknown>>,
  context: Pick<ValueContext, 'limits' | 'work'>,
): ValueNode | undefined => {
  const name = definition.variable.name.value
  const supplied = Object.hasOwn(given, name) ? given[name] : undefined
  const required = definition.type.kind === Kind.NON_NULL_TYPE
  if (supplied === undefined && definition.defaultValue) {
    return toValueNode(valueFromASTUntyped(definition.defaultValue), context)
  }
  if (required && (supplied === undefined || supplied === null)) {
    throw new GraphQLError(`Variable '$${name}' needs a value`, { nodes: definition })
  }
  return supplied === undefined ? undefined : toValueNode(supplied, context)
}

/** Turns the variables of a request into literals. Throws `GraphQLError`. */
export const coerceVariables = (
  operation: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
  context: Pick<ValueContext, 'limits' | 'work'>,
): Variables => {
  const values = new Map<string, ValueNode>()
  for (const definition of operation.variableDefinitions ?? []) {
    const value = coerceVariable(definition, given, context)
    if (value) values.set(definition.variable.name.value, value)
  }
  return values
}
