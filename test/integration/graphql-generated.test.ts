import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { CUBES } from '../../schemas/cubes/all.ts'
import type { Cube, LeafType } from '../../schemas/cubes/types.ts'
import { cubePaths } from '../../serving/graphql/cube-paths.ts'
import { storeCubeRows } from '../support/builders/cube-rows.ts'
import { storeFeedCubeRows } from '../support/builders/feed-cube-rows.ts'
import { buildTrades, storeTrades } from '../support/builders/stored-trades.ts'
import { graphqlQueryArbitrary, OPERATORS_BY_TYPE } from '../support/graphql-query-arbitrary.ts'
import { startGraphql, type TestGraphql } from '../support/graphql-stack.ts'
import {
  bruteMetric,
  compareValues,
  cubeLeaves,
  leafMetrics,
  type MetricCase,
  type NamedLeaf,
  nestedSelection,
  readPath,
  textOfList,
  toUnderscorePath,
  type Value,
  valueAtPath,
} from '../support/metric-cases.ts'
import { operatorCases } from '../support/operator-cases.ts'

const START = Date.UTC(2026, 2, 1)
type Row = Readonly<Record<string, unknown>>

let api: TestGraphql
before(async () => {
  api = await startGraphql(['eth', 'bsc', 'sol'], START + 3_600_000)
  await storeTrades(api.warehouse, 'eth', buildTrades(60, START))
  await storeCubeRows(api.warehouse, 'eth', START)
  await storeCubeRows(api.warehouse, 'sol', START)
  await storeFeedCubeRows(api.warehouse, { evm: 'eth', svm: 'sol', startMs: START })
})
after(() => api.stop())

const ROOTS = { EVM: 'EVM(network: eth)', Solana: 'Solana', Trading: 'Trading' } as const

