/** Every metric, bucket, pick, calculation, order and limit of GraphQL, as the statement that it has to become. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { salesStatement } from '../support/sales-cubes.ts'

const statement = (text: string): string => salesStatement(`Sales${text}`).sql

/** An aggregate of all rows, and the columns that it reads. */
const AGGREGATES: readonly (readonly [fields: string, columns: string, printed?: string])[] = [
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
  ['min(of: Time)', 'minOrNull(at) AS c0', "toDateTime64(c0, 0, 'UTC')"],
  ['quantile(of: Amount)', 'quantileExactInclusiveOrNull({0.5:Float64})(toFloat64(amount)) AS c0'],
  [
    'quantile(of: Amount, level: 0.9, if: {Count: {gt: 3}})',
    'quantileExactInclusiveOrNullIf({0.9:Float64})(toFloat64(amount), n > {3:Int64}) AS c0',
  ],
]

for (const [fields, columns, printed] of AGGREGATES) {
  test(`GraphQL aggregate: ${fields}`, () => {
    const names = printed ?? (columns.includes(' AS c1') ? 'c0, c1' : 'c0')
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
    "SELECT toDateTime64(c0, 0, 'UTC'), c1 FROM (SELECT toDateTime64(toStartOfInterval(at, toIntervalHour({2:UInt32})), 0, 'UTC') AS c0, count() AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
  ],
  [
    '{ Time(interval: {in: months, count: 1}) count }',
    "SELECT toDateTime64(c0, 0, 'UTC'), c1 FROM (SELECT toDateTime64(toStartOfInterval(at, toIntervalMonth({1:UInt32})), 0, 'UTC') AS c0, count() AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
  ],
  [
    '{ Time(interval: {in: quarters, count: 1}) count }',
    "SELECT toDateTime64(c0, 0, 'UTC'), c1 FROM (SELECT toDateTime64(toStartOfInterval(at, toIntervalQuarter({1:UInt32})), 0, 'UTC') AS c0, count() AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
  ],
  [
    '{ Time(interval: {in: days, timezone: "America/New_York"}) count }',
    "SELECT toDateTime64(c0, 0, 'UTC'), c1 FROM (SELECT toTimeZone(toDateTime64(toStartOfInterval(at, toIntervalDay({1:UInt32}), {America/New_York:String}), 0, {America/New_York:String}), 'UTC') AS c0, count() AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
  ],
  [
    '{ Time(interval: {in: days, timezone: "utc"}) }',
    "SELECT toDateTime64(c0, 0, 'UTC') FROM (SELECT toDateTime64(toStartOfInterval(at, toIntervalDay({1:UInt32})), 0, 'UTC') AS c0, maxOrNull(at) AS c1 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c1 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
  ],
  [
    '(where: {Time: {since_relative: {hours_ago: 12}, before_relative: {months_ago: 1}}}) { Item }',
    "SELECT item FROM eth_sales FINAL WHERE (at >= {2026-03-01 12:00:00.000:DateTime64(3, 'UTC')} AND at < {2026-02-02 00:00:00.000:DateTime64(3, 'UTC')}) ORDER BY at DESC, slot DESC, place DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
  ],
  [
    '(limitBy: {by: Item, count: 2, offset: 1}) { Item }',
    'SELECT item FROM eth_sales FINAL WHERE 1 ORDER BY at DESC, slot DESC, place DESC LIMIT {1:UInt64}, {2:UInt64} BY item LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '(limitBy: {by: Item, count: 2}) { Item Paid count }',
    'SELECT c0, toBool(c1), c2 FROM (SELECT item AS c0, paid AS c1, count() AS c2, maxOrNull(at) AS c3 FROM eth_sales FINAL WHERE 1 GROUP BY c0, c1) ORDER BY c3 DESC, c0 DESC, c1 DESC LIMIT {0:UInt64}, {2:UInt64} BY c0 LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '(limitBy: {by: Symbol, count: 2}) { Item count }',
    "SELECT c0, c1 FROM (SELECT item AS c0, count() AS c1, maxOrNull(at) AS c2, minOrNull(item_symbol) AS c3 FROM eth_sales FINAL LEFT ANY JOIN (SELECT 'eth' AS item_chain, token_address AS item_key, symbol AS item_symbol, name AS item_name, decimals AS item_places FROM eth_tokens FINAL WHERE token_address IN (SELECT item_address FROM eth_sales FINAL WHERE 1) UNION ALL SELECT 'eth', '0x0000000000000000000000000000000000000000', 'ETH', 'Ether', 18) AS item ON item_key = item_address AND item_chain = chain WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {0:UInt64}, {2:UInt64} BY c3 LIMIT {25:UInt64} OFFSET {0:UInt64}",
  ],
  [
    '(where: {Count: {gt: 3}}, limitBy: {by: Item, count: 2}) { Item Symbol }',
    "WITH page AS (SELECT * FROM eth_sales FINAL WHERE n > {3:Int64} ORDER BY at DESC, slot DESC, place DESC LIMIT {0:UInt64}, {2:UInt64} BY item LIMIT {25:UInt64} OFFSET {0:UInt64}) SELECT item, item_symbol FROM page LEFT ANY JOIN (SELECT 'eth' AS item_chain, token_address AS item_key, symbol AS item_symbol, name AS item_name, decimals AS item_places FROM eth_tokens FINAL WHERE token_address IN (SELECT item_address FROM page) UNION ALL SELECT 'eth', '0x0000000000000000000000000000000000000000', 'ETH', 'Ether', 18) AS item ON item_key = item_address AND item_chain = chain ORDER BY at DESC, slot DESC, place DESC",
  ],
  [
    '(where: {Count: {gt: 3}, Symbol: {is: "X"}, any: [{Paid: {is: true}}, {Symbol: {is: "Y"}}]}) { Item }',
    "SELECT item FROM eth_sales FINAL LEFT ANY JOIN (SELECT 'eth' AS item_chain, token_address AS item_key, symbol AS item_symbol, name AS item_name, decimals AS item_places FROM eth_tokens FINAL WHERE token_address IN (SELECT item_address FROM eth_sales FINAL WHERE n > {3:Int64}) UNION ALL SELECT 'eth', '0x0000000000000000000000000000000000000000', 'ETH', 'Ether', 18) AS item ON item_key = item_address AND item_chain = chain WHERE (item_symbol = {X:String} AND n > {3:Int64} AND (paid = {1:UInt8} OR item_symbol = {Y:String})) ORDER BY at DESC, slot DESC, place DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
  ],
  [
    '(where: {Count: {gt: 3}}, orderBy: {ascending: Symbol}) { Item }',
    "SELECT item FROM eth_sales FINAL LEFT ANY JOIN (SELECT 'eth' AS item_chain, token_address AS item_key, symbol AS item_symbol, name AS item_name, decimals AS item_places FROM eth_tokens FINAL WHERE token_address IN (SELECT item_address FROM eth_sales FINAL WHERE n > {3:Int64}) UNION ALL SELECT 'eth', '0x0000000000000000000000000000000000000000', 'ETH', 'Ether', 18) AS item ON item_key = item_address AND item_chain = chain WHERE n > {3:Int64} ORDER BY item_symbol ASC, slot ASC, place ASC LIMIT {25:UInt64} OFFSET {0:UInt64}",
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
    "SELECT c0, c1 FROM (SELECT item_symbol AS c0, count() AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL LEFT ANY JOIN (SELECT 'eth' AS item_chain, token_address AS item_key, symbol AS item_symbol, name AS item_name, decimals AS item_places FROM eth_tokens FINAL WHERE token_address IN (SELECT item_address FROM eth_sales FINAL WHERE 1) UNION ALL SELECT 'eth', '0x0000000000000000000000000000000000000000', 'ETH', 'Ether', 18) AS item ON item_key = item_address AND item_chain = chain WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
  ],
  [
    '{ Item again: Item count }',
    "SELECT c0, CAST(c0, 'Nullable(String)'), c1 FROM (SELECT item AS c0, count() AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
  ],
  [
    '(orderBy: {descendingByField: "quantile"}) { Item quantile(of: Amount) }',
    'SELECT c0, c1 FROM (SELECT item AS c0, quantileExactInclusiveOrNull({0.5:Float64})(toFloat64(amount)) AS c1 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c1 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '(orderBy: {ascending: Item}, limitBy: {by: Item, count: 1}) { Item count }',
    'SELECT c0, c1 FROM (SELECT item AS c0, count() AS c1 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c0 ASC LIMIT {0:UInt64}, {1:UInt64} BY c0 LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '{ Item Tags(maximum: Time) Amount(minimum: Count) }',
    'SELECT c0, c1, c2 FROM (SELECT item AS c0, tupleElement(argMaxIf(tuple(tags), tuple(assumeNotNull(at), slot, place), isNotNull(at)), 1) AS c1, tupleElement(argMinIf(tuple(toNullable(raw / pow(10, places))), tuple(assumeNotNull(n), slot, place), isNotNull(n)), 1) AS c2, maxOrNull(at) AS c3 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c3 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '{ Item a: calculate(expression: "abs(-$count)") b: calculate(expression: "if($count > 2, $a, $Item)") c: calculate(expression: "round($count)") count }',
    'SELECT c0, abs((-toFloat64(c1))), if(toFloat64(toFloat64(c1) > {2:Float64}) != 0, abs((-toFloat64(c1))), toFloat64OrNull(toString(c0))), round(toFloat64(c1), {0:Int8}), c1 FROM (SELECT item AS c0, count() AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '{ calculate(expression: "1 + 1") }',
    'SELECT toFloat64({1:Float64} + {1:Float64}) FROM (SELECT count() AS c0 FROM eth_sales FINAL WHERE 1) LIMIT {25:UInt64} OFFSET {0:UInt64}',
  ],
  [
    '{ __typename }',
    "SELECT '' FROM eth_sales FINAL WHERE 1 ORDER BY at DESC, slot DESC, place DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
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

test('selectWhere compiles to numeric comparisons, joined by AND', () => {
  const rows: readonly (readonly [field: string, kept: string])[] = [
    ['count(selectWhere: {gt: "3"})', 'toFloat64(c0) > {3:Float64}'],
    ['count(selectWhere: {ge: "3"})', 'toFloat64(c0) >= {3:Float64}'],
    ['count(selectWhere: {gte: "3"})', 'toFloat64(c0) >= {3:Float64}'],
    ['count(selectWhere: {lt: "3"})', 'toFloat64(c0) < {3:Float64}'],
    ['count(selectWhere: {le: "3"})', 'toFloat64(c0) <= {3:Float64}'],
    ['count(selectWhere: {lte: "3"})', 'toFloat64(c0) <= {3:Float64}'],
    ['count(selectWhere: {eq: "3"})', 'toFloat64(c0) = {3:Float64}'],
    ['count(selectWhere: {ne: "3"})', 'toFloat64(c0) != {3:Float64}'],
    [
      'count(selectWhere: {gt: "3", lt: "9"})',
      'toFloat64(c0) > {3:Float64} AND toFloat64(c0) < {9:Float64}',
    ],
    // The number of different times is a number, the last of them is not.
    ['uniq(of: Time, selectWhere: {gt: "3"})', 'toFloat64(c0) > {3:Float64}'],
    ['max(of: Time, selectWhere: {gt: "3"})', 'toFloat64OrNull(toString(c0)) > {3:Float64}'],
    ['max(of: Ratio, selectWhere: {gt: "3"})', 'toFloat64(c0) > {3:Float64}'],
    ['max(of: Paid, selectWhere: {eq: "1"})', 'toFloat64(c0) = {1:Float64}'],
    [
      'calculate(expression: "$count + 1", selectWhere: {gt: "3"}) count',
      'toFloat64(toFloat64(c0) + {1:Float64}) > {3:Float64}',
    ],
  ]
  for (const [field, kept] of rows) {
    const [, where = ''] = statement(`{ ${field} }`).split(') WHERE ')
    assert.equal(where, `${kept} LIMIT {25:UInt64} OFFSET {0:UInt64}`, field)
  }
})

test('a value is printed by its type, and an amount from its base units', () => {
  const rows: readonly (readonly [field: string, columns: string])[] = [
    ['Time', "toDateTime64(at, 0, 'UTC')"],
    ['Day', 'toDate(toDate(at))'],
    ['Item', 'item'],
    ['Count', 'n'],
    ['Ratio', 'r'],
    ['Price', 'p'],
    ['Amount', 'raw, places'],
    ['Paid', 'toBool(paid)'],
    ['Tags', 'tags'],
    ['max(of: Time)', "toDateTime64(c0, 0, 'UTC')"],
    ['min(of: Day)', 'toDate(c0)'],
    ['max(of: Paid)', 'toBool(c0)'],
    ['max(of: Amount)', 'c0'],
    ['count', 'c0'],
    ['uniq(of: Time)', 'c0'],
    ['count(distinct: Time)', 'c0'],
    ['sum(of: Amount)', 'c0'],
    ['avg(of: Count)', 'c0'],
    ['quantile(of: Count)', 'c0'],
    ['calculate(expression: "1")', '{1:Float64}'],
    ['Time(maximum: Count)', "toDateTime64(c0, 0, 'UTC')"],
    ['Amount(maximum: Count)', 'c0'],
  ]
  for (const [field, columns] of rows) {
    assert.equal(/^SELECT (.*?) FROM /.exec(statement(` { ${field} }`))?.[1], columns, field)
  }
})
