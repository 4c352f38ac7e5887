import {
  type ArgumentNode,
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLBoolean,
  GraphQLError,
  GraphQLObjectType,
  getNamedType,
  Kind,
  KnownArgumentNamesRule,
  type OperationDefinitionNode,
  ProvidedRequiredArgumentsRule,
  print,
  ScalarLeafsRule,
  type SelectionSetNode,
  ValuesOfCorrectTypeRule,
  validate,
} from 'graphql'
import { CHAIN_WORDS } from '../../schemas/chains.ts'
import { InvalidDocument } from './document.ts'
import { MAX_ERRORS, type QueryLimits } from './limits.ts'
import type { Catalogue } from './schema.ts'
import { normalizeValue, type Variables, withoutState } from './values.ts'

/** Alias of the leaf inside a field with two shapes that was asked for as a leaf. */
export const LEAF_FORM = '__leaf'
/** Prefix of the alias of a group that was wrapped around a root-level cube. */
export const FLAT_ROOT = '__flat_'

interface Pass {
  readonly catalogue: Catalogue
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>
  readonly variables: Variables
  readonly limits: QueryLimits
  readonly errors: GraphQLError[]
  /** Fields seen so far: fragments may multiply them. */
  fields: number
}

const complain = (pass: Pass, error: GraphQLError): void => {
  pass.errors.push(error)
  if (pass.errors.length >= MAX_ERRORS) throw new InvalidDocument(pass.errors)
}

const isTaken = (directives: readonly DirectiveNode[] | undefined, pass: Pass): boolean => {
  for (const directive of directives ?? []) {
    const given = directive.arguments?.find(({ name }) => name.value === 'if')?.value
    const value = given && normalizeValue(given, GraphQLBoolean, pass)
    if (value?.kind !== Kind.BOOLEAN) {
      const message = `@${directive.name.value} needs 'if: true' or 'if: false'`
      complain(pass, new GraphQLError(message, { nodes: directive }))
    } else if (value.value === (directive.name.value === 'skip')) return false
  }
  return true
}

const named = (name: string) => ({ kind: Kind.NAME as const, value: name })

const SKIPPED: readonly DirectiveNode[] = [
  {
    kind: Kind.DIRECTIVE,
    name: named('skip'),
    arguments: [
      { kind: Kind.ARGUMENT, name: named('if'), value: { kind: Kind.BOOLEAN, value: true } },
    ],
  },
]

/** True for a field that a directive took out: it was checked, but is not answered. */
export const isSkipped = (node: FieldNode): boolean => (node.directives?.length ?? 0) > 0

type Groups = Map<string, { readonly taken: boolean; readonly nodes: FieldNode[] }>

const collect = (
  set: SelectionSetNode,
  type: GraphQLObjectType,
  taken: boolean,
  pass: Pass,
  into: Groups,
): void => {
  for (const selection of set.selections) {
    const inside = isTaken(selection.directives, pass) && taken
    if (selection.kind === Kind.FIELD) {
      if (++pass.fields > pass.limits.maxFields)
        throw new GraphQLError(`The document selects more than ${pass.limits.maxFields} fields`)
      const key = `${selection.alias?.value ?? selection.name.value}${inside ? '' : ' skipped'}`
      const group = into.get(key)
      if (group) group.nodes.push(selection)
      else into.set(key, { taken: inside, nodes: [selection] })
      continue
    }
    const fragment =
      selection.kind === Kind.INLINE_FRAGMENT ? selection : pass.fragments.get(selection.name.value)
    if (!fragment) continue
    const condition = fragment.typeCondition?.name.value
    if (condition !== undefined && condition !== type.name) {
      const message = `A fragment on '${condition}' cannot be spread on '${type.name}'`
      complain(pass, new GraphQLError(message, { nodes: selection }))
    } else collect(fragment.selectionSet, type, inside, pass, into)
  }
}

const sameField = (a: FieldNode, b: FieldNode): boolean =>
  a.name.value === b.name.value && argumentText(a) === argumentText(b)
const argumentText = (node: FieldNode): string => (node.arguments ?? []).map(print).sort().join()

const flatten = (
  sets: readonly SelectionSetNode[],
  type: GraphQLObjectType,
  pass: Pass,
): readonly FieldNode[] => {
  const groups: Groups = new Map()
  for (const set of sets) collect(set, type, true, pass, groups)
  const fields: FieldNode[] = []
  for (const { taken, nodes } of groups.values()) {
    const [first, ...rest] = nodes
    if (!first) continue
    const clash = rest.find((node) => !sameField(first, node))
    if (clash) {
      const key = first.alias?.value ?? first.name.value
      const message = `Fields '${key}' differ: give one of them another alias`
      complain(pass, new GraphQLError(message, { nodes: [first, clash] }))
    }
    const inner = nodes.flatMap(({ selectionSet }) => (selectionSet ? [selectionSet] : []))
    const field = fieldOf(first, inner, type, pass)
    if (field) fields.push({ ...field, directives: taken ? [] : SKIPPED })
  }
  return fields
}

