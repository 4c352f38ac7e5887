import {
  type ArgumentNode,
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  Kind,
  type SelectionSetNode,
  visit,
} from 'graphql'
import type { Cube } from '../../schemas/cubes/types.ts'
import type { CoercedInput } from './conditions.ts'
import type { NamedFields } from './order-by.ts'
import type { Field, ValueField } from './selection.ts'

/** A selection set that was rewritten: the same in every request that has it at this depth of this type. */
export interface RewrittenSet {
  readonly type: GraphQLObjectType
  /** Selection sets around it: fragments may spread one at several depths. */
  readonly depth: number
  readonly fields: readonly FieldNode[]
  /** Fields of the answer that it adds. */
  readonly count: number
  /** Steps of planning that it took. */
  readonly steps: number
}

/** Arguments of a field that were rewritten and checked. */
export interface RewrittenArguments {
  readonly definition: GraphQLField<unknown, unknown>
  readonly arguments: readonly ArgumentNode[]
  /** Steps of rewriting them: each copy of the field is checked and read again later. */
  readonly steps: number
}

/** Fields of a record as they were read for one cube of one group: groups share types, but not their cubes. */
export interface ReadRecord {
  readonly cube: Cube
  readonly cubes: ReadonlyMap<string, Cube>
  readonly fields: readonly Field[]
  readonly values: readonly ValueField[]
  readonly named: NamedFields
  /** Steps of planning that it took. */
  readonly steps: number
}

/** What no variable stands in, of one document: it is rewritten and read in the first request, and kept with the document. */
export interface FixedParts {
  /** Steps that the document and what is kept with it took: a measure of their size. */
  keptSteps: number
  readonly sets: ReadonlySet<SelectionSetNode>
  readonly rewritten: Map<SelectionSetNode, RewrittenSet>
  /** Fields without a variable in their arguments. */
  readonly fields: ReadonlySet<FieldNode>
  readonly rewrittenArguments: Map<FieldNode, RewrittenArguments>
  /** Values of arguments by a list of them. */
  readonly coerced: WeakMap<readonly ArgumentNode[], CoercedInput>
  /** By the fields of a rewritten set. */
  readonly records: WeakMap<readonly FieldNode[], ReadRecord>
}

/** What a walk through a document finds of variables. */
interface VariableUses {
  readonly sets: Set<SelectionSetNode>
  readonly fields: Set<FieldNode>
  /** Sets and fields that a variable stands in. */
  readonly varying: Set<SelectionSetNode | FieldNode>
  readonly spreading: Set<SelectionSetNode>
  hasVariables: boolean
  fragmentsVary: boolean
}

const findVariables = (document: DocumentNode): VariableUses => {
  const [sets, fields] = [new Set<SelectionSetNode>(), new Set<FieldNode>()]
  const varying = new Set<SelectionSetNode | FieldNode>()
  const uses = { sets, fields, varying, spreading: new Set<SelectionSetNode>() }
  let [hasVariables, inFragment, fragmentsVary] = [false, false, false]
  const [setsAround, fieldsAround]: [SelectionSetNode[], FieldNode[]] = [[], []]
  visit(document, {
    enter: (node) => {
      if (node.kind === Kind.SELECTION_SET) {
        sets.add(node)
        setsAround.push(node)
      } else if (node.kind === Kind.FIELD) {
        fields.add(node)
        fieldsAround.push(node)
      } else if (node.kind === Kind.FRAGMENT_DEFINITION) inFragment = true
      else if (node.kind === Kind.FRAGMENT_SPREAD)
        for (const set of setsAround) uses.spreading.add(set)
      else if (node.kind === Kind.VARIABLE) {
        hasVariables = true
        fragmentsVary ||= inFragment
        for (const set of setsAround) varying.add(set)
        const field = fieldsAround.at(-1)
        if (field) varying.add(field)
      }
    },
    leave: (node) => {
      if (node.kind === Kind.SELECTION_SET) setsAround.pop()
      else if (node.kind === Kind.FIELD) fieldsAround.pop()
      else if (node.kind === Kind.FRAGMENT_DEFINITION) inFragment = false
    },
  })
  return { ...uses, hasVariables, fragmentsVary }
}

/**
 * Finds the parts of a document that no variable stands in, also not in a fragment that they spread: one variable in a fragment
 * counts for every set with a spread. A document without variables has none: its plan is kept whole.
 */
export const findFixedParts = (document: DocumentNode, documentSteps: number): FixedParts => {
  const uses = findVariables(document)
  const { sets, fields, varying, spreading, hasVariables, fragmentsVary } = uses
  const isFixed = (set: SelectionSetNode): boolean =>
    !varying.has(set) && !(fragmentsVary && spreading.has(set))
  return {
    keptSteps: documentSteps,
    sets: new Set(hasVariables ? [...sets].filter(isFixed) : []),
    rewritten: new Map(),
    fields: new Set(hasVariables ? [...fields].filter((field) => !varying.has(field)) : []),
    rewrittenArguments: new Map(),
    coerced: new WeakMap(),
    records: new WeakMap(),
  }
}

/** What one operation was rewritten to in its parts without variables. */
export interface FoundParts {
  readonly sets: (readonly [set: SelectionSetNode, fields: RewrittenSet])[]
  readonly arguments: (readonly [field: FieldNode, rewritten: RewrittenArguments])[]
}

/**
 * Keeps what was found in an operation without errors. Of two places of one set the cheaper counts, so that none is dearer when it
 * comes again.
 */
export const keepParts = (fixed: FixedParts, found: FoundParts): void => {
  for (const [set, fields] of found.sets) {
    const known = fixed.rewritten.get(set)
    const isSame = known?.type === fields.type && known.depth === fields.depth
    if (isSame && known.steps <= fields.steps) continue
    fixed.rewritten.set(set, fields)
    fixed.keptSteps += fields.steps - (known?.steps ?? 0)
  }
  for (const [field, rewritten] of found.arguments) {
    const known = fixed.rewrittenArguments.get(field)
    fixed.rewrittenArguments.set(field, rewritten)
    fixed.keptSteps += rewritten.steps - (known?.steps ?? 0)
  }
}
