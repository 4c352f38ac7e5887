import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeLifecycle } from '../../core/ops/lifecycle.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'

const never = (): Promise<void> => new Promise(() => undefined)

test('parts stop in reverse order, also after one that hangs or throws', async () => {
  const stopped: string[] = []
  const lifecycle = makeLifecycle(makeSilentLogger(), { partMs: 20, wholeMs: 1_000 })
  const part = (name: string, rest: () => Promise<void>) =>
    lifecycle.add({
      name,
      stop: () => {
        stopped.push(name)
        return rest()
      },
    })
  part('first', async () => undefined)
  part('broken', async () => Promise.reject(new Error('broken')))
  part('endless', never)
  part('last', async () => undefined)
  await lifecycle.stop('test')
  assert.deepEqual(stopped, ['last', 'endless', 'broken', 'first'])
})

test('a second stop joins the first', async () => {
  let stops = 0
  const lifecycle = makeLifecycle(makeSilentLogger())
  lifecycle.add({
    name: 'one',
    stop: async () => {
      stops += 1
    },
  })
  await Promise.all([lifecycle.stop('one'), lifecycle.stop('two')])
  assert.equal(stops, 1)
})

test('parts whose turn comes after the deadline are stopped all the same', async () => {
  let told = false
  const lifecycle = makeLifecycle(makeSilentLogger(), { partMs: 10_000, wholeMs: 20 })
  lifecycle.add({
    name: 'early',
    stop: async () => {
      told = true
    },
  })
  lifecycle.add({ name: 'endless', stop: never })
  await lifecycle.stop('test')
  assert.ok(told)
})
