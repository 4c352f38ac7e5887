import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPlanningQueue } from '../../serving/http/planning-queue.ts'

const deferred = () => {
  let resolve = (): void => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

test('queries are planned one at a time over all callers, and an error frees the turn', async () => {
  const turns = createPlanningQueue()
  let [running, most] = [0, 0]
  const plan = async (): Promise<void> => {
    running += 1
    most = Math.max(most, running)
    await new Promise((resolve) => setImmediate(resolve))
    running -= 1
  }
  const failing = turns('a', async () => {
    throw new Error('not valid')
  })
  await Promise.all([
    assert.rejects(failing, /not valid/),
    ...['a', 'b', 'a', 'c'].map((name) => turns(name, plan)),
  ])
  assert.equal(most, 1)
})

test('after a long plan the next one of the same caller waits, those of other callers do not', async () => {
  const turns = createPlanningQueue()
  const order: string[] = []
  const gate = deferred()
  const long = turns('a', async (computed) => {
    computed(120)
    await gate.promise
    order.push('a1')
  })
  const next = turns('a', async () => {
    order.push('a2')
  })
  const other = turns('b', async () => {
    order.push('b1')
  })
  gate.resolve()
  await Promise.all([long, other])
  const lateOther = turns('b', async () => {
    order.push('b2')
  })
  await lateOther
  await next
  assert.deepEqual(order, ['a1', 'b1', 'b2', 'a2'])
})

test('ordinary plans are not followed by a pause', async () => {
  const turns = createPlanningQueue()
  await turns('a', async (computed) => computed(20))
  const order: string[] = []
  const next = turns('a', async () => {
    order.push('a')
  })
  const timer = new Promise<void>((resolve) =>
    setTimeout(() => {
      order.push('timer')
      resolve()
    }, 0),
  )
  await Promise.all([next, timer])
  assert.deepEqual(order, ['a', 'timer'])
})
