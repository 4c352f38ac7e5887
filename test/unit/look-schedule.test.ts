import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dueNow, nextLookMs } from '../../serving/dex/look-schedule.ts'

/** Looks at a transaction until it is six hours old, and those of its first minute. */
const looksOf = (maxWaitMs: number): readonly number[] => {
  const looks: number[] = []
  for (let ageMs = 0; ageMs < 21_600_000; ageMs += Math.max(1_000, nextLookMs(ageMs, maxWaitMs)))
    looks.push(ageMs)
  return [looks.length, looks.filter((ageMs) => ageMs < 60_000).length]
}

test('an old transaction is looked at, and sent again, less often than a new one', () => {
  const [all = 0, first = 0] = looksOf(2_000)
  assert.ok(first >= 30, `${first} looks in the first minute`)
  assert.ok(all < 600, `${all} looks in six hours`)
  assert.equal(nextLookMs(119_000, 2_000), 2_000)
  assert.equal(nextLookMs(3_600_000, 2_000), 60_000)
  assert.equal(nextLookMs(3_600_000, 90_000), 90_000)
})

test('many transactions of one organization leave turns to those of others', () => {
  const many = Array.from({ length: 100 }, (_, at) => ({
    job: { orgId: 'a' },
    schedule: { nextMs: at },
  }))
  const others = ['b', 'c', 'd', 'e', 'f'].flatMap((orgId, at) =>
    Array.from({ length: 11 }, () => ({ job: { orgId }, schedule: { nextMs: 200 + at } })),
  )
  const due = dueNow([...many, ...others, { job: { orgId: 'g' }, schedule: { nextMs: 301 } }], 300)
  const countOf = (orgId: string) => due.filter(({ job }) => job.orgId === orgId).length
  assert.deepEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(countOf), [10, 10, 10, 10, 10, 0, 0])
  assert.deepEqual(due.slice(0, 10), many.slice(0, 10))
})
