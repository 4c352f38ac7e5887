import {
  type CubeSelection,
  isGrouped,
  joinFields,
  type ValueField,
  valueFields,
} from './selection.ts'

/** What the price of one cube selection depends on. */
export interface CreditFactors {
  readonly base: number
  /** Effective row limit. */
  readonly limit: number
  readonly aggregation: 'none' | 'group' | 'having'
  readonly metrics: number
  /** Selected leaf fields. */
  readonly fields: number
}

/** Twice the AggregationFactor. */
const DOUBLED_AGGREGATION_FACTOR = { none: 2, group: 3, having: 4 } as const
const MAX_COUNTED_FIELDS = 250
/** ComplexityFactor times 250: 1 + n / 250, at most 1.5. */
const MAX_COMPLEXITY = 375

/** Price in hundredths of a CU, in whole numbers throughout: doubles would overshoot. */
export const priceInHundredths = (factors: CreditFactors): number => {
  const { base, limit, aggregation, metrics, fields } = factors
  const pages = BigInt(Math.max(1, Math.ceil(limit / 100)))
  const complexity = Math.min(250 + Math.min(fields, MAX_COUNTED_FIELDS), MAX_COMPLEXITY)
  const scaled =
    BigInt(base) *
    pages *
    BigInt(DOUBLED_AGGREGATION_FACTOR[aggregation] * (10 + metrics) * complexity)
  const unit = 2n * 10n * 250n
  return Number((scaled + unit - 1n) / unit)
}

const isAggregate = (field: ValueField): boolean => field.kind !== 'dimension'

const aggregationKind = (fields: readonly ValueField[]): CreditFactors['aggregation'] => {
  const having = fields.some(
    (field) => (field.kind === 'metric' || field.kind === 'calculate') && field.having.length > 0,
  )
  if (having) return 'having'
  const plain = fields.some((field) => field.kind === 'dimension')
  return plain && fields.some(isAggregate) ? 'group' : 'none'
}

/** The factors of a selection; `calculate` is not a metric of its own. Leaves of joins count for the row that they are joined to. */
export const creditFactors = ({ cube, fields, values, limit }: CubeSelection): CreditFactors => {
  const joined = joinFields(fields).flatMap((join) => valueFields(join.fields))
  return {
    base: cube.baseCost,
    limit: limit.count,
    aggregation: isGrouped(values) ? aggregationKind(values) : 'none',
    metrics: values.filter((field) => field.kind === 'metric' || field.kind === 'pick').length,
    fields: values.length + joined.length,
  }
}

/** Price of one cube of a selection: its own, or one that it joins. */
export interface CubePrice {
  readonly cube: string
  readonly hundredths: number
}

/** What a selection costs: its cube, then each cube that it joins with a base of its own and the same limit. */
export const selectionPrices = (selection: CubeSelection): readonly CubePrice[] => [
  { cube: selection.cube.name, hundredths: priceInHundredths(creditFactors(selection)) },
  ...joinFields(selection.fields).map(({ cube, fields }) => ({
    cube: cube.name,
    hundredths: priceInHundredths({
      base: cube.baseCost,
      limit: selection.limit.count,
      aggregation: 'none',
      metrics: 0,
      fields: valueFields(fields).length,
    }),
  })),
]
