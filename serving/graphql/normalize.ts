import {
  type ArgumentNode,
  type DirectiveNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLBoolean,
  GraphQLError,
  type GraphQLField,
  GraphQLObjectType,
  getNamedType,
  Kind,
  type OperationDefinitionNode,
  print,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
} from 'graphql'
import { chainRow } from '../../schemas/chains.ts'
import { CUBE_GROUP_NAMES, CUBE_GROUPS, type CubeGroup } from '../../schemas/cubes/types.ts'
import {
  type FixedParts,
  type FoundParts,
  keepParts,
  type RewrittenArguments,
} from './fixed-parts.ts'
import {
  normalizeValue,
  resolveChainAlias,
  resolveStateSuffix,
  type ValueContext,
} from './normalize-values.ts'
import { InvalidDocument } from './parse-document.ts'
import { stepsOfText } from './planning-budget.ts'
import { type CubeSchema, isRootType, rootOf } from './schema.ts'
import {
  addError,
  suggestNames,
  type ValidationState,
  validateArguments,
  validateSelectionSet,
} from './validate-arguments.ts'

/** Alias of the leaf inside a field with two shapes that was asked for as a leaf. */
export const LEAF_FORM_ALIAS = '__leaf'
/** Prefix of the alias of a group that was wrapped around a root-level cube. */
export const FLAT_ROOT_PREFIX = '__flat_'

/** What a rewrite works with, beside the operation. */
export interface NormalizeContext extends ValueContext {
  readonly catalogue: CubeSchema
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>
  readonly fixed: FixedParts
}

interface NormalizeState extends NormalizeContext, ValidationState {
  /** Fragments repeat a field: its arguments are rewritten once. */
  readonly rewritten: Map<FieldNode, RewrittenArguments>
  readonly argumentTexts: Map<FieldNode, string>
  /** Fields of the answer so far: fragments may multiply them. */
  fields: number
  /** Selection sets around the one that is read. */
  depth: number
  /** What parts without variables were rewritten to: kept once the whole operation is found right. */
  readonly found: FoundParts
  /** Inside a set without variables. */
  isFixed: boolean
}

/** Deepest nesting once fragments are spread: each may hold the next. */
const MAX_NESTING = 500

const withNesting = <T>(pass: NormalizeState, at: SelectionNode, read: () => T): T => {
  if (++pass.depth > MAX_NESTING)
    throw new GraphQLError(`Fragments are nested deeper than ${MAX_NESTING}`, { nodes: at })
  const value = read()
  pass.depth--
  return value
}

const isIncluded = (
  directives: readonly DirectiveNode[] | undefined,
  pass: NormalizeState,
): boolean => {
  for (const directive of directives ?? []) {
    const given = directive.arguments?.find(({ name }) => name.value === 'if')?.value
    const value = given && normalizeValue(given, GraphQLBoolean, pass)
    if (value?.kind !== Kind.BOOLEAN) {
      const message = `@${directive.name.value} needs 'if: true' or 'if: false'`
      addError(pass, new GraphQLError(message, { nodes: directive }))
    } else if (value.value === (directive.name.value === 'skip')) return false
  }
  return true
}

const nameNode = (name: string) => ({ kind: Kind.NAME as const, value: name })

const SKIPPED: readonly DirectiveNode[] = [
  {
    kind: Kind.DIRECTIVE,
    name: nameNode('skip'),
    arguments: [
      { kind: Kind.ARGUMENT, name: nameNode('if'), value: { kind: Kind.BOOLEAN, value: true } },
    ],
  },
]

/** True for a field that a directive took out: it was checked, but is not answered. */
export const isSkipped = (node: FieldNode): boolean => (node.directives?.length ?? 0) > 0

/** Nodes of one level by response key. A selection set that is spread twice at a level says nothing more: it is read once. */
interface ResponseLevel {
  readonly groups: Map<string, { readonly taken: boolean; readonly nodes: FieldNode[] }>
  readonly taken: Set<SelectionSetNode>
  readonly skipped: Set<SelectionSetNode>
}

