/** Every metric, bucket, pick, calculation, order and limit of GraphQL, as the statement that it has to become. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cube } from '../../schemas/cubes/types.ts'
import { compileQuery } from '../../serving/graphql/compile.ts'
import { QUERY_LIMITS } from '../../serving/graphql/limits.ts'
import { createPlanner } from '../../serving/graphql/plan.ts'
import { buildCubeSchema } from '../../serving/graphql/schema.ts'

/** A cube with one leaf of each kind. */
const SALES = {
  name: 'Sales',
  about: '',
  groups: ['EVM', 'Solana', 'Trading'],
  layer: 'DWD',
  baseCost: 1,
  source: '{chain}_sales FINAL',
  time: 'at',
  chainColumn: 'chain',
  lookups: { item: { key: 'item_address' } },
  dimensions: {
    Time: { sql: 'at', type: 'DateTime', about: '', bucket: 'start' },
    Item: { sql: 'item', type: 'String', about: '' },
    Symbol: { sql: 'item_symbol', type: 'String', about: '', needs: 'item' },
    Count: { sql: 'n', type: 'Int', about: '' },
    Ratio: { sql: 'r', type: 'Float', about: '' },
    Price: { sql: 'p', type: 'Float', about: '', exact: true },
    Amount: {
      sql: 'raw / pow(10, places)',
      fast: 'amount',
      type: 'Float',
      about: '',
      exactUnits: { raw: 'raw', places: 'places' },
    },
    Paid: { sql: 'paid', type: 'Boolean', about: '' },
  },
  selectors: {},
  defaults: {},
  order: ['slot', 'place'],
  newest: 'Time',
  limit: { default: 25, max: 100 },
  aliases: [],
} as const satisfies Cube

const { plan } = createPlanner(buildCubeSchema([SALES], ['eth']), QUERY_LIMITS)

