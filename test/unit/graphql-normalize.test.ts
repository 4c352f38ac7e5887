import assert from 'node:assert/strict'
import { test } from 'node:test'
import { print } from 'graphql'
import { CUBES } from '../../schemas/cubes/all.ts'
import { QUERY_LIMITS } from '../../serving/graphql/limits.ts'
import { normalizeOperation } from '../../serving/graphql/normalize.ts'
import {
  coerceVariables,
  parseDocument,
  selectOperation,
  validateDocument,
} from '../../serving/graphql/parse-document.ts'
import { createPlanningBudget } from '../../serving/graphql/planning-budget.ts'
import { buildCubeSchema } from '../../serving/graphql/schema.ts'

const CATALOGUE = buildCubeSchema(CUBES, ['eth'])

const rewritten = (query: string, variables: Readonly<Record<string, unknown>> = {}): string => {
  const limits = QUERY_LIMITS
  const work = createPlanningBudget(limits.maxSteps)
  const parsed = validateDocument(parseDocument(query, limits, work), CATALOGUE.schema, work)
  const operation = selectOperation(parsed, undefined, 'query')
  const values = coerceVariables(operation, variables, { limits, work })
  const { fragments, fixed } = parsed
  const context = {
    fragments,
    fixed,
    variables: values,
    catalogue: CATALOGUE,
    limits,
    work,
    rewrittenVariables: new Map(),
  }
  return print(normalizeOperation(operation, context)).replace(/\s+/g, ' ')
}

const cube = (args: string, fields = 'count'): string =>
  `{ Solana { DEXTrades${args} { ${fields} } } }`

test('older and shorter forms become the declared one', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['(orderBy: Block_Time_ASC)', '(orderBy: {ascending: Block_Time})'],
    [
      '(orderBy: [Block_Time_DESC, Block_Slot_ASC])',
      '(orderBy: [{descending: Block_Time}, {ascending: Block_Slot}])',
    ],
    ['(tokenAddress: "x")', '(tokenAddress: {is: "x"})'],
    ['(where: {Block: {Slot: 5}})', '(where: {Block: {Slot: {eq: 5}}})'],
    ['(where: {IsSuspect: true})', '(where: {IsSuspect: {is: true}})'],
    ['(date: "2026-01-01")', '(date: {is: "2026-01-01"})'],
    ['(tokenAddress: {is: buy})', '(tokenAddress: {is: "buy"})'],
    ['(tokenAddress: {is: null, not: "y"})', '(tokenAddress: {not: "y"})'],
    ['(where: null, limit: null)', ''],
    ['(limitBy: {by: Pool_AddressState, count: 1})', '(limitBy: {by: Pool_Address, count: 1})'],
  ]
  for (const [given, expected] of cases) {
    assert.equal(rewritten(cube(given)), rewritten(cube(expected)), given)
    assert.ok(expected === '' || rewritten(cube(given)).includes(expected), rewritten(cube(given)))
  }
})

test('variables become literals, whatever their declared type', () => {
  const query = (type: string, args: string): string =>
    `query ($v: ${type}) { Solana { DEXTrades(${args}) { count } } }`
  const cases: readonly (readonly [string, string, unknown, string])[] = [
    ['String', 'date: {since: $v}', '2026-01-01', '{since: "2026-01-01"}'],
    ['ISO8601DateTime', 'date: {since: $v}', undefined, 'date: {}'],
    [
      'DEXTradesFilter',
      'where: $v',
      { Block: { Slot: { gt: 5, lt: null } } },
      'where: {Block: {Slot: {gt: 5}}}',
    ],
    ['String', 'tokenAddress: $v', 'x', 'tokenAddress: {is: "x"}'],
    ['[String!]', 'tokenAddress: {in: $v}', ['x', 'y'], '{in: ["x", "y"]}'],
    ['Int', 'limit: {count: $v}', 7, 'limit: {count: 7}'],
    ['String', 'orderBy: $v', 'Block_Time_DESC', 'orderBy: {descending: Block_Time}'],
  ]
  for (const [type, args, value, expected] of cases) {
    const text = rewritten(query(type, args), { v: value })
    assert.ok(text.includes(expected), `${args}: ${text}`)
  }
})

test('fragments are spread, fields of one key merged, the leaf form of two shapes marked', () => {
  assert.equal(
    rewritten(
      `{ Solana { Pairs { ...A Interval { x: Time { End } } } } } fragment A on PairsRecord { Interval { Time } Price { OpenState } }`,
    ),
    '{ Solana { Pairs { Interval { Time { __leaf: Start } x: Time { End } } Price { OpenState: Open } } } }',
  )
})

test('a cube at the query root is moved into its group', () => {
  assert.equal(
    rewritten('{ OHLC(network: bsc, tokenAddress: "t") { TimeMinute } }'),
    '{ __flat_OHLC: EVM(network: bsc) { OHLC: Pairs(tokenAddress: {is: "t"}) { TimeMinute } } }',
  )
  assert.match(
    rewritten('{ a: DEXTrades(network: sol) { count } }'),
    /__flat_a: Solana\(network: sol\)/,
  )
})

test('a query that cannot be rewritten is an error', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    [cube('', 'count @skip(if: 1)'), /@skip/],
    [cube('(where: {Block: {Time: {gte: "2026-01-01"}}})'), /since/],
    [cube('', 'Block { Time } Block: Pool { Address }'), /alias/],
    [cube('', '... on PairsRecord { count }'), /PairsRecord/],
    [cube('', 'count @unknown'), /unknown/],
  ]
  for (const [query, message] of cases) assert.throws(() => rewritten(query), { message }, query)
})