const collectFields = (
  set: SelectionSetNode,
  type: GraphQLObjectType,
  taken: boolean,
  pass: NormalizeState,
  level: ResponseLevel,
): void => {
  const seen = taken ? level.taken : level.skipped
  if (seen.has(set)) return
  seen.add(set)
  for (const selection of set.selections) {
    pass.work.spend(1 + (selection.directives?.length ?? 0), selection)
    const wanted = isIncluded(selection.directives, pass) && taken
    if (selection.kind === Kind.FIELD) {
      const key = `${selection.alias?.value ?? selection.name.value}${wanted ? '' : ' skipped'}`
      const group = level.groups.get(key)
      if (group) group.nodes.push(selection)
      else level.groups.set(key, { taken: wanted, nodes: [selection] })
      continue
    }
    const fragment =
      selection.kind === Kind.INLINE_FRAGMENT ? selection : pass.fragments.get(selection.name.value)
    if (!fragment) continue
    const condition = fragment.typeCondition?.name.value
    if (condition !== undefined && condition !== type.name) {
      const message = `A fragment on '${condition}' cannot be spread on '${type.name}'`
      addError(pass, new GraphQLError(message, { nodes: selection }))
    } else {
      const { selectionSet } = fragment
      withNesting(pass, selection, () => collectFields(selectionSet, type, wanted, pass, level))
    }
  }
}

const argumentText = (node: FieldNode, pass: NormalizeState): string => {
  const known = pass.argumentTexts.get(node)
  if (known !== undefined) return known
  const text = (node.arguments ?? []).map(print).sort().join()
  pass.work.spend(stepsOfText(text.length * 8), node)
  pass.argumentTexts.set(node, text)
  return text
}

const isSameField = (a: FieldNode, b: FieldNode, pass: NormalizeState): boolean => {
  if (a.name.value !== b.name.value) return false
  if (!a.arguments?.length && !b.arguments?.length) return true
  const text = argumentText(a, pass)
  pass.work.spend(stepsOfText(text.length), a)
  return text === argumentText(b, pass)
}

/** A field of the answer is copied, read as a selection and compiled. */
const STEPS_PER_FIELD = 3

const countFields = (count: number, pass: NormalizeState): void => {
  pass.fields += count
  if (pass.fields > pass.limits.maxFields)
    throw new GraphQLError(`The document selects more than ${pass.limits.maxFields} fields`)
}

/** The same for a set without variables, which is rewritten once. */
const mergeFixedSet = (
  set: SelectionSetNode,
  type: GraphQLObjectType,
  pass: NormalizeState,
): readonly FieldNode[] => {
  const { fixed, work, depth } = pass
  const known = fixed.rewritten.get(set)
  if (known?.type === type && known.depth === depth) {
    work.spend(known.steps, set)
    countFields(known.count, pass)
    return known.fields
  }
  const [steps, count] = [work.done(), pass.fields]
  pass.isFixed = true
  const fields = mergeLevel([set], type, pass)
  pass.isFixed = false
  const spent = { count: pass.fields - count, steps: work.done() - steps }
  pass.found.sets.push([set, { type, depth, fields, ...spent }])
  return fields
}

const mergeSelectionSets = (
  sets: readonly SelectionSetNode[],
  type: GraphQLObjectType,
  pass: NormalizeState,
): readonly FieldNode[] => {
  const [first, ...others] = sets
  const isOutermost = first && others.length === 0 && !pass.isFixed && pass.fixed.sets.has(first)
  return isOutermost ? mergeFixedSet(first, type, pass) : mergeLevel(sets, type, pass)
}