/** The statement of one selection, each parameter replaced by its value and type. */
const statement = (text: string): string => {
  const query = `{ EVM(network: eth, dataset: combined) { Sales${text} } }`
  const [selection] = plan({ query }).selections
  assert.ok(selection)
  const { sql, params } = compileQuery(selection, Date.UTC(2026, 2, 2))
  return sql.replace(/\{(p\d+):/g, (_, name: string) => `{${String(params?.[name])}:`)
}

/** An aggregate of all rows, and the columns that it reads. */
const AGGREGATES: readonly (readonly [fields: string, columns: string])[] = [
  ['count', 'count() AS c0'],
  ['uniq(of: Item)', 'uniqExact(item) AS c0'],
  ['uniq(of: Item, if: {Paid: {is: true}})', 'uniqExactIf(item, paid = {1:UInt8}) AS c0'],
  ['sum(of: Count)', 'if(count() = 0, 0, sumOrNull(n)) AS c0'],
  ['sum(of: Ratio)', 'if(count() = 0, 0, sumKahanOrNull(r)) AS c0'],
  ['sum(of: Price)', 'if(count() = 0, 0, sumOrNull(p)) AS c0'],
  ['sum(of: Amount)', 'if(count() = 0, 0, sumKahanOrNull(amount)) AS c0'],
  [
    'sum(of: Amount, if: {Count: {gt: 3}})',
    'if(countIf(n > {3:Int64}) = 0, 0, sumKahanOrNullIf(amount, n > {3:Int64})) AS c0',
  ],
  ['avg(of: Amount)', 'avgOrNull(amount) AS c0'],
  ['avg(of: Amount, if: {Count: {gt: 3}})', 'avgOrNullIf(amount, n > {3:Int64}) AS c0'],
  [
    'min(of: Amount) max(of: Amount)',
    'minOrNull(raw / pow(10, places)) AS c0, maxOrNull(raw / pow(10, places)) AS c1',
  ],
  [
    'min(of: Amount, if: {Count: {gt: 3}})',
    'minOrNullIf(raw / pow(10, places), n > {3:Int64}) AS c0',
  ],
  ['max(of: Item)', 'maxOrNull(item) AS c0'],
  ['min(of: Time)', 'minOrNull(at) AS c0'],
  ['quantile(of: Amount)', 'quantileExactInclusiveOrNull({0.5:Float64})(toFloat64(amount)) AS c0'],
  [
    'quantile(of: Amount, level: 0.9, if: {Count: {gt: 3}})',
    'quantileExactInclusiveOrNullIf({0.9:Float64})(toFloat64(amount), n > {3:Int64}) AS c0',
  ],
]

for (const [fields, columns] of AGGREGATES) {
  test(`GraphQL aggregate: ${fields}`, () => {
    const names = columns.includes(' AS c1') ? 'c0, c1' : 'c0'
    assert.equal(
      statement(` { ${fields} }`),
      `SELECT ${names} FROM (SELECT ${columns} FROM eth_sales FINAL WHERE 1) LIMIT {25:UInt64} OFFSET {0:UInt64}`,
    )
  })
}

/** Whole statements: groups, buckets, picks, calculations, orders, pages, rows per value. */
const STATEMENTS: readonly (readonly [selection: string, sql: string])[] = [
  [
    '{ Item count(if: {Count: {gt: 3}}) }',
    'SELECT c0, c1 FROM (SELECT item AS c0, countIf(n > {3:Int64}) AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '{ Item count(selectWhere: {gt: "3"}) }',
    'SELECT c0, c1 FROM (SELECT item AS c0, count() AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) WHERE toFloat64(c1) > {3:Float64} ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '{ Item sum(of: Price, selectWhere: {le: "3", ne: "1"}) }',
    'SELECT c0, c1 FROM (SELECT item AS c0, if(count() = 0, 0, sumOrNull(p)) AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) WHERE toFloat64(c1) <= {3:Float64} AND toFloat64(c1) != {1:Float64} ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '{ Time(interval: {in: hours, count: 2}) count }',
    "SELECT c0, c1 FROM (SELECT toDateTime64(toStartOfInterval(at, toIntervalHour({2:UInt32})), 0, 'UTC') AS c0, count() AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
  ],
  [
    '{ Time(interval: {in: months, count: 1}) count }',
    "SELECT c0, c1 FROM (SELECT toDateTime64(toStartOfInterval(at, toIntervalMonth({1:UInt32})), 0, 'UTC') AS c0, count() AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
  ],
  [
    '(limitBy: {by: Item, count: 2, offset: 1}) { Item }',
    'SELECT item FROM eth_sales FINAL WHERE 1 ORDER BY at DESC, slot DESC, place DESC LIMIT {1:UInt64}, {2:UInt64} BY item LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '(limitBy: {by: Item, count: 2}) { Item Paid count }',
    'SELECT c0, c1, c2 FROM (SELECT item AS c0, paid AS c1, count() AS c2, maxOrNull(at) AS c3 FROM eth_sales FINAL WHERE 1 GROUP BY c0, c1) ORDER BY c3 DESC, c0 DESC, c1 DESC LIMIT {0:UInt64}, {2:UInt64} BY c0 LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '(limitBy: {by: Symbol, count: 2}) { Item count }',
    "SELECT c0, c1 FROM (SELECT item AS c0, count() AS c1, maxOrNull(at) AS c2, minOrNull(item_symbol) AS c3 FROM eth_sales FINAL LEFT ANY JOIN (SELECT 'eth' AS item_chain, token_address AS item_key, symbol AS item_symbol, name AS item_name, decimals AS item_places FROM eth_tokens FINAL) AS item ON item_key = item_address AND item_chain = chain WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {0:UInt64}, {2:UInt64} BY c3 LIMIT {25:UInt64} OFFSET {0:UInt64}",
  ],
  [
    '(limit: {count: 7, offset: 3}) { Item }',
    'SELECT item FROM eth_sales FINAL WHERE 1 ORDER BY at DESC, slot DESC, place DESC LIMIT {7:UInt64} OFFSET {3:UInt64}',
  ],
  [
    '(limit: {count: 700}) { Item }',
    'SELECT item FROM eth_sales FINAL WHERE 1 ORDER BY at DESC, slot DESC, place DESC LIMIT {100:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '(orderBy: {ascending: Amount}) { Item }',
    'SELECT item FROM eth_sales FINAL WHERE 1 ORDER BY amount ASC, slot ASC, place ASC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '(orderBy: [{descending: Count}, {ascending: Item}]) { Item Count }',
    'SELECT item, n FROM eth_sales FINAL WHERE 1 ORDER BY n DESC, item ASC, slot DESC, place DESC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '(orderBy: {descendingByField: "count"}) { Item count }',
    'SELECT c0, c1 FROM (SELECT item AS c0, count() AS c1 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c1 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '(orderBy: {ascendingByField: "s"}) { Item s: sum(of: Count) }',
    'SELECT c0, c1 FROM (SELECT item AS c0, if(count() = 0, 0, sumOrNull(n)) AS c1 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c1 ASC, c0 ASC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '(orderBy: {ascending: Count}) { Item count }',
    'SELECT c0, c1 FROM (SELECT item AS c0, count() AS c1, minOrNull(n) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c2 ASC, c0 ASC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '(orderBy: {descending: Count}) { Item count }',
    'SELECT c0, c1 FROM (SELECT item AS c0, count() AS c1, maxOrNull(n) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '{ Item calculate(expression: "$count * 2") count }',
    'SELECT c0, toFloat64(toFloat64(c1) * {2:Float64}), c1 FROM (SELECT item AS c0, count() AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '{ Item sum(of: Count) c: calculate(expression: "round($sum / $count, 2)") count }',
    'SELECT c0, c1, round((toFloat64(c1) / nullIf(toFloat64(c2), 0)), {2:Int8}), c2 FROM (SELECT item AS c0, if(count() = 0, 0, sumOrNull(n)) AS c1, count() AS c2, maxOrNull(at) AS c3 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c3 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '{ Item Price(maximum: Time) }',
    'SELECT c0, c1 FROM (SELECT item AS c0, tupleElement(argMaxIf(tuple(toNullable(p)), tuple(assumeNotNull(at), slot, place), isNotNull(at)), 1) AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '{ Item Price(minimum: Time) count }',
    'SELECT c0, c1, c2 FROM (SELECT item AS c0, tupleElement(argMinIf(tuple(toNullable(p)), tuple(assumeNotNull(at), slot, place), isNotNull(at)), 1) AS c1, count() AS c2, maxOrNull(at) AS c3 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c3 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '{ Symbol count }',
    "SELECT c0, c1 FROM (SELECT item_symbol AS c0, count() AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL LEFT ANY JOIN (SELECT 'eth' AS item_chain, token_address AS item_key, symbol AS item_symbol, name AS item_name, decimals AS item_places FROM eth_tokens FINAL) AS item ON item_key = item_address AND item_chain = chain WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
  ],
  [
    '{ Amount }',
    'SELECT raw, places FROM eth_sales FINAL WHERE 1 ORDER BY at DESC, slot DESC, place DESC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
]

for (const [selection, sql] of STATEMENTS) {
  test(`GraphQL statement: ${selection}`, () => {
    assert.equal(statement(selection), sql)
  })
}
