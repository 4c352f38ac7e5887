import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { CUBES } from '../../schemas/cubes/all.ts'
import { isLeaf, isLeafOrTree, type Tree } from '../../schemas/cubes/types.ts'
import { cubePaths } from '../../serving/graphql/cube-paths.ts'
import { type PublicError, publicErrors } from '../../serving/graphql/errors.ts'
import { QUERY_LIMITS } from '../../serving/graphql/limits.ts'
import { createPlanner } from '../../serving/graphql/plan.ts'
import { buildCubeSchema } from '../../serving/graphql/schema.ts'
import { cubeStatements } from '../support/cube-statements.ts'
import { DOCUMENTED_QUERIES } from '../support/documented/queries.ts'

const schema = buildCubeSchema(CUBES, ['eth', 'bsc', 'polygon', 'sol'])
const { plan } = createPlanner(schema, QUERY_LIMITS)

test('the statements of the documented queries are those of cubes.sql; `npm run generate` writes it after a review of the change', () => {
  const path = new URL('../fixtures/statements/cubes.sql', import.meta.url)
  assert.equal(cubeStatements(), readFileSync(path, 'utf8'))
})

test('every cube is used by a documented query', () => {
  assert.ok(CUBES.length >= 28)
  const asked = Object.values(DOCUMENTED_QUERIES).join(' ')
  for (const { name } of CUBES) assert.match(asked, new RegExp(`\\b${name}\\b`))
})

/** Cubes by the price that a selection of them starts from. */
const BASE_COSTS: Readonly<Record<number, readonly string[]>> = {
  2000: ['DEXTrades', 'DEXTradeByTokens', 'Trades'],
  1200: ['DEXPoolEvents', 'Pairs', 'Tokens', 'Currencies'],
  1000: ['WalletTokenPnL'],
  800: [
    ...['Events', 'Calls', 'Instructions', 'InstructionBalanceUpdates', 'PredictionTrades'],
    ...['PredictionManagements', 'PredictionSettlements', 'TokenSupplyUpdates', 'Blocks'],
    ...['Transactions', 'TransactionBalances', 'Rewards', 'DEXOrders', 'MinerRewards'],
    ...['DEXPoolSlippages', 'Uncles', 'TokenHolders', 'DEXPools'],
  ],
  600: ['Transfers'],
  400: ['BalanceUpdates'],
}

test('every published cube has its agreed price', () => {
  const priced = Object.entries(BASE_COSTS).flatMap(([cost, names]) =>
    names.map((name) => [name, Number(cost)] as const),
  )
  // The price of a cube that is added shows in the generated table of `docs/graphql.md`.
  const agreed = new Set(priced.map(([name]) => name))
  const given = CUBES.filter(({ name }) => agreed.has(name)).map(
    ({ name, baseCost }) => [name, baseCost] as const,
  )
  const byName = (a: readonly [string, number], b: readonly [string, number]): number =>
    a[0].localeCompare(b[0])
  assert.deepEqual(given.toSorted(byName), priced.toSorted(byName))
})

test('every amount of a cube has a field in base units', () => {
  for (const cube of CUBES) {
    const paths = cubePaths(cube)
    for (const [path, leaf] of paths) {
      // The leaf form of a field with two shapes has the twin of its leaf.
      const isLeafForm = [...paths].some(
        ([other, same]) => same === leaf && other.startsWith(`${path}.`),
      )
      if (!leaf.exactUnits || isLeafForm) continue
      const twin = paths.get(`${path}Raw`)
      assert.equal(twin?.sql, `toString(${leaf.exactUnits.raw})`, `${cube.name} ${path}`)
      assert.equal(twin.rollup !== undefined, leaf.rollup !== undefined, `${cube.name} ${path}`)
    }
  }
})

const emptyTrees = (tree: Tree): boolean =>
  Object.values(tree).some((node) => {
    if (isLeaf(node)) return false
    const inner = isLeafOrTree(node) ? node.tree : node
    return Object.keys(inner).length === 0 || emptyTrees(inner)
  })

test('selectors, defaults and joins of every cube name existing fields and cubes', () => {
  const names = new Set(CUBES.map(({ name }) => name))
  for (const cube of CUBES) {
    const paths = cubePaths(cube)
    const named = [...Object.values(cube.selectors).flat(), ...Object.keys(cube.defaults)]
    for (const path of [...named, cube.newest]) assert.ok(paths.has(path), `${cube.name} ${path}`)
    for (const join of cube.joins ?? []) assert.ok(names.has(join), `${cube.name} ${join}`)
    for (const [path, { needs }] of paths)
      assert.ok(!needs || needs in cube.lookups, `${cube.name} ${path}`)
    assert.equal(emptyTrees(cube.dimensions), false, cube.name)
  }
})

const errorsOf = (query: string): readonly PublicError[] => {
  try {
    plan({ query })
  } catch (error) {
    return publicErrors(error) ?? []
  }
  return []
}
const messageOf = (query: string): string => errorsOf(query)[0]?.message ?? ''

test('a join takes fields of rows, one level deep, beside rows', () => {
  const ask = (inner: string, outer = ''): string =>
    messageOf(`{ Solana { DEXTrades { ${outer} joinTransfers { ${inner} } } } }`)
  assert.equal(ask('Transfer { Amount }', 'Block { Time }'), '')
  assert.match(ask('count'), /not the aggregate 'count'/)
  assert.match(ask('Transfer { Amount(maximum: Block_Time) }'), /not an aggregate/)
  assert.match(ask('Block { Time(interval: {in: hours}) }'), /not an aggregate/)
  assert.match(ask('joinDEXTrades { Block { Time } }'), /not another join/)
  assert.match(ask('Transfer { Amount }', 'count'), /aggregated rows/)
})

test('a list field cannot be used in orderBy, min, max or limitBy', () => {
  const ask = (args: string, fields: string): string =>
    messageOf(`{ Solana { Instructions${args} { ${fields} } } }`)
  assert.equal(ask('', 'Instruction { Accounts } u: uniq(of: Instruction_Accounts)'), '')
  assert.notEqual(ask('(orderBy: {descending: Instruction_Accounts})', 'Block { Time }'), '')
  assert.notEqual(ask('(orderBy: {descendingByField: "Instruction_Logs"})', 'Block { Time }'), '')
  assert.notEqual(ask('', 'max(of: Instruction_CallPath)'), '')
  assert.notEqual(ask('(limitBy: {by: Instruction_Accounts, count: 1})', 'Block { Time }'), '')
})

test('an error about an unknown name has suggestions and its location', () => {
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['{ Solana { DEXTrades { Trade { Buy { Amont } } } } }', /Did you mean "Amount"/],
    ['{ Solana { DEXTrade { count } } }', /Did you mean "DEXTrades"/],
    ['{ Solana { DEXTrades(tokenAdress: "x") { count } } }', /Did you mean "tokenAddress"/],
    [
      '{ Solana { DEXTrades(where: {Pool: {Adress: {is: "x"}}}) { count } } }',
      /Did you mean "Address"/,
    ],
    ['{ Solana { DEXTrades { calculate(expression: "1 +") } } }', /ends too early/],
    ['{ Solana { DEXTrades { calculate(expression: "$nope") } } }', /nope/],
  ]
  for (const [query, message] of wrong) {
    const errors = errorsOf(query)
    assert.match(errors[0]?.message ?? '', message)
    assert.ok((errors[0]?.locations.length ?? 0) > 0, query)
    assert.ok((errors[0]?.locations[0]?.column ?? 0) > 1, query)
  }
})
