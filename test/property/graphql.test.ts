import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CUBES } from '../../schemas/cubes/all.ts'
import { compileQuery } from '../../serving/graphql/compile.ts'
import { priceInHundredths } from '../../serving/graphql/credits.ts'
import { QUERY_LIMITS } from '../../serving/graphql/limits.ts'
import { createPlanner } from '../../serving/graphql/plan.ts'
import { toPlainDecimal } from '../../serving/graphql/scalars.ts'
import { buildCubeSchema } from '../../serving/graphql/schema.ts'
import { graphqlQueryArbitrary } from '../support/graphql-query-arbitrary.ts'
import { planFacts } from '../support/plan-facts.ts'

const CHAINS = ['eth', 'bsc', 'sol']

/** Addresses of coins stand in some cubes: no generated value is as long, and one may hold `zq` by chance. */
const CONSTANT_ADDRESS = /'[\w:]{30,}'/g

test('GraphQL: no value of a literal or a variable appears in SQL text', () => {
  const { plan: planner } = createPlanner(buildCubeSchema(CUBES, CHAINS), QUERY_LIMITS)
  fc.assert(
    fc.property(graphqlQueryArbitrary, (generated) => {
      const { selections } = planner(generated)
      assert.equal(selections.length, 1)
      for (const selection of selections) {
        const { sql, paramsAt } = compileQuery(selection)
        for (const value of generated.values) assert.ok(!sql.includes(value), `${value} in ${sql}`)
        assert.ok(!/zq/i.test(sql.replace(CONSTANT_ADDRESS, '')), sql)
        for (const name of Object.keys(paramsAt(0)))
          assert.ok(sql.includes(`{${name}:`), `${name} is not used`)
      }
    }),
    { numRuns: 500 },
  )
})

test('a plan is the same whatever was planned before from the same text', () => {
  const catalogue = buildCubeSchema(CUBES, CHAINS)
  fc.assert(
    fc.property(graphqlQueryArbitrary, fc.constantFrom('other', '0xAB', null), (generated, v) => {
      const alone = planFacts(createPlanner(catalogue, QUERY_LIMITS).plan(generated))
      const { plan } = createPlanner(catalogue, QUERY_LIMITS)
      if ('v' in generated.variables) {
        plan({ query: generated.query, variables: { v } })
        plan({ query: generated.query, variables: {} })
      }
      assert.deepEqual(planFacts(plan(generated)), alone)
    }),
    { numRuns: 300 },
  )
})

test('any text is a plan or a typed error, never something else', () => {
  const { plan: planner } = createPlanner(buildCubeSchema(CUBES, CHAINS), QUERY_LIMITS)
  const word = fc.constantFrom(
    '{',
    '}',
    '(',
    ')',
    '[',
    ']',
    ':',
    '$a',
    '...',
    'on',
    'query',
    'EVM',
    'network',
    'eth',
    'DEXTrades',
    'count',
    'where',
    'any',
    'Trade',
    '"x"',
    '1',
    'null',
    'fragment',
    'F',
    '@skip',
    'if',
    'true',
    '#',
    '"""',
    '\u0000',
  )
  fc.assert(
    fc.property(fc.array(word, { maxLength: 40 }), (words) => {
      try {
        planner({ query: words.join(' ') })
      } catch (error) {
        assert.ok(error instanceof Error)
        assert.match(error.name, /^(GraphQLError|InvalidDocument|PlanningTooExpensive)$/)
      }
    }),
    { numRuns: 1_000 },
  )
})

test('credits are the ceiling of the exact product', () => {
  const aggregation = fc.constantFrom('none' as const, 'group' as const, 'having' as const)
  fc.assert(
    fc.property(
      fc.nat(3_000),
      fc.nat(10_000),
      aggregation,
      fc.nat(30),
      fc.nat(400),
      (base, limit, kind, metrics, fields) => {
        const factor = { none: 10n, group: 15n, having: 20n }[kind]
        const pages = BigInt(Math.max(1, Math.ceil(limit / 100)))
        const steps = BigInt(Math.min(fields, 250))
        const complexity = 250n + steps > 375n ? 375n : 250n + steps
        const exact = BigInt(base) * pages * factor * BigInt(10 + metrics) * complexity
        const hundredths = BigInt(
          priceInHundredths({ base, limit, aggregation: kind, metrics, fields }),
        )
        assert.ok(hundredths * 25_000n >= exact && (hundredths - 1n) * 25_000n < exact)
      },
    ),
  )
})

test('a number without exponent is the same number', () => {
  const parts = fc.tuple(
    fc.bigInt({ min: 0n, max: 10n ** 30n }),
    fc.nat(1_000_000),
    fc.integer({ min: -40, max: 40 }),
    fc.boolean(),
  )
  fc.assert(
    fc.property(parts, ([head, tail, exponent, minus]) => {
      const text = `${minus ? '-' : ''}${head}.${tail}e${exponent}`
      const { negative, whole, fraction } = toPlainDecimal(text)
      assert.equal(Number(`${negative ? '-' : ''}${whole}.${fraction}`), Number(text))
    }),
  )
})