const fieldOf = (
  node: FieldNode,
  inner: readonly SelectionSetNode[],
  type: GraphQLObjectType,
  pass: Pass,
): FieldNode | undefined => {
  const written = node.name.value
  if (written.startsWith('__'))
    return inner.length > 0 ? { ...node, selectionSet: joined(inner) } : node
  const known = type.getFields()
  const isRoot = type === pass.catalogue.schema.getQueryType()
  if (isRoot && !(written in known) && pass.catalogue.cubes.has(written)) {
    return flatRoot(node, inner, pass)
  }
  const name = withoutState(written, (candidate) => candidate in known)
  const definition = known[name]
  if (!definition) {
    const message = `Unknown field '${written}' on type '${type.name}'`
    complain(pass, new GraphQLError(message, { nodes: node }))
    return undefined
  }
  const fieldArguments = (node.arguments ?? []).flatMap((argument): ArgumentNode[] => {
    const expected = definition.args.find((arg) => arg.name === argument.name.value)
    const value = expected ? normalizeValue(argument.value, expected.type, pass) : argument.value
    return value ? [{ ...argument, value }] : []
  })
  const alias = name === written ? node.alias : (node.alias ?? node.name)
  const { selectionSet: _, alias: __, ...rest } = node
  const field = {
    ...rest,
    ...(alias && { alias }),
    name: { ...node.name, value: name },
    arguments: fieldArguments,
  }
  const fieldType = getNamedType(definition.type)
  if (!(fieldType instanceof GraphQLObjectType)) {
    return inner.length > 0 ? { ...field, selectionSet: joined(inner) } : field
  }
  const leaf = inner.length === 0 ? leafFormOf(fieldType) : undefined
  if (leaf) return { ...field, selectionSet: { kind: Kind.SELECTION_SET, selections: [leaf] } }
  if (inner.length === 0) return field
  const selections = flatten(inner, fieldType, pass)
  return { ...field, selectionSet: { kind: Kind.SELECTION_SET, selections } }
}

const joined = (sets: readonly SelectionSetNode[]): SelectionSetNode => ({
  kind: Kind.SELECTION_SET,
  selections: sets.flatMap(({ selections }) => selections),
})

/** N11: the leaf that stands for a field with two shapes, marked in the type's extensions. */
const leafFormOf = (type: GraphQLObjectType): FieldNode | undefined => {
  const { leaf } = type.extensions
  if (typeof leaf !== 'string') return undefined
  return { kind: Kind.FIELD, alias: named(LEAF_FORM), name: named(leaf) }
}

const GROUP_ARGUMENTS: ReadonlySet<string> = new Set(['network', 'dataset', 'aggregates'])

/** N12: `Cube(network: n, …)` at the root becomes the same cube inside its group. */
const flatRoot = (
  node: FieldNode,
  inner: readonly SelectionSetNode[],
  pass: Pass,
): FieldNode | undefined => {
  const cube = pass.catalogue.cubes.get(node.name.value)
  const ofGroup = (node.arguments ?? []).filter(({ name }) => GROUP_ARGUMENTS.has(name.value))
  const ofCube = (node.arguments ?? []).filter(({ name }) => !GROUP_ARGUMENTS.has(name.value))
  const network = ofGroup.find(({ name }) => name.value === 'network')
  const given =
    network?.value.kind === Kind.VARIABLE
      ? pass.variables.get(network.value.name.value)
      : network?.value
  const word = given?.kind === Kind.ENUM || given?.kind === Kind.STRING ? given.value : undefined
  const chain = word && (CHAIN_WORDS[word] ?? word)
  if (!cube || (!chain && !cube.groups.includes('Trading'))) {
    const message = `'${node.name.value}' at the root needs the argument 'network'`
    complain(pass, new GraphQLError(message, { nodes: node }))
    return undefined
  }
  const group = !chain ? 'Trading' : chain === 'sol' ? 'Solana' : 'EVM'
  const key = node.alias ?? node.name
  const body: FieldNode = {
    ...node,
    alias: key,
    name: { ...node.name, value: cube.name },
    arguments: ofCube,
    ...(inner.length > 0 && { selectionSet: joined(inner) }),
  }
  const wrapper: FieldNode = {
    kind: Kind.FIELD,
    alias: named(`${FLAT_ROOT}${key.value}`),
    name: named(group),
    arguments: ofGroup,
    ...(node.loc && { loc: node.loc }),
  }
  const root = pass.catalogue.schema.getQueryType()
  if (!root) return undefined
  return fieldOf(wrapper, [{ kind: Kind.SELECTION_SET, selections: [body] }], root, pass)
}

/** Rules for the rewritten document, in which no variable, fragment or older form is left. */
const RULES = [
  ScalarLeafsRule,
  KnownArgumentNamesRule,
  ValuesOfCorrectTypeRule,
  ProvidedRequiredArgumentsRule,
]

/**
 * Rewrites an operation to the declared forms (contract/graphql.md 4.1) and checks it against the schema: fragments are
 * spread, variables become literals, fields of one response key are merged. Throws `GraphQLError` or `InvalidDocument`.
 */
export const normalize = (
  operation: OperationDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  variables: Variables,
  catalogue: Catalogue,
  limits: QueryLimits,
): OperationDefinitionNode => {
  const root = catalogue.schema.getQueryType()
  if (!root) throw new Error('the schema has no query type')
  const pass: Pass = { catalogue, fragments, variables, limits, errors: [], fields: 0 }
  const selections = flatten([operation.selectionSet], root, pass)
  const rewritten: OperationDefinitionNode = {
    ...operation,
    variableDefinitions: [],
    selectionSet: { ...operation.selectionSet, selections },
  }
  const document: DocumentNode = { kind: Kind.DOCUMENT, definitions: [rewritten] }
  if (pass.errors.length > 0) throw new InvalidDocument(pass.errors)
  if (selections.length === 0) throw new GraphQLError('The operation selects nothing')
  const errors = validate(catalogue.schema, document, RULES, { maxErrors: MAX_ERRORS })
  if (errors.length > 0) throw new InvalidDocument(errors)
  return rewritten
}
