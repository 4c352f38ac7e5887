import {
  GraphQLBoolean,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLString,
} from 'graphql'
import type { LeafType } from '../../schemas/cubes/types.ts'
import { RELATIVE_OPERATORS, RelativeTimeType } from './relative-time.ts'
import { DateTimeType, DecimalType, FloatType, IntType } from './scalars.ts'

const operatorInputFields = (
  type: GraphQLInputType,
  single: readonly string[],
  lists: readonly string[],
): Record<string, { readonly type: GraphQLInputType }> => ({
  ...Object.fromEntries(single.map((name) => [name, { type }])),
  ...Object.fromEntries(
    lists.map((name) => [name, { type: new GraphQLList(new GraphQLNonNull(type)) }]),
  ),
  isNull: { type: GraphQLBoolean },
})

const COMPARISONS = ['eq', 'ne', 'gt', 'ge', 'gte', 'lt', 'le', 'lte'] as const
const STRING_OPERATORS = [
  'is',
  'not',
  'like',
  'notLike',
  'includes',
  'notIncludes',
  'startsWith',
  'endsWith',
  'likeCaseInsensitive',
  'notLikeCaseInsensitive',
  'includesCaseInsensitive',
  'notIncludesCaseInsensitive',
  'startsWithCaseInsensitive',
] as const

const LIST_OPERATORS = ['is', 'not', 'includes', 'notIncludes', 'excludes'] as const
const ListLengthFilter = new GraphQLInputObjectType({
  name: 'ListLengthFilter',
  description: 'How many items a list has.',
  fields: operatorInputFields(IntType, COMPARISONS, ['in', 'notIn']),
})

/** What a list holds: `is` and `includes` ask for one item, `in` for any of several. A list is never null. */
const listOperatorFields = (item: GraphQLInputType): ReturnType<typeof operatorInputFields> => {
  const { isNull: _, ...fields } = operatorInputFields(item, LIST_OPERATORS, ['in', 'notIn'])
  return { ...fields, length: { type: ListLengthFilter } }
}

const FIELDS_BY_FILTER_TYPE: Readonly<Record<string, ReturnType<typeof operatorInputFields>>> = {
  StringFilter: operatorInputFields(GraphQLString, STRING_OPERATORS, ['in', 'notIn']),
  IntFilter: operatorInputFields(IntType, COMPARISONS, ['in', 'notIn']),
  FloatFilter: operatorInputFields(FloatType, COMPARISONS, ['in', 'notIn']),
  DecimalFilter: operatorInputFields(DecimalType, COMPARISONS, ['in', 'notIn']),
  BoolFilter: operatorInputFields(GraphQLBoolean, ['is', 'eq'], []),
  DateTimeFilter: {
    ...operatorInputFields(
      DateTimeType,
      ['is', 'not', 'since', 'till', 'after', 'before'],
      ['between', 'in', 'notIn'],
    ),
    ...Object.fromEntries(RELATIVE_OPERATORS.map((name) => [name, { type: RelativeTimeType }])),
  },
  StringListFilter: listOperatorFields(GraphQLString),
  IntListFilter: listOperatorFields(IntType),
  FloatListFilter: listOperatorFields(FloatType),
}

const FILTER_TYPE_BY_LEAF: Readonly<Record<LeafType, string>> = {
  String: 'StringFilter',
  Int: 'IntFilter',
  Float: 'FloatFilter',
  Boolean: 'BoolFilter',
  DateTime: 'DateTimeFilter',
  Date: 'DateTimeFilter',
  StringList: 'StringListFilter',
  IntList: 'IntListFilter',
  FloatList: 'FloatListFilter',
}

/** Operators of a leaf, as fields of an input type. */
export const operatorFields = (type: LeafType): ReturnType<typeof operatorInputFields> =>
  FIELDS_BY_FILTER_TYPE[FILTER_TYPE_BY_LEAF[type]] ?? {}

/** The filter types by name; one set per schema. */
export const createFilterTypes = (): Readonly<Record<string, GraphQLInputObjectType>> =>
  Object.fromEntries(
    Object.entries(FIELDS_BY_FILTER_TYPE).map(([name, fields]) => [
      name,
      new GraphQLInputObjectType({ name, fields }),
    ]),
  )

/** The filter type of a leaf. */
export const filterTypeOf = (
  types: Readonly<Record<string, GraphQLInputObjectType>>,
  type: LeafType,
): GraphQLInputObjectType => {
  const found = types[FILTER_TYPE_BY_LEAF[type]]
  if (!found) throw new Error(`no filter for ${type}`)
  return found
}
