import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openThreadPool } from '../../core/runtime/thread-pool.ts'

const ended: unknown[] = []
const threads = openThreadPool<number, number>({
  module: new URL('../support/worker-pool-child', import.meta.url),
  name: 'work',
  data: { factor: 2 },
  most: 2,
  onError: (error) => ended.push(error),
})
after(() => threads.close())

test('a thread pool runs work with the data that its threads started with', async () => {
  const values = Array.from({ length: 50 }, (_, index) => index + 1)
  assert.deepEqual(
    await Promise.all(values.map((value) => threads.run(value))),
    values.map((value) => 2 * value),
  )
})

test('an error that work throws in a thread is thrown to the caller, and the thread continues', async () => {
  await assert.rejects(threads.run(0), /nothing to double/)
  assert.equal(await threads.run(4), 8)
})

test('work fails when its thread exits, and another thread takes its place', async () => {
  await assert.rejects(threads.run(-1))
  assert.equal(await threads.run(5), 10)
})
