import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { DeadlinePassed, hasPassed, withDeadline } from '../../core/deadline.ts'
import { classifyFailure } from '../../core/http/guarded-client.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Work that ends only with its signal, as a request to a node that hangs. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

/** Starts work that nothing but its own promise refers to. */
const startHanging = (limitMs: number): Promise<unknown> =>
  withDeadline(new AbortController().signal, limitMs, untilAborted).catch((error: unknown) => error)

test('a deadline holds through garbage collection', { timeout: 10_000 }, async () => {
  const results = Promise.all(Array.from({ length: 20 }, () => startHanging(60)))
  const collecting = setInterval(collectGarbage, 5)
  const errors = await results.finally(() => clearInterval(collecting))
  assert.ok(errors.every((error) => error instanceof DeadlinePassed && error.limitMs === 60))
})

test('aborting the outer signal rejects the work with its reason', async () => {
  const outer = new AbortController()
  const reason = new Error('the process stops')
  let inner: AbortSignal | undefined
  const work = withDeadline(outer.signal, 60_000, (signal) => {
    inner = signal
    return untilAborted(signal)
  })
  outer.abort(reason)
  await assert.rejects(work, reason)
  assert.equal(inner && hasPassed(inner), false)
})

test('work does not start under an aborted signal', async () => {
  const reason = new Error('over')
  const work = withDeadline(AbortSignal.abort(reason), 60_000, () => assert.fail('it began'))
  await assert.rejects(work, reason)
})

test('finished work returns its result and leaves neither timer nor listener', async () => {
  const outer = new AbortController()
  let inner: AbortSignal | undefined
  const result = await withDeadline(outer.signal, 60_000, async (signal) => {
    inner = signal
    return 7
  })
  outer.abort()
  assert.equal(result, 7)
  assert.equal(inner?.aborted, false)
})

test('a passed deadline is classified as a timeout', () => {
  assert.equal(classifyFailure(new DeadlinePassed(60)), 'timeout')
})