const mergeLevel = (
  sets: readonly SelectionSetNode[],
  type: GraphQLObjectType,
  pass: NormalizeState,
): readonly FieldNode[] => {
  const level: ResponseLevel = { groups: new Map(), taken: new Set(), skipped: new Set() }
  for (const set of sets) collectFields(set, type, true, pass, level)
  const fields: FieldNode[] = []
  for (const { taken, nodes } of level.groups.values()) {
    const [first, ...rest] = nodes
    if (!first) continue
    pass.work.spend(STEPS_PER_FIELD, first)
    countFields(1, pass)
    const clash = rest.find((node) => !isSameField(first, node, pass))
    if (clash) {
      const key = first.alias?.value ?? first.name.value
      const message = `Fields '${key}' differ: give one of them another alias`
      addError(pass, new GraphQLError(message, { nodes: [first, clash] }))
    }
    const inner = nodes.flatMap(({ selectionSet }) => (selectionSet ? [selectionSet] : []))
    const field = normalizeField(first, inner, type, pass)
    if (field) fields.push({ ...field, directives: taken ? [] : SKIPPED })
  }
  return fields
}

/** Arguments as the definition declares them, checked. */
const rewriteArguments = (
  node: FieldNode,
  type: GraphQLObjectType,
  definition: GraphQLField<unknown, unknown>,
  pass: NormalizeState,
): readonly ArgumentNode[] => {
  const { fixed, found } = pass
  const known = pass.rewritten.get(node) ?? fixed.rewrittenArguments.get(node)
  if (known?.definition === definition) {
    pass.work.spend(known.steps, node)
    return known.arguments
  }
  const before = pass.work.done()
  const rewritten = (node.arguments ?? []).flatMap((argument): ArgumentNode[] => {
    const expected = definition.args.find((arg) => arg.name === argument.name.value)
    const value = expected ? normalizeValue(argument.value, expected.type, pass) : argument.value
    return value ? [{ ...argument, value }] : []
  })
  const steps = pass.work.done() - before
  validateArguments(node, rewritten, definition, type, pass)
  const kept = { definition, arguments: rewritten, steps }
  pass.rewritten.set(node, kept)
  if (!pass.isFixed && rewritten.length > 0 && fixed.fields.has(node))
    found.arguments.push([node, kept])
  return rewritten
}

/** The definition of a field that every type or the root has beside its own. */
const metaField = (name: string, isRoot: boolean): GraphQLField<unknown, unknown> | undefined => {
  if (name === TypeNameMetaFieldDef.name) return TypeNameMetaFieldDef
  if (!isRoot) return undefined
  return name === SchemaMetaFieldDef.name
    ? SchemaMetaFieldDef
    : name === TypeMetaFieldDef.name
      ? TypeMetaFieldDef
      : undefined
}

const normalizeField = (
  node: FieldNode,
  inner: readonly SelectionSetNode[],
  type: GraphQLObjectType,
  pass: NormalizeState,
): FieldNode | undefined => {
  const written = node.name.value
  const known = type.getFields()
  const isRoot = isRootType(pass.catalogue, type)
  if (isRoot && !(written in known) && pass.catalogue.cubes.has(written)) {
    return wrapRootCube(node, inner, pass)
  }
  const name = type.name.startsWith('__')
    ? written
    : resolveStateSuffix(written, (candidate) => candidate in known)
  const definition = known[name] ?? metaField(written, isRoot)
  if (!definition) {
    const near = suggestNames(written, Object.keys(known), pass)
    const message = `Unknown field '${written}' on type '${type.name}'${near}`
    addError(pass, new GraphQLError(message, { nodes: node }))
    return undefined
  }
  const alias = name === written ? node.alias : (node.alias ?? node.name)
  const { selectionSet: _, alias: __, ...rest } = node
  const field = {
    ...rest,
    ...(alias && { alias }),
    name: { ...node.name, value: name },
    arguments: rewriteArguments(node, type, definition, pass),
  }
  const fieldType = getNamedType(definition.type)
  const leaf =
    fieldType instanceof GraphQLObjectType && inner.length === 0
      ? leafFormField(fieldType)
      : undefined
  if (leaf) return { ...field, selectionSet: { kind: Kind.SELECTION_SET, selections: [leaf] } }
  if (!validateSelectionSet(node, inner.length > 0, definition, pass)) return undefined
  if (!(fieldType instanceof GraphQLObjectType)) return field
  const selections = withNesting(pass, node, () => mergeSelectionSets(inner, fieldType, pass))
  return { ...field, selectionSet: { kind: Kind.SELECTION_SET, selections } }
}

