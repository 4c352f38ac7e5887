/** Intervals of GraphQL, as the statement that they have to become and how their values are printed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { salesStatement } from '../support/sales-cubes.ts'

type Row = readonly [selection: string, sql: string, printers: readonly string[]]

/** Rows by time: the start, the end and the length of a bucket, in UTC and in a zone; one group key for all of them. */
const BUCKETS: readonly Row[] = [
  [
    'Sales { Until(interval: {in: hours, count: 4}) Seconds(interval: {in: hours, count: 4}) Time(interval: {in: hours, count: 4}) }',
    "SELECT toDateTime64((c0 + toIntervalHour({4:UInt32})), 0, 'UTC'), dateDiff('second', c0, (c0 + toIntervalHour({4:UInt32}))), toDateTime64(c0, 0, 'UTC') FROM (SELECT toDateTime64(toStartOfInterval(at, toIntervalHour({4:UInt32})), 0, 'UTC') AS c0, maxOrNull(at) AS c1 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c1 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON', 'JSON', 'JSON'],
  ],
  [
    'Sales { Until(interval: {in: days, timezone: "America/New_York"}) Seconds(interval: {in: days, timezone: "America/New_York"}) }',
    "SELECT toDateTime64(toTimeZone((toTimeZone(c0, {America/New_York:String}) + toIntervalDay({1:UInt32})), 'UTC'), 0, 'UTC'), dateDiff('second', c0, toTimeZone((toTimeZone(c0, {America/New_York:String}) + toIntervalDay({1:UInt32})), 'UTC')) FROM (SELECT toTimeZone(toDateTime64(toStartOfInterval(at, toIntervalDay({1:UInt32}), {America/New_York:String}), 0, {America/New_York:String}), 'UTC') AS c0, maxOrNull(at) AS c1 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c1 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON', 'JSON'],
  ],
  [
    'Sales { Time(interval: {in: days}) zoned: Time(interval: {in: days, timezone: "America/New_York"}) weeks: Time(interval: {in: weeks}) }',
    "SELECT toDateTime64(c0, 0, 'UTC'), toDateTime64(c1, 0, 'UTC'), toDateTime64(c2, 0, 'UTC') FROM (SELECT toDateTime64(toStartOfInterval(at, toIntervalDay({1:UInt32})), 0, 'UTC') AS c0, toTimeZone(toDateTime64(toStartOfInterval(at, toIntervalDay({1:UInt32}), {America/New_York:String}), 0, {America/New_York:String}), 'UTC') AS c1, toDateTime64(toStartOfInterval(at, toIntervalWeek({1:UInt32})), 0, 'UTC') AS c2, maxOrNull(at) AS c3 FROM eth_sales FINAL WHERE 1 GROUP BY c0, c1, c2) ORDER BY c3 DESC, c0 DESC, c1 DESC, c2 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON', 'JSON', 'JSON'],
  ],
  [
    'Sales { tokyo: Time(interval: {in: days, timezone: "Asia/Tokyo"}) york: Time(interval: {in: days, timezone: "America/New_York"}) }',
    "SELECT toDateTime64(c0, 0, 'UTC'), toDateTime64(c1, 0, 'UTC') FROM (SELECT toTimeZone(toDateTime64(toStartOfInterval(at, toIntervalDay({1:UInt32}), {Asia/Tokyo:String}), 0, {Asia/Tokyo:String}), 'UTC') AS c0, toTimeZone(toDateTime64(toStartOfInterval(at, toIntervalDay({1:UInt32}), {America/New_York:String}), 0, {America/New_York:String}), 'UTC') AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0, c1) ORDER BY c2 DESC, c0 DESC, c1 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON', 'JSON'],
  ],
  [
    'Sales { Shipped(interval: {in: hours}) Until(interval: {in: hours}) }',
    "SELECT toDateTime64(c0, 0, 'UTC'), toDateTime64((c1 + toIntervalHour({1:UInt32})), 0, 'UTC') FROM (SELECT toDateTime64(toStartOfInterval(shipped, toIntervalHour({1:UInt32})), 0, 'UTC') AS c0, toDateTime64(toStartOfInterval(at, toIntervalHour({1:UInt32})), 0, 'UTC') AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0, c1) ORDER BY c2 DESC, c0 DESC, c1 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON', 'JSON'],
  ],
  [
    'Sales { Day(interval: {in: weeks}) count }',
    "SELECT toDate(c0), c1 FROM (SELECT toDateTime64(toStartOfInterval(at, toIntervalWeek({1:UInt32})), 0, 'UTC') AS c0, count() AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON', 'JSON'],
  ],
  [
    'Sales { Day(interval: {in: weeks, timezone: "America/New_York"}) count }',
    "SELECT toDate(toTimeZone(c0, {America/New_York:String})), c1 FROM (SELECT toTimeZone(toDateTime64(toStartOfInterval(at, toIntervalWeek({1:UInt32}), {America/New_York:String}), 0, {America/New_York:String}), 'UTC') AS c0, count() AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON', 'JSON'],
  ],
  [
    'Sales { Time(interval: {in: hours}) Day(interval: {in: days}) }',
    "SELECT toDateTime64(c0, 0, 'UTC'), toDate(c1) FROM (SELECT toDateTime64(toStartOfInterval(at, toIntervalHour({1:UInt32})), 0, 'UTC') AS c0, toDateTime64(toStartOfInterval(at, toIntervalDay({1:UInt32})), 0, 'UTC') AS c1, maxOrNull(at) AS c2 FROM eth_sales FINAL WHERE 1 GROUP BY c0, c1) ORDER BY c2 DESC, c0 DESC, c1 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON', 'JSON'],
  ],
  [
    'Sales { Time(interval: {in: seconds, count: 15}) }',
    "SELECT toDateTime64(c0, 0, 'UTC') FROM (SELECT toDateTime64(toStartOfInterval(at, toIntervalSecond({15:UInt32})), 0, 'UTC') AS c0, maxOrNull(at) AS c1 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c1 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON'],
  ],
  [
    'Sales { Time(interval: {in: minutes, count: 5}) }',
    "SELECT toDateTime64(c0, 0, 'UTC') FROM (SELECT toDateTime64(toStartOfInterval(at, toIntervalMinute({5:UInt32})), 0, 'UTC') AS c0, maxOrNull(at) AS c1 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c1 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON'],
  ],
  [
    'Sales { Time(interval: {in: years}) }',
    "SELECT toDateTime64(c0, 0, 'UTC') FROM (SELECT toDateTime64(toStartOfInterval(at, toIntervalYear({1:UInt32})), 0, 'UTC') AS c0, maxOrNull(at) AS c1 FROM eth_sales FINAL WHERE 1 GROUP BY c0) ORDER BY c1 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON'],
  ],
]

