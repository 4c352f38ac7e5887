import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeYieldIfDue } from '../../core/runtime/yield-if-due.ts'

const hold = (ms: number): void => {
  const end = performance.now() + ms
  while (performance.now() < end);
}

test('work that has blocked the event loop for long yields before it continues', async () => {
  const seen: string[] = []
  setImmediate(() => seen.push('other'))
  const rest = makeYieldIfDue()
  assert.equal(rest(), undefined)
  hold(25)
  await rest()
  seen.push('work')
  assert.deepEqual(seen, ['other', 'work'])
  assert.equal(rest(), undefined, 'the time counts from the last turn')
})