const joinSelectionSets = (sets: readonly SelectionSetNode[]): SelectionSetNode => {
  const [first, ...others] = sets
  if (first && others.length === 0) return first
  return { kind: Kind.SELECTION_SET, selections: sets.flatMap(({ selections }) => selections) }
}

/** N11: the leaf that stands for a field with two shapes, marked in the type's extensions. */
const leafFormField = (type: GraphQLObjectType): FieldNode | undefined => {
  const { leaf } = type.extensions
  if (typeof leaf !== 'string') return undefined
  return { kind: Kind.FIELD, alias: nameNode(LEAF_FORM_ALIAS), name: nameNode(leaf) }
}

const GROUP_ARGUMENTS: ReadonlySet<string> = new Set(['network', 'dataset', 'aggregates'])

/** The group with the rows of a chain; without one, that of all chains. A word that names none is refused as a network of `EVM`. */
const groupOfChain = (chain: string | undefined): CubeGroup => {
  const vm = chain ? chainRow(chain)?.vm : null
  return CUBE_GROUP_NAMES.find((name) => CUBE_GROUPS[name].vm === vm) ?? 'EVM'
}

/** N12: `Cube(network: n, …)` at the root becomes the same cube inside its group. */
const wrapRootCube = (
  node: FieldNode,
  inner: readonly SelectionSetNode[],
  pass: NormalizeState,
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
  const chain = word && resolveChainAlias(word)
  if (!cube || (!chain && !cube.groups.includes('Trading'))) {
    const message = `'${node.name.value}' at the root needs the argument 'network'`
    addError(pass, new GraphQLError(message, { nodes: node }))
    return undefined
  }
  const group = groupOfChain(chain)
  const key = node.alias ?? node.name
  const body: FieldNode = {
    ...node,
    alias: key,
    name: { ...node.name, value: cube.name },
    arguments: ofCube,
    ...(inner.length > 0 && { selectionSet: joinSelectionSets(inner) }),
  }
  const wrapper: FieldNode = {
    kind: Kind.FIELD,
    alias: nameNode(`${FLAT_ROOT_PREFIX}${key.value}`),
    name: nameNode(group),
    arguments: ofGroup,
    ...(node.loc && { loc: node.loc }),
  }
  const root = pass.catalogue.schema.getQueryType()
  if (!root) return undefined
  return normalizeField(wrapper, [{ kind: Kind.SELECTION_SET, selections: [body] }], root, pass)
}

/**
 * Rewrites an operation to the declared forms: fragments are spread, variables become literals,
 * fields of one response key are merged. What is left fits the schema. Throws
 * `GraphQLError` or `InvalidDocument`.
 */
export const normalizeOperation = (
  operation: OperationDefinitionNode,
  context: NormalizeContext,
): OperationDefinitionNode => {
  const root = rootOf(context.catalogue, operation)
  const pass: NormalizeState = {
    ...context,
    errors: [],
    checked: new Set(),
    rewritten: new Map(),
    argumentTexts: new Map(),
    fields: 0,
    depth: 0,
    found: { sets: [], arguments: [] },
    isFixed: false,
  }
  const selections = mergeSelectionSets([operation.selectionSet], root, pass)
  if (pass.errors.length > 0) throw new InvalidDocument(pass.errors)
  keepParts(context.fixed, pass.found)
  if (selections.length === 0) throw new GraphQLError('The operation selects no fields')
  return {
    ...operation,
    variableDefinitions: [],
    selectionSet: { ...operation.selectionSet, selections },
  }
}
