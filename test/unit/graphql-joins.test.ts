/** Joins of GraphQL, as the statement that they have to become and how their values are printed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { salesStatement } from '../support/sales-cubes.ts'

const JOINS: readonly (readonly [selection: string, sql: string, printers: readonly string[]])[] = [
  [
    'Sales { Item joinReturns { Amount Reasons Symbol } }',
    "WITH main AS (SELECT item AS m0, block_slot AS m1, tx_hash AS m2, at AS m3, slot AS m4, place AS m5 FROM eth_sales FINAL WHERE 1 ORDER BY at DESC, slot DESC, place DESC LIMIT {25:UInt64}) SELECT m0, tupleElement(arrayElement(r0, n), 2), tupleElement(arrayElement(r0, n), 3), if(empty(tupleElement(arrayElement(r0, n), 4)), 'null', toJSONString(arrayElement(tupleElement(arrayElement(r0, n), 4), 1))), tupleElement(arrayElement(r0, n), 5) FROM main LEFT ANY JOIN (SELECT block_slot AS j0_0, tx_hash AS j0_1, arraySort(row -> row.1, groupArray(10000)(tuple(tuple(slot, step), toNullable(back), toNullable(digits), [reasons], toNullable(thing_symbol)))) AS r0 FROM eth_returns FINAL LEFT ANY JOIN (SELECT 'eth' AS thing_chain, token_address AS thing_key, symbol AS thing_symbol, name AS thing_name, decimals AS thing_places FROM eth_tokens FINAL WHERE token_address IN (SELECT thing_address FROM eth_returns FINAL WHERE tx_hash IN (SELECT m2 FROM main)) UNION ALL SELECT 'eth', '0x0000000000000000000000000000000000000000', 'ETH', 'Ether', 18) AS thing ON thing_key = thing_address AND thing_chain = chain WHERE tx_hash IN (SELECT m2 FROM main) GROUP BY block_slot, tx_hash) AS j0 ON j0_0 = m1 AND j0_1 = m2 ARRAY JOIN range(1, greatest(1, length(r0)) + 1) AS n ORDER BY m3 DESC, m4 DESC, m5 DESC, n ASC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON', 'units tupleElement(arrayElement(r0, n), 3)', 'Raw', 'JSON'],
  ],
  [
    'Sales(limit: {count: 7, offset: 3}, orderBy: {ascending: Amount}) { Amount joinReturns { At } joinRefunds { Cents } }',
    "WITH main AS (SELECT raw AS m0, places AS m1, block_slot AS m2, tx_hash AS m3, receipt AS m4, amount AS m5, slot AS m6, place AS m7 FROM eth_sales FINAL WHERE 1 ORDER BY amount ASC, slot ASC, place ASC LIMIT {10:UInt64}) SELECT m0, m1, toDateTime64(tupleElement(arrayElement(r0, n), 2), 0, 'UTC'), tupleElement(arrayElement(r1, n), 2) FROM main LEFT ANY JOIN (SELECT block_slot AS j0_0, tx_hash AS j0_1, arraySort(row -> row.1, groupArray(10000)(tuple(tuple(slot, step), toNullable(returned_at)))) AS r0 FROM eth_returns FINAL WHERE tx_hash IN (SELECT m3 FROM main) GROUP BY block_slot, tx_hash) AS j0 ON j0_0 = m2 AND j0_1 = m3 LEFT ANY JOIN (SELECT receipt AS j1_0, arraySort(row -> row.1, groupArray(10000)(tuple(tuple(refunded_at), toNullable(cents)))) AS r1 FROM eth_refunds WHERE receipt IN (SELECT m4 FROM main) GROUP BY receipt) AS j1 ON j1_0 = m4 ARRAY JOIN range(1, greatest(1, length(r0), length(r1)) + 1) AS n ORDER BY m5 ASC, m6 ASC, m7 ASC, n ASC LIMIT {7:UInt64} OFFSET {3:UInt64}",
    ['units m1', 'JSON', 'JSON'],
  ],
  [
    'Sales(where: {Paid: {is: true}}, limitBy: {by: Item, count: 2}) { Item joinReturns { At again: At } }',
    "WITH main AS (SELECT item AS m0, block_slot AS m1, tx_hash AS m2, at AS m3, slot AS m4, place AS m5 FROM eth_sales FINAL WHERE paid = {1:UInt8} ORDER BY at DESC, slot DESC, place DESC LIMIT {0:UInt64}, {2:UInt64} BY item LIMIT {25:UInt64}) SELECT m0, toDateTime64(tupleElement(arrayElement(r0, n), 2), 0, 'UTC') FROM main LEFT ANY JOIN (SELECT block_slot AS j0_0, tx_hash AS j0_1, arraySort(row -> row.1, groupArray(10000)(tuple(tuple(slot, step), toNullable(returned_at)))) AS r0 FROM eth_returns FINAL WHERE tx_hash IN (SELECT m2 FROM main) GROUP BY block_slot, tx_hash) AS j0 ON j0_0 = m1 AND j0_1 = m2 ARRAY JOIN range(1, greatest(1, length(r0)) + 1) AS n ORDER BY m3 DESC, m4 DESC, m5 DESC, n ASC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON', 'JSON', 'JSON'],
  ],
  [
    'Sales { joinReturns { __typename } }',
    "WITH main AS (SELECT block_slot AS m0, tx_hash AS m1, at AS m2, slot AS m3, place AS m4 FROM eth_sales FINAL WHERE 1 ORDER BY at DESC, slot DESC, place DESC LIMIT {25:UInt64}) SELECT '' FROM main LEFT ANY JOIN (SELECT block_slot AS j0_0, tx_hash AS j0_1, arraySort(row -> row.1, groupArray(10000)(tuple(tuple(slot, step)))) AS r0 FROM eth_returns FINAL WHERE tx_hash IN (SELECT m1 FROM main) GROUP BY block_slot, tx_hash) AS j0 ON j0_0 = m0 AND j0_1 = m1 ARRAY JOIN range(1, greatest(1, length(r0)) + 1) AS n ORDER BY m2 DESC, m3 DESC, m4 DESC, n ASC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    [],
  ],
]

for (const [selection, sql, printers] of JOINS) {
  test(`GraphQL join: ${selection}`, () => {
    assert.deepEqual(salesStatement(selection), { sql, printers })
  })
}
