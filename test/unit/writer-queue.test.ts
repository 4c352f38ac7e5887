import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Fault } from '../../core/errors.ts'
import { createWriterQueue } from '../../serving/auth/writer-queue.ts'

test('organizations take queue to write, and each has a limited number of waiting writes', async () => {
  const queue = createWriterQueue()
  const order: string[] = []
  const write = (orgId: string | undefined, name: string) =>
    queue.run(orgId, async () => {
      await turn()
      order.push(name)
    })
  const many = Array.from({ length: 150 }, (_, index) => write('a', `a${index}`))
  const others = [write('b', 'b0'), write('b', 'b1'), write(undefined, 'own')]
  const results = await Promise.allSettled(many)
  await Promise.all(others)
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  assert.equal(refused.length, 150 - 17)
  assert.ok(refused.every((it) => it instanceof Fault && it.faultName === 'CONCURRENCY_LIMIT'))
  assert.deepEqual(order.slice(0, 6), ['a0', 'a1', 'b0', 'own', 'a2', 'b1'])
  assert.equal(order.length, 17 + 3)
})

test('writes of the installation itself are not limited; a failed write does not block the next one', async () => {
  const queue = createWriterQueue()
  const own = Array.from({ length: 100 }, (_, index) => queue.run(undefined, async () => index))
  const failed = queue.run('a', () => Promise.reject(new Error('no')))
  const after = queue.run('a', async () => 'after')
  await assert.rejects(failed, /no/)
  assert.equal(await after, 'after')
  assert.deepEqual(
    await Promise.all(own),
    Array.from({ length: 100 }, (_, index) => index),
  )
  await queue.idle()
})
