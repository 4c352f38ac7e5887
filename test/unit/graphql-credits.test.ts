import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CUBES } from '../../schemas/cubes/all.ts'
import {
  type CreditFactors,
  creditFactors,
  priceInHundredths,
} from '../../serving/graphql/credits.ts'
import { QUERY_LIMITS } from '../../serving/graphql/limits.ts'
import { createPlanner } from '../../serving/graphql/plan.ts'
import { buildCubeSchema } from '../../serving/graphql/schema.ts'

type Vector = readonly [number, number, CreditFactors['aggregation'], number, number, number]

/** base, limit, aggregation, metrics, fields, hundredths of a CU: the documented vectors. */
const VECTORS: readonly Vector[] = [
  [2000, 10, 'none', 0, 5, 2040],
  [2000, 500, 'none', 0, 5, 10200],
  [2000, 500, 'group', 2, 5, 18360],
  [2000, 10, 'none', 0, 250, 3000],
  [2000, 101, 'none', 0, 5, 4080],
  [2000, 100, 'none', 0, 5, 2040],
  [2000, 10000, 'none', 0, 5, 204000],
  [2000, 25, 'none', 1, 1, 2209],
  [2000, 10, 'having', 1, 2, 4436],
  [2000, 100, 'group', 1, 2, 3327],
  [2000, 1, 'group', 0, 22, 3264],
  [600, 25, 'none', 0, 6, 615],
  [400, 25, 'none', 0, 125, 600],
  [400, 25, 'none', 0, 126, 600],
  [1200, 1440, 'none', 0, 9, 18648],
  [800, 25, 'none', 0, 3, 810],
]

test('the documented vectors', () => {
  for (const [base, limit, aggregation, metrics, fields, expected] of VECTORS) {
    const factors = { base, limit, aggregation, metrics, fields }
    assert.equal(priceInHundredths(factors), expected, JSON.stringify(factors))
  }
})

test('the factors of a selection', () => {
  const { plan: planner } = createPlanner(buildCubeSchema(CUBES, ['eth']), QUERY_LIMITS)
  const factors = (cube: string): Partial<CreditFactors> => {
    const [selection] = planner({ query: `{ EVM(network: eth) { ${cube} } }` }).selections
    assert.ok(selection)
    const { base: _, ...rest } = creditFactors(selection)
    return rest
  }
  const cases: readonly (readonly [string, Partial<CreditFactors>])[] = [
    [
      'DEXTrades { __typename Block { Time Slot } }',
      { limit: 25, aggregation: 'none', metrics: 0, fields: 2 },
    ],
    [
      'DEXTrades(limit: {count: 99999}) { count }',
      { limit: 10_000, aggregation: 'none', metrics: 1, fields: 1 },
    ],
    [
      'DEXTrades { Pool { Address } count c: calculate(expression: "$count") }',
      { limit: 25, aggregation: 'group', metrics: 1, fields: 3 },
    ],
    [
      'DEXTrades { count(selectWhere: {gt: 1}) }',
      { limit: 25, aggregation: 'having', metrics: 1, fields: 1 },
    ],
    [
      'DEXTrades { Block { Time(interval: {in: hours}) } }',
      { limit: 25, aggregation: 'none', metrics: 0, fields: 1 },
    ],
    [
      'DEXTrades { Block { Time(interval: {in: hours}) } count }',
      { limit: 25, aggregation: 'group', metrics: 1, fields: 2 },
    ],
    [
      'DEXTrades { Pool { Address(maximum: Block_Time) } Trade { Index } }',
      { limit: 25, aggregation: 'group', metrics: 1, fields: 2 },
    ],
    [
      'Pairs { Interval { Time } Interval { s: Time { Start End } } }',
      { limit: 25, aggregation: 'none', metrics: 0, fields: 3 },
    ],
  ]
  for (const [cube, expected] of cases) assert.deepEqual(factors(cube), expected, cube)
})
