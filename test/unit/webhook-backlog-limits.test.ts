import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queueLimits } from '../../serving/webhooks/backlog-limits.ts'

const LIMITS = { perEndpoint: 100, perOrg: 250, total: 1_000 }

const queuesOf = (sizesByOrg: Readonly<Record<string, readonly number[]>>) =>
  Object.entries(sizesByOrg).flatMap(([orgId, sizes]) => sizes.map((size) => ({ orgId, size })))

test('webhook backlog limits: the longest queues are cut until organization and process keep their limits', () => {
  const full = [100, 100, 50]
  const table: readonly (readonly [
    string,
    Readonly<Record<string, readonly number[]>>,
    Readonly<Record<string, number>>,
  ])[] = [
    ['nothing waits', {}, { a: 100 }],
    ['an endpoint alone', { a: [120] }, { a: 100 }],
    ['at the limit of the organization', { a: full }, { a: 100 }],
    ['one above it', { a: [100, 100, 51], b: [100] }, { a: 99, b: 100 }],
    ['short queues are kept', { a: [1, 2, 100, 100, 100] }, { a: 82 }],
    ['at the limit of the process', { a: full, b: full, c: full, d: full }, { a: 100, d: 100 }],
    [
      'small organizations are kept',
      { a: full, b: full, c: full, d: full, e: [40] },
      { a: 95, d: 95, e: 100 },
    ],
    [
      'an organization has its share, however many endpoints it has',
      { a: full, b: full, c: full, d: Array.from({ length: 50 }, () => 10), e: [100] },
      { a: 87, d: 4, e: 100 },
    ],
  ]
  for (const [name, sizes, expected] of table) {
    const limitOf = queueLimits(queuesOf(sizes), LIMITS)
    const limits = Object.keys(expected).map((orgId) => [orgId, limitOf(orgId)])
    assert.deepEqual(Object.fromEntries(limits), expected, name)
  }
})
