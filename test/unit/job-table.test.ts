import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Job, JobStatus } from '../../serving/jobs/job.ts'
import { createJobTable } from '../../serving/jobs/job-table.ts'

const DAY_MS = 86_400_000

const jobOf = (more: Partial<Job>): Job => ({
  id: 'job_1',
  orgId: 'org_a',
  kind: 'send.eth',
  status: 'pending',
  hash: '',
  result: {},
  error: '',
  message: '',
  revision: 1,
  createdAtMs: 0,
  updatedAtMs: 0,
  ...more,
})

test('unfinished jobs of a kind are those put last that are neither ended nor older than a day', () => {
  const step = fc.record({
    id: fc.constantFrom('a', 'b', 'c'),
    kind: fc.constantFrom('send.eth', 'send.sol'),
    status: fc.constantFrom<JobStatus>('pending', 'completed', 'failed'),
    isRemoved: fc.boolean(),
    passedMs: fc.constantFrom(0, DAY_MS / 2),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      let nowMs = DAY_MS
      const table = createJobTable(() => nowMs)
      const known = new Map<string, Job>()
      for (const { id, kind, status, isRemoved, passedMs } of steps) {
        nowMs += passedMs
        const job = isRemoved ? null : jobOf({ id, kind, status, updatedAtMs: nowMs })
        table.put(id, job)
        if (job === null) known.delete(id)
        else known.set(id, job)
        for (const wanted of ['send.eth', 'send.sol']) {
          const open = [...known.values()].filter(
            (one) =>
              one.kind === wanted && one.status === 'pending' && one.updatedAtMs > nowMs - DAY_MS,
          )
          assert.deepEqual(new Set(table.unfinished(wanted)), new Set(open))
        }
      }
    }),
  )
})

test('unfinished jobs are found without a look at those that have ended', () => {
  const table = createJobTable(() => 1)
  let looks = 0
  const ended = (id: string): Job => ({
    ...jobOf({ id, updatedAtMs: 1 }),
    get status(): JobStatus {
      looks += 1
      return 'completed'
    },
  })
  for (let count = 0; count < 900; count += 1) table.put(String(count), ended(String(count)))
  table.put('open', jobOf({ id: 'open', updatedAtMs: 1 }))
  looks = 0
  assert.deepEqual(
    table.unfinished('send.eth').map(({ id }) => id),
    ['open'],
  )
  assert.equal(looks, 0)
})
