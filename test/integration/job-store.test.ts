import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Job } from '../../serving/jobs/job.ts'
import { openTestJobStore } from '../support/job-store.ts'

const DAY_MS = 86_400_000
const CHILD = fileURLToPath(new URL('../support/job-child.ts', import.meta.url))

const folder = mkdtempSync(join(tmpdir(), 'sluice-jobs-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const open: Awaited<ReturnType<typeof openTestJobStore>>[] = []
afterEach(async () => {
  for (const { bus, jobs } of open.splice(0)) {
    await jobs.stop()
    await bus.close()
  }
})

let folders = 0
const opened = async (nowMs?: () => number, path = join(folder, String(++folders))) => {
  const store = await openTestJobStore(path, nowMs)
  open.push(store)
  return store.jobs
}

const SEND = { orgId: 'org_a', kind: 'send' }

test('a killed process loses no stored job, and the next process lists the unfinished ones', async () => {
  const path = join(folder, 'killed')
  const child = spawn(process.execPath, ['--import', 'tsx', CHILD, path], { stdio: 'inherit' })
  const [, signal] = await once(child, 'exit')
  assert.equal(signal, 'SIGKILL')
  const jobs = await opened(undefined, path)
  assert.deepEqual(
    jobs.unfinished('send').map(({ id, hash }) => [id, hash]),
    [['job_open', '0xopen']],
  )
  const { status, result, revision, hash } = jobs.get({ orgId: 'org_a', id: 'job_done' }) as Job
  assert.deepEqual([status, result, revision, hash], ['completed', { block: 7 }, 2, '0xdone'])
  assert.deepEqual(jobs.unfinished('other'), [])
})

test('creating a job with an existing id returns the existing job; ids are separate for each organization', async () => {
  const jobs = await opened()
  const [first, again] = await Promise.all([
    jobs.create({ ...SEND, id: 'same', hash: '0x1' }),
    jobs.create({ ...SEND, id: 'same', hash: '0x2' }),
  ])
  assert.deepEqual(first, again)
  assert.equal(first.hash, '0x1')
  assert.equal(jobs.get({ orgId: 'org_b', id: 'same' }), undefined)
  const other = await jobs.create({ ...SEND, orgId: 'org_b', id: 'same', hash: '0x3' })
  assert.equal(other.hash, '0x3')
  assert.equal(jobs.get(first)?.hash, '0x1')
  const { id } = await jobs.create(SEND)
  assert.match(id, /^job_[0-9A-Z]{26}$/)
})

test('a job ends once; its watchers are called with each change', async () => {
  const jobs = await opened()
  const job = await jobs.create(SEND)
  const heard: string[] = []
  const stop = jobs.watch(job, ({ status, revision }) => heard.push(`${revision} ${status}`))
  await jobs.update(job, () => ({ result: { seen: true } }))
  await jobs.update(job, () => undefined)
  await jobs.update(job, () => ({ status: 'failed', error: 'expired', message: 'too late' }))
  const after = await jobs.update(job, () => ({ status: 'completed' }))
  assert.deepEqual([after.status, after.error, after.revision], ['failed', 'expired', 3])
  assert.deepEqual(heard, ['2 pending', '3 failed'])
  stop()
  await assert.rejects(
    jobs.update({ orgId: 'org_b', id: job.id }, () => ({ status: 'completed' })),
    { faultName: 'NOT_FOUND' },
  )
  await assert.rejects(jobs.create({ ...SEND, result: { text: 'x'.repeat(16_384) } }), {
    code: 'ERR_ASSERTION',
  })
})

test('creating a job that has ended begins it again under its id, for watchers too', async () => {
  let nowMs = 1_000
  const jobs = await opened(() => nowMs)
  const named = { ...SEND, id: 'again', hash: '0x1' }
  const job = await jobs.create({ ...named, result: { at: 1 } })
  await jobs.update(job, () => ({ status: 'failed', error: 'expired', message: 'too late' }))
  const heard: string[] = []
  jobs.watch(job, ({ status, revision }) => heard.push(`${revision} ${status}`))
  nowMs += 5_000
  const renewed = await jobs.create({ ...named, result: { at: 2 } })
  const { status, error, message, result, revision, createdAtMs } = renewed
  assert.deepEqual(
    [status, error, message, result, revision, createdAtMs],
    ['pending', '', '', { at: 2 }, 3, 6_000],
  )
  assert.deepEqual(jobs.unfinished('send'), [renewed])
  await jobs.update(renewed, () => ({ status: 'completed' }))
  assert.deepEqual(heard, ['3 pending', '4 completed'])
})

test('a job is remembered for 24 hours after its last change', async () => {
  let nowMs = 1_000
  const jobs = await opened(() => nowMs)
  const [kept, old] = [await jobs.create(SEND), await jobs.create(SEND)]
  nowMs += DAY_MS / 2
  await jobs.update(kept, () => ({ result: { seen: true } }))
  nowMs += DAY_MS / 2
  assert.equal(jobs.get(old), undefined)
  assert.deepEqual(
    jobs.unfinished('send').map(({ id }) => id),
    [kept.id],
  )
})

test('an organization has at most a thousand jobs: the oldest finished ones go, unfinished ones stay', async () => {
  const jobs = await opened()
  const made: Job[] = []
  for (let count = 0; count < 1_000; count += 1) made.push(await jobs.create(SEND))
  await assert.rejects(jobs.create(SEND), { faultName: 'API_USAGE_LIMIT_EXCEEDED' })
  assert.ok(await jobs.create({ ...SEND, orgId: 'org_b' }), 'others are not held up')
  const [first, second, third] = made as [Job, Job, Job]
  await jobs.update(third, () => ({ status: 'completed' }))
  await jobs.update(second, () => ({ status: 'completed' }))
  await jobs.create(SEND)
  assert.ok(jobs.get(first) && jobs.get(second))
  assert.equal(jobs.get(third), undefined, 'the one that ended first')
})