/** Rows of several selections of one cube, in the first of its groups; fails on any error. */
const selections = async (
  { groups }: Cube,
  asked: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, readonly Row[]>>> => {
  const text = Object.entries(asked).map(([key, cube]) => `${key}: ${cube}`)
  const group = (['EVM', 'Solana', 'Trading'] as const).find((name) => groups.includes(name))
  const root = ROOTS[group ?? 'Trading']
  const { data, errors } = await api.ask(`{ g: ${root} { ${text.join(' ')} } }`)
  assert.equal(errors, undefined, `${text.join(' ').slice(0, 2_000)}: ${errors?.[0]?.message}`)
  return data?.g as Readonly<Record<string, readonly Row[]>>
}

test('the engine accepts every valid query', async () => {
  await fc.assert(
    fc.asyncProperty(graphqlQueryArbitrary, async ({ query, variables }) => {
      const { data, errors } = await api.ask(query, variables)
      assert.equal(errors, undefined, JSON.stringify(errors))
      assert.ok(data)
    }),
    { numRuns: 250 },
  )
})

const KEYS = 50
const ORDERS = ['ascending', 'descending'] as const

test('every metric of every leaf can be used in orderBy, selectWhere and calculate', async () => {
  for (const cube of CUBES) {
    const cases = cubeLeaves(cube).flatMap(leafMetrics)
    for (let at = 0; at < cases.length; at += KEYS) {
      const part = cases.slice(at, at + KEYS)
      const fields = part.map(
        ({ metric, path }, index) =>
          `m${index}: ${metric}(of: ${toUnderscorePath(path)}, selectWhere: {ne: "1234.5"}) i${index}: ${metric}(of: ${toUnderscorePath(path)}, if: {any: []}) c${index}: calculate(expression: "$m${index} * 2")`,
      )
      const asked = ORDERS.map((direction) => {
        const keys = part.map((_, index) => `{${direction}ByField: "m${index}"}`)
        return `${cube.name}(orderBy: [${keys.join(', ')}]) { ${nestedSelection(groupOf(cube))} ${fields.join(' ')} }`
      })
      await selections(cube, Object.fromEntries(asked.map((text, index) => [`s${index}`, text])))
    }
  }
})

/** The path that rows are grouped by, first match: one with several rows for each of several values. */
const GROUP_PATHS = [
  ...['Token.Address', 'Pool.TokenAAddress', 'Pool.Market.Address', 'Price.Pool.SmartContract'],
  ...['Pair.Token.Address', 'Currency.Id', 'Instruction.Program.Address', 'Log.SmartContract'],
  ...['Call.To', 'OrderEvent.Market.Address', 'Reward.Address', 'Reward.Miner', 'Uncle.Miner'],
  ...['Block.Coinbase', 'Prediction.Condition.Id', 'Management.EventType', 'Settlement.EventType'],
  ...['Trade.Buy.Currency.MintAddress', 'Trade.Currency.MintAddress'],
  ...['Transfer.Currency.MintAddress', 'BalanceUpdate.Currency.MintAddress'],
  ...['TokenBalance.Currency.MintAddress', 'Transaction.To'],
]
const groupOf = (cube: Cube): string => {
  const paths = cubePaths(cube)
  const found = GROUP_PATHS.find((path) => paths.has(path))
  assert.ok(found, cube.name)
  return found
}

interface LeafRows extends NamedLeaf {
  /** Values of the leaf by the value of the group. */
  readonly groups: ReadonlyMap<Value, readonly Value[]>
}

interface ReadLeaf extends NamedLeaf {
  /** By row. */
  readonly values: readonly (Value | readonly Value[])[]
  /** The value of the group, by row. */
  readonly keys: readonly Value[]
  readonly distinct: number
}

/** Every leaf of a cube with the values of all rows, read in one selection; those with the most values first. */
const readLeaves = async (cube: Cube): Promise<readonly ReadLeaf[]> => {
  const leaves = cubeLeaves(cube)
  const group = groupOf(cube)
  const fields = leaves.map(({ path }, index) => `l${index}: ${nestedSelection(path)}`)
  const asked = `${cube.name}(where: ${everything(cube)}, limit: {count: 10000}) { g: ${nestedSelection(group)} ${fields.join(' ')} }`
  const { all: rows = [] } = await selections(cube, { all: asked })
  const inside = (path: string): string => path.split('.').slice(1).join('.')
  const read = (row: Row, key: string, path: string) =>
    path.includes('.') ? readPath(row[key], inside(path)) : readPath(row, key)
  return leaves
    .map((leaf, index) => {
      const values = rows.map((row) => read(row, `l${index}`, leaf.path))
      const distinct = new Set(values.map((value) => JSON.stringify(value))).size
      return { ...leaf, values, distinct, keys: rows.map((row) => read(row, 'g', group) as Value) }
    })
    .toSorted((first, second) => second.distinct - first.distinct)
}

/** A filter that keeps all rows, also those that a cube hides unless it is asked for them. */
const everything = (cube: Cube): string => {
  const [hidden] = Object.keys(cube.defaults)
  return hidden === undefined ? '{}' : `{any: [{${hidden}: {is: true}}, {${hidden}: {is: false}}]}`
}

/** Up to two leaves of every type with the rows that are stored. */
const chosenLeaves = async (cube: Cube): Promise<readonly LeafRows[]> => {
  const taken = new Map<LeafType, number>()
  const chosen = (await readLeaves(cube)).filter(({ leaf }) => {
    taken.set(leaf.type, (taken.get(leaf.type) ?? 0) + 1)
    return (taken.get(leaf.type) ?? 0) <= 2
  })
  return chosen.map(({ values, keys, ...leaf }): LeafRows => {
    const groups = new Map<Value, Value[]>()
    for (const [index, value] of values.entries()) {
      const key = keys[index] ?? null
      groups.set(key, [...(groups.get(key) ?? []), textOfList(value)])
    }
    return { ...leaf, groups }
  })
}

const isClose = (a: Value, b: Value): boolean =>
  typeof a === 'number' && typeof b === 'number'
    ? Math.abs(a - b) <= Math.max(1e-12, Math.abs(b) * 1e-9)
    : a === b

/** Nulls last in both directions. */
const isOrdered = (values: readonly Value[], sign: 1 | -1): boolean =>
  values.every((value, index) => {
    const before = values[index - 1]
    if (index === 0 || before === undefined || value === null) return true
    return before !== null && sign * compareValues(before, value) <= 0
  })

/** A number between the values, so that no rounding decides on which side one stands. */
const threshold = (values: readonly Value[]): number | undefined => {
  const numbers = [...new Set(values.filter((value) => typeof value === 'number'))].sort(
    (a, b) => a - b,
  )
  const [low, high] = [numbers[numbers.length - 2], numbers[numbers.length - 1]]
  return low === undefined || high === undefined ? undefined : low + (high - low) / 2
}

const checkMetric = async (cube: Cube, { metric, path }: MetricCase, rows: LeafRows) => {
  const group = groupOf(cube)
  const what = `${cube.name} ${metric}(of: ${path})`
  const expected = new Map([...rows.groups].map(([key, of]) => [key, bruteMetric(metric, of)]))
  const above = threshold([...expected.values()])
  const ask = (order: string, limit: number, having = ''): string =>
    `${cube.name}(where: ${everything(cube)}, orderBy: {${order}ByField: "m"}, limit: {count: ${limit}}) { ${nestedSelection(group)} m: ${metric}(of: ${toUnderscorePath(path)}${having}) }`
  const found = await selections(cube, {
    up: ask('ascending', 10_000),
    down: ask('descending', 10_000),
    top: ask('descending', 2),
    ...(above !== undefined && { kept: ask('ascending', 10_000, `, selectWhere: {gt: ${above}}`) }),
  })
  const read = (key: string) =>
    (found[key] ?? []).map((row) => [valueAtPath(row, group), row.m as Value] as const)
  for (const key of ['up', 'down']) {
    assert.equal(read(key).length, expected.size, what)
    for (const [name, value] of read(key)) {
      const right = expected.get(name) ?? null
      assert.ok(isClose(value, right), `${what} of ${name}: ${value} is not ${right}`)
    }
  }
  const values = (key: string): readonly Value[] => read(key).map(([, value]) => value)
  assert.ok(isOrdered(values('up'), 1), `${what} ascending: ${values('up')}`)
  assert.ok(isOrdered(values('down'), -1), `${what} descending: ${values('down')}`)
  assert.deepEqual(read('top'), read('down').slice(0, 2), what)
  const kept = read('up').filter(([, value]) => typeof value === 'number' && value > (above ?? 0))
  if (above !== undefined) assert.deepEqual(read('kept'), kept, `${what} above ${above}`)
}

/** Rows of one leaf: as many as pass the filter, in any order. */
const checkOperators = async (
  cube: Cube,
  { path, leaf }: NamedLeaf,
  values: readonly (Value | readonly Value[])[],
): Promise<readonly string[]> => {
  const cases = operatorCases(leaf, values)
  if (cases.length === 0) return []
  const ask = (filter: string): string => {
    const where = path.split('.').reduceRight((inner, name) => `{${name}: ${inner}}`, filter)
    const all = everything(cube)
    const both =
      all === '{}' || path in cube.defaults ? where : `${where.slice(0, -1)}, ${all.slice(1)}`
    return `${cube.name}(where: ${both}, limit: {count: 10000}) { ${nestedSelection(path)} }`
  }
  const found = await selections(
    cube,
    Object.fromEntries(cases.map(({ text }, index) => [`o${index}`, ask(`{${text}}`)])),
  )
  for (const [index, { operator, text, keep }] of cases.entries()) {
    const what = `${cube.name} ${path} ${text}`
    const given = (found[`o${index}`] ?? []).map((row) => JSON.stringify(readPath(row, path)))
    const expected = values.filter((value) => value !== null && keep(value))
    const right = expected.map((value) => JSON.stringify(value))
    assert.deepEqual(given.toSorted(), right.toSorted(), `${what} (${operator})`)
  }
  return cases.map(({ operator }) => `${leaf.type} ${operator}`)
}

/** The leaf of each type with the most values that the filter can tell apart. */
const leavesForOperators = async (cube: Cube): Promise<readonly ReadLeaf[]> => {
  const best = new Map<LeafType, ReadLeaf>()
  for (const each of await readLeaves(cube))
    if (!best.has(each.leaf.type)) best.set(each.leaf.type, each)
  return [...best.values()]
}

test('every operator of every type selects the same rows as a loop over them, on every cube', async () => {
  const covered = new Set<string>()
  const types = new Set<string>()
  for (const cube of CUBES) {
    const leaves = await leavesForOperators(cube)
    assert.ok(leaves.length > 0, cube.name)
    for (const { values, ...leaf } of leaves) {
      const seen = await checkOperators(cube, leaf, values)
      for (const operator of seen) covered.add(operator)
      types.add(leaf.leaf.type)
    }
  }
  const wanted = Object.entries(OPERATORS_BY_TYPE).flatMap(([type, operators]) =>
    operators.map((operator) => `${type} ${operator}`),
  )
  assert.deepEqual(
    wanted.filter((each) => !covered.has(each)),
    [],
    'operators that no cube was asked with',
  )
  assert.deepEqual([...types].toSorted(), Object.keys(OPERATORS_BY_TYPE).toSorted())
})

test('ordering by a metric, a limit and a comparison select the same groups as a loop over the rows', async () => {
  for (const cube of CUBES) {
    const leaves = await chosenLeaves(cube)
    assert.ok(
      leaves.some(({ groups }) => groups.size > 1),
      `${cube.name} has several groups`,
    )
    for (const leaf of leaves)
      for (const metric of leafMetrics(leaf)) await checkMetric(cube, metric, leaf)
  }
})
