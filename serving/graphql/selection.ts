import type { Cube, Leaf } from '../../schemas/cubes/types.ts'
import type { Expression } from './expression.ts'
import type { Operator } from './operators.ts'

/** A filter over rows. A comparison with a null value never holds. */
export type Condition =
  | { readonly kind: 'all' | 'any'; readonly of: readonly Condition[] }
  | {
      readonly kind: 'compare'
      readonly path: string
      readonly leaf: Leaf
      readonly operator: Operator
      readonly value: unknown
    }

/** Lookups whose columns a filter reads. */
export const lookupsOfCondition = (condition: Condition): readonly string[] =>
  condition.kind === 'compare'
    ? condition.leaf.needs === undefined
      ? []
      : [condition.leaf.needs]
    : condition.of.flatMap(lookupsOfCondition)

/** A filter that reads none of these lookups and holds wherever the given one does. */
export const withoutLookups = (
  condition: Condition,
  isLeftOut: (lookup: string) => boolean,
): Condition => {
  if (!lookupsOfCondition(condition).some(isLeftOut)) return condition
  if (condition.kind !== 'all') return { kind: 'all', of: [] }
  return { kind: 'all', of: condition.of.map((inner) => withoutLookups(inner, isLeftOut)) }
}

/** A comparison of a metric's value with a number (`selectWhere`). */
export interface Having {
  readonly operator: Operator
  readonly value: string
}

export type IntervalUnit =
  | 'seconds'
  | 'minutes'
  | 'hours'
  | 'days'
  | 'weeks'
  | 'months'
  | 'quarters'
  | 'years'

/** Width of a bucket. */
export interface Interval {
  readonly unit: IntervalUnit
  readonly count: number
  /** Name of the time zone at whose midnight days begin; absent: UTC. */
  readonly zone?: string
}

export type MetricName = 'count' | 'uniq' | 'sum' | 'avg' | 'min' | 'max' | 'quantile'

/** A leaf as it is stored, or the bucket that it falls into. */
export interface DimensionField {
  readonly kind: 'dimension'
  readonly key: string
  readonly path: string
  readonly leaf: Leaf
  readonly interval?: Interval
}

/** Value of a leaf in the row where another one is greatest or least. */
export interface PickField {
  readonly kind: 'pick'
  readonly key: string
  readonly path: string
  readonly leaf: Leaf
  readonly by: Leaf
  readonly greatest: boolean
}

/** A leaf by the bucket that it falls into. */
export interface BucketField extends DimensionField {
  readonly interval: Interval
}

/** True for a leaf with an interval. */
export const isBucketField = (field: ValueField): field is BucketField =>
  field.kind === 'dimension' && field.interval !== undefined

/** An aggregate. */
export interface MetricField {
  readonly kind: 'metric'
  readonly key: string
  readonly metric: MetricName
  readonly path?: string
  readonly leaf?: Leaf
  readonly where?: Condition
  /** What a quantile is taken at, 0 to 1; no other metric reads it. */
  readonly level: string
  readonly having: readonly Having[]
}

/** Arithmetic over other fields of the record. */
export interface CalculateField {
  readonly kind: 'calculate'
  readonly key: string
  readonly expression: Expression
  readonly having: readonly Having[]
}

/** A field with a value of its own. */
export type ValueField = DimensionField | PickField | MetricField | CalculateField

/** Before the name of a cube: the field that joins its rows. */
export const JOIN_PREFIX = 'join'

/** Rows of another cube of the same transaction, beside each row. */
export interface JoinField {
  readonly kind: 'join'
  readonly key: string
  readonly cube: Cube
  readonly fields: readonly Field[]
}

/** One field of the answer's record, in the order of the query. */
export type Field =
  | ValueField
  | JoinField
  | { readonly kind: 'group'; readonly key: string; readonly fields: readonly Field[] }
  | { readonly kind: 'typename'; readonly key: string; readonly name: string }

/** One key of the order. */
export type OrderKey = { readonly descending: boolean } & (
  | { readonly path: string; readonly leaf: Leaf }
  | { readonly field: ValueField }
)

/** One cube selection of a request, ready to be compiled. */
export interface CubeSelection {
  readonly cube: Cube
  readonly chains: readonly string[]
  readonly fields: readonly Field[]
  /** The value fields among them, groups opened: see `valueFields`. */
  readonly values: readonly ValueField[]
  readonly where: Condition
  readonly order: readonly OrderKey[]
  readonly limit: { readonly count: number; readonly offset: number }
  readonly limitBy?: {
    readonly by: readonly { readonly path: string; readonly leaf: Leaf }[]
    readonly count: number
    readonly offset: number
  }
  readonly dataset: 'combined' | 'realtime' | 'archive'
  readonly aggregates: 'yes' | 'no' | 'only'
}

/** The value fields of a record, groups opened; those of joins are not its own. */
export const valueFields = (fields: readonly Field[]): readonly ValueField[] =>
  fields.flatMap((field) => {
    if (field.kind === 'group') return valueFields(field.fields)
    return field.kind === 'typename' || field.kind === 'join' ? [] : [field]
  })

/** Values of one written record, those of joins and type names as well. */
export const countLeaves = (fields: readonly Field[]): number =>
  fields.reduce((sum, field) => sum + ('fields' in field ? countLeaves(field.fields) : 1), 0)

/** The joins of a record. */
export const joinFields = (fields: readonly Field[]): readonly JoinField[] =>
  fields.filter((field) => field.kind === 'join')

/** True when rows are aggregated: a metric, a dimension aggregate or an interval was selected. */
export const isGrouped = (fields: readonly ValueField[]): boolean =>
  fields.some((field) => field.kind !== 'dimension' || isBucketField(field))
