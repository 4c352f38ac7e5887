import {
  GraphQLBoolean,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLString,
} from 'graphql'
import type { LeafType } from '../../schemas/cubes/types.ts'
import { type OperandKind, operatorsOf, type ValueKind } from './operators.ts'
import { RelativeTimeType } from './relative-time.ts'
import { DateTimeType, DecimalType, FloatType, IntType } from './scalars.ts'

type OperatorFields = Readonly<Record<string, { readonly type: GraphQLInputType }>>

/** The fields of a filter over values of a kind. */
const operatorInputFields = (kind: ValueKind, type: GraphQLInputType): OperatorFields => {
  const listType = new GraphQLList(new GraphQLNonNull(type))
  const typeOf = (operand: OperandKind): GraphQLInputType => {
    if (operand === 'several' || operand === 'period') return listType
    if (operand === 'flag') return GraphQLBoolean
    if (operand === 'ago') return RelativeTimeType
    return operand === 'length' ? ListLengthFilter : type
  }
  return Object.fromEntries(
    operatorsOf(kind).map(({ name, operand }) => [name, { type: typeOf(operand) }]),
  )
}

const ListLengthFilter = new GraphQLInputObjectType({
  name: 'ListLengthFilter',
  description: 'How many items a list has.',
  fields: () => operatorInputFields('number', IntType),
})

const FIELDS_BY_FILTER_TYPE: Readonly<Record<string, OperatorFields>> = {
  StringFilter: operatorInputFields('text', GraphQLString),
  IntFilter: operatorInputFields('number', IntType),
  FloatFilter: operatorInputFields('number', FloatType),
  DecimalFilter: operatorInputFields('number', DecimalType),
  BoolFilter: operatorInputFields('boolean', GraphQLBoolean),
  DateTimeFilter: operatorInputFields('time', DateTimeType),
  StringListFilter: operatorInputFields('list', GraphQLString),
  IntListFilter: operatorInputFields('list', IntType),
  FloatListFilter: operatorInputFields('list', FloatType),
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
export const operatorFields = (type: LeafType): OperatorFields =>
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
