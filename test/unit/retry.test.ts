import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { retry } from '../../core/retry.ts'

const FAILURES = 4
/** Pauses as long as their attempt allows. */
const LONGEST = { random: () => 1 }

/** Fails a few times, each time after so long; returns the attempts and pauses that were told. */
const told = async (lastsMs: number, steadyMs?: number): Promise<readonly number[][]> => {
  const seen: number[][] = []
  let left = FAILURES
  await retry(
    async () => {
      await sleep(lastsMs)
      left -= 1
      if (left >= 0) throw new Error('not yet')
    },
    {
      firstMs: 1,
      maxMs: 4,
      tries: Number.POSITIVE_INFINITY,
      ...LONGEST,
      ...(steadyMs !== undefined && { steadyMs }),
      onRetry: (_, attempt, waitMs) => seen.push([attempt, waitMs]),
    },
  )
  return seen
}

test('retry pauses double up to their limit while attempts fail soon', async () => {
  const growing = [
    [1, 1],
    [2, 2],
    [3, 4],
    [4, 4],
  ]
  assert.deepEqual(await told(0), growing)
  assert.deepEqual(await told(0, 10_000), growing)
})

test('work that ran for a while before it failed is retried after the first pause', async () => {
  const first = Array.from({ length: FAILURES }, () => [1, 1])
  assert.deepEqual(await told(20, 15), first)
})