/** Stored buckets, merged into wider ones: each value by its own rule, one row per item of each shop. */
const WIDENED: readonly Row[] = [
  [
    'Minutes { Time(interval: {in: hours}) Item Sold Last }',
    "SELECT toDateTime64(c0, 0, 'UTC'), c1, c2, c3 FROM (SELECT toDateTime64(toStartOfInterval(bucket, toIntervalHour({1:UInt32})), 0, 'UTC') AS c0, item AS c1, sum(sold) AS c2, argMax(last, bucket) AS c3, shop AS c4, maxOrNull(bucket) AS c5 FROM eth_sales_1m FINAL WHERE 1 GROUP BY c0, c1, c4) ORDER BY c5 DESC, c0 DESC, c1 DESC, c4 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON', 'JSON', 'JSON', 'JSON'],
  ],
  [
    'Minutes { Time Item Sold Last }',
    "SELECT toDateTime64(bucket, 0, 'UTC'), item, sold, last FROM eth_sales_1m FINAL WHERE 1 ORDER BY bucket DESC, shop DESC, item DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON', 'JSON', 'JSON', 'JSON'],
  ],
  [
    'Minutes { Time(interval: {in: hours}) count }',
    "SELECT toDateTime64(c0, 0, 'UTC'), c1 FROM (SELECT toDateTime64(toStartOfInterval(bucket, toIntervalHour({1:UInt32})), 0, 'UTC') AS c0, count() AS c1, maxOrNull(bucket) AS c2 FROM eth_sales_1m FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON', 'JSON'],
  ],
  [
    'Minutes { Time(interval: {in: hours}) Item }',
    "SELECT toDateTime64(c0, 0, 'UTC'), c1 FROM (SELECT toDateTime64(toStartOfInterval(bucket, toIntervalHour({1:UInt32})), 0, 'UTC') AS c0, item AS c1, maxOrNull(bucket) AS c2 FROM eth_sales_1m FINAL WHERE 1 GROUP BY c0, c1) ORDER BY c2 DESC, c0 DESC, c1 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON', 'JSON'],
  ],
  [
    'Minutes { Sold sum(of: Sold) }',
    'SELECT c0, c1 FROM (SELECT sold AS c0, if(count() = 0, 0, sumOrNull(sold)) AS c1, maxOrNull(bucket) AS c2 FROM eth_sales_1m FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}',
    ['JSON', 'JSON'],
  ],
  [
    'Minutes(orderBy: {descending: Sold}) { Time(interval: {in: hours}) Item }',
    "SELECT toDateTime64(c0, 0, 'UTC'), c1 FROM (SELECT toDateTime64(toStartOfInterval(bucket, toIntervalHour({1:UInt32})), 0, 'UTC') AS c0, item AS c1, sum(sold) AS c2 FROM eth_sales_1m FINAL WHERE 1 GROUP BY c0, c1) ORDER BY c2 DESC, c0 DESC, c1 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON', 'JSON'],
  ],
  [
    'Minutes(orderBy: {descending: Sold}) { Time(interval: {in: hours}) Sold }',
    "SELECT toDateTime64(c0, 0, 'UTC'), c1 FROM (SELECT toDateTime64(toStartOfInterval(bucket, toIntervalHour({1:UInt32})), 0, 'UTC') AS c0, sum(sold) AS c1, shop AS c2, item AS c3 FROM eth_sales_1m FINAL WHERE 1 GROUP BY c0, c2, c3) ORDER BY c1 DESC, c0 DESC, c2 DESC, c3 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}",
    ['JSON', 'JSON'],
  ],
  [
    'Minutes(orderBy: {descending: Sold}) { Item count }',
    'SELECT c0, c1 FROM (SELECT item AS c0, count() AS c1, maxOrNull(sold) AS c2 FROM eth_sales_1m FINAL WHERE 1 GROUP BY c0) ORDER BY c2 DESC, c0 DESC LIMIT {25:UInt64} OFFSET {0:UInt64}',
    ['JSON', 'JSON'],
  ],
]

for (const [selection, sql, printers] of [...BUCKETS, ...WIDENED]) {
  test(`GraphQL buckets: ${selection}`, () => {
    assert.deepEqual(salesStatement(selection), { sql, printers })
  })
}
