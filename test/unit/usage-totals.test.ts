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
