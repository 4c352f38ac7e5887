import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Outage } from '../../core/errors.ts'
import { makeRateLimit } from '../../core/rpc/rate-limit.ts'

test('calls beyond the budget of a second wait for the next one, in order', async () => {
  const turn = makeRateLimit(5)
  const startedMs = performance.now()
  const passed: number[] = []
  await Promise.all(Array.from({ length: 12 }, (_, at) => turn().then(() => passed.push(at))))
  assert.ok(
    performance.now() - startedMs >= 1_900,
    'twelve calls at five a second take two seconds',
  )
  assert.deepEqual(
    passed,
    [...passed].sort((one, other) => one - other),
  )
})

test('without a call budget 5,000 calls start at once', async () => {
  const turn = makeRateLimit(0)
  await Promise.all(Array.from({ length: 5_000 }, turn))
})

test('too many waiting calls are an Outage of the endpoint, so that another one is used', async () => {
  const turn = makeRateLimit(1_000)
  const outcomes = await Promise.allSettled(Array.from({ length: 2_100 }, turn))
  const refused = outcomes.filter((each) => each.status === 'rejected')
  assert.ok(refused.length > 0 && refused.length < 200, `${refused.length} refused`)
  assert.ok(refused.every((each) => each.status === 'rejected' && each.reason instanceof Outage))
})
