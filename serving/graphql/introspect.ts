import {
  type DocumentNode,
  executeSync,
  type FieldNode,
  FieldsOnCorrectTypeRule,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  KnownArgumentNamesRule,
  KnownTypeNamesRule,
  MaxIntrospectionDepthRule,
  OperationTypeNode,
  OverlappingFieldsCanBeMergedRule,
  PossibleFragmentSpreadsRule,
  ProvidedRequiredArgumentsRule,
  ScalarLeafsRule,
  ValuesOfCorrectTypeRule,
  validate,
  visit,
} from 'graphql'
import { InvalidDocument, type ParsedDocument } from './document.ts'
import type { Variables } from './values.ts'

const RULES = [
  MaxIntrospectionDepthRule,
  FieldsOnCorrectTypeRule,
  KnownTypeNamesRule,
  PossibleFragmentSpreadsRule,
  ScalarLeafsRule,
  KnownArgumentNamesRule,
  ProvidedRequiredArgumentsRule,
  ValuesOfCorrectTypeRule,
  OverlappingFieldsCanBeMergedRule,
]
/** A full introspection query has about a hundred fields and no alias; many aliases multiply the answer. */
const MAX_FIELDS = 400
const MAX_ALIASES = 10

const checkSize = (document: DocumentNode): void => {
  let fields = 0
  let aliases = 0
  visit(document, {
    Field: (node) => {
      fields++
      if (node.alias) aliases++
    },
  })
  if (fields > MAX_FIELDS || aliases > MAX_ALIASES)
    throw new GraphQLError(
      `Introspection takes at most ${MAX_FIELDS} fields and ${MAX_ALIASES} aliases`,
    )
}

/** Answers `__schema` and `__type` fields of a query. Throws `GraphQLError` or `InvalidDocument`. */
export const introspect = (
  schema: GraphQLSchema,
  nodes: readonly FieldNode[],
  { fragments }: ParsedDocument,
  variables: Variables,
): Readonly<Record<string, unknown>> => {
  const literal: DocumentNode = {
    kind: Kind.DOCUMENT,
    definitions: [
      {
        kind: Kind.OPERATION_DEFINITION,
        operation: OperationTypeNode.QUERY,
        selectionSet: { kind: Kind.SELECTION_SET, selections: nodes },
      },
      ...[...fragments.values()].filter(({ typeCondition }) =>
        typeCondition.name.value.startsWith('__'),
      ),
    ],
  }
  const document = visit(literal, {
    Variable: (node) => variables.get(node.name.value) ?? { kind: Kind.NULL },
  })
  checkSize(document)
  const errors = validate(schema, document, RULES)
  if (errors.length > 0) throw new InvalidDocument(errors)
  const { data, errors: failed } = executeSync({ schema, document })
  if (failed) throw new InvalidDocument(failed)
  return data ?? {}
}
