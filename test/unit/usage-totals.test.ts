import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../../core/time.ts'
import { createUsageTotals } from '../../serving/billing/usage-totals.ts'

const START_MS = Date.UTC(2026, 10, 10, 12)

test('counts of a limit alone are forgotten after two days, charges are kept', () => {
  let now = START_MS
  const totals = createUsageTotals('own', () => now)
  const heard: unknown[] = []
  totals.onRequests((key, requests) => heard.push([key, requests]))
  totals.countRequest('packet a', now)
  totals.charge('org', { route: 'GET /x', milliUnits: 5, atMs: now })
  const written = totals.takeChanged(10)
  assert.deepEqual(
    written.map(({ org_id, requests }) => [org_id, requests]),
    [
      ['packet a', 1],
      ['org', 0],
    ],
  )
  const [counted, charged] = written
  assert.ok(counted && charged)
  totals.applyRecord({ ...counted, node: 'other', requests: 3 })
  assert.deepEqual(heard, [['packet a', 3]])

  now += 3 * DAY_MS
  totals.requeue(written)
  assert.deepEqual(
    totals.takeChanged(10).map(({ org_id }) => org_id),
    ['org'],
  )
  totals.applyRecord({ ...counted, node: 'third', requests: 7 })
  assert.equal(heard.length, 1, 'what is over is not counted again')
  assert.equal(totals.used('org'), 5)
})

test('a record of a day before the last one of the month before changes nothing', () => {
  const totals = createUsageTotals('own', () => START_MS)
  const heard: unknown[] = []
  totals.onRequests((key, requests) => heard.push([key, requests]))
  const writer = createUsageTotals('other', () => START_MS)
  writer.charge('org', { route: 'GET /x', milliUnits: 5, atMs: START_MS })
  const [record] = writer.takeChanged(1)
  assert.ok(record)
  const lastOfMonth = Date.UTC(2026, 9, 31)
  totals.applyRecord({ ...record, day: lastOfMonth - DAY_MS, requests: 4 })
  assert.deepEqual(heard, [])
  totals.applyRecord({ ...record, day: lastOfMonth, requests: 4 })
  assert.deepEqual(heard, [['org', 4]])
  assert.equal(totals.used('org'), 0)
})

test('a record of a day has the keys that were used last, however many were made and used once', () => {
  const totals = createUsageTotals('own', () => START_MS)
  for (let nth = 0; nth < 500; nth += 1) totals.noteKeyUse('org', `key_${nth}`, START_MS + nth)
  totals.noteKeyUse('org', 'key_450', START_MS + 500)
  const [record] = totals.takeChanged(10)
  assert.ok(record)
  assert.equal(record.key_uses.length, 100)
  assert.deepEqual(
    [record.key_uses[0]?.key_id, record.key_uses.at(-2)?.key_id, record.key_uses.at(-1)?.key_id],
    ['key_400', 'key_499', 'key_450'],
  )
  assert.equal(totals.keyLastUsedAtMs('key_0'), START_MS, 'this process knows more')
})

test('of a record of another process only the keys that were used last count, in whatever order it has them', () => {
  const totals = createUsageTotals('own', () => START_MS)
  const key_uses = Array.from({ length: 300 }, (_, nth) => ({
    key_id: `key_${nth}`,
    last_used_at: START_MS - nth,
  }))
  totals.applyRecord({
    org_id: 'org',
    node: 'other',
    day: START_MS - (START_MS % DAY_MS),
    lines: [],
    requests: 1,
    key_uses,
    updated_at: START_MS,
    version: 1,
  })
  assert.equal(totals.keyLastUsedAtMs('key_99'), START_MS - 99)
  assert.equal(totals.keyLastUsedAtMs('key_100'), undefined)
})

test('the keys of one organization do not displace those of others', () => {
  const totals = createUsageTotals('own', () => START_MS)
  totals.noteKeyUse('org_b', 'key_b', START_MS)
  for (let nth = 0; nth < 100_001; nth += 1) totals.noteKeyUse('org_a', `key_${nth}`, START_MS)
  assert.equal(totals.keyLastUsedAtMs('key_b'), START_MS)
  assert.deepEqual(
    [99_000, 99_001, 100_000].map((nth) => totals.keyLastUsedAtMs(`key_${nth}`)),
    [undefined, START_MS, START_MS],
  )
})
