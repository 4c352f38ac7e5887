import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { InvalidInput } from '../../core/errors.ts'
import { type Head, headWatch, proveHead } from '../../ingestors/follow/head-tracker.ts'
import { until } from '../support/until.ts'

const BLOCK_TIME_MS = 1_000
/** Blocks that a head may jump by where no time has passed: thirty seconds of them. */
const SLACK = 30

const watched = (hashes: boolean, endpoints = 1) => {
  const refused: string[] = []
  const proofs: number[] = []
  const state = { nowMs: 0, told: 100, asked: 0, branch: 'a' }
  const stop = new AbortController()
  const head = (height: number): Head => ({
    height,
    hash: hashes ? `${state.branch}${height}` : null,
  })
  const watch = headWatch({
    blockTimeMs: BLOCK_TIME_MS,
    endpoints,
    ask: async (mustProve) => {
      state.asked += 1
      if (mustProve(state.told)) proofs.push(state.told)
      return head(state.told)
    },
    refuse: ({ reason }) => refused.push(reason),
    signal: stop.signal,
    nowMs: () => state.nowMs,
  })
  return { watch, state, head, refused, proofs, stop }
}

describe('head tracker of a node', () => {
  test('a pushed head below the known one is ignored, one above it or with another hash replaces it', async () => {
    const { watch, head } = watched(true)
    await watch.refresh()
    watch.see(head(99))
    assert.deepEqual(watch.newest(), head(100))
    watch.see({ height: 100, hash: 'b100' })
    assert.equal(watch.newest()?.hash, 'b100')
    watch.see(head(101))
    assert.deepEqual(watch.newest(), head(101))
  })

  test('old pushed heads do not end the wait: the node is polled', async () => {
    const { watch, state, head } = watched(true)
    const seen = await watch.refresh()
    const waiting = watch.after(seen, 50)
    watch.see(head(40))
    watch.see(head(41))
    state.told = 103
    await waiting
    assert.deepEqual(watch.newest(), head(103))
    assert.equal(state.asked, 2)
  })

  test('new pushed heads do not end polling: a lagging endpoint may push them', async () => {
    const { watch, state, head } = watched(true)
    await watch.refresh()
    watch.see(head(101))
    await watch.after(head(100), 50)
    assert.equal(state.asked, 1)
    state.nowMs = 11_000
    state.told = 120
    watch.see(head(102))
    await watch.after(head(101), 50)
    await until(() => watch.newest()?.height === 120, 'the node is asked beside the pushes')
  })

  test('a reorg to a lower head is accepted from a poll', async () => {
    const { watch, state, head } = watched(true)
    await watch.refresh()
    state.branch = 'b'
    state.told = 98
    await watch.refresh()
    assert.deepEqual(watch.newest(), head(98))
  })

  test('a slot below the head replaces it once no endpoint repeated the head for a while', async () => {
    const { watch, state } = watched(false)
    state.told = 120
    await watch.refresh()
    state.told = 100
    state.nowMs = 5_000
    await watch.refresh()
    assert.equal(watch.newest()?.height, 120)
    state.nowMs = 10_001
    await watch.refresh()
    assert.equal(watch.newest()?.height, 100)
  })

  for (const [name, passedMs, jump, isProven] of [
    ['a jump within the slack', 0, SLACK, false],
    ['one beyond it', 0, SLACK + 1, true],
    ['what a minute allows at four times the usual pace', 60_000, SLACK + 240, false],
    ['more than that', 60_000, SLACK + 241, true],
  ] as const) {
    test(`${name} ${isProven ? 'is accepted only with its block' : 'is accepted'}`, async () => {
      const { watch, state, proofs, refused, head } = watched(true)
      await watch.refresh()
      state.nowMs = passedMs
      watch.see(head(100 + jump))
      assert.equal(watch.newest()?.height, isProven ? 100 : 100 + jump)
      assert.deepEqual(refused, isProven ? ['false-head'] : [])
      state.told = 100 + jump
      await watch.refresh()
      assert.equal(proofs.includes(state.told), isProven)
    })
  }

  test('head jumps use up the slack: many small ones get no further', async () => {
    const { watch, head, refused } = watched(true)
    await watch.refresh()
    for (let jump = 1; jump <= 10; jump += 1) watch.see(head(100 + jump * 10))
    assert.equal(watch.newest()?.height, 130)
    assert.equal(refused.length, 7)
  })

  test('the first head needs its block where another endpoint exists', async () => {
    for (const [endpoints, proven] of [
      [1, []],
      [2, [100]],
    ] as const) {
      const { watch, proofs } = watched(true, endpoints)
      await watch.refresh()
      assert.deepEqual(proofs, proven)
    }
  })

  test('a false head is ignored once a head is known; without one it is thrown', async () => {
    let isLying = true
    const stop = new AbortController()
    const watch = headWatch({
      blockTimeMs: BLOCK_TIME_MS,
      endpoints: 1,
      ask: async () => {
        if (isLying) await proveHead(900, async () => false)
        return { height: 100, hash: null }
      },
      refuse: () => undefined,
      signal: stop.signal,
    })
    const isFalseHead = (error: unknown): boolean =>
      error instanceof InvalidInput && error.reason === 'false-head'
    await assert.rejects(watch.after(null, 1), isFalseHead)
    isLying = false
    const seen = await watch.refresh()
    isLying = true
    await watch.after(seen, 1)
    assert.deepEqual(watch.newest(), seen)
  })

  test('a head is confirmed when one of three attempts returns its block', async () => {
    let tries = 0
    await proveHead(5, async () => {
      tries += 1
      return tries === 3
    })
    assert.equal(tries, 3)
  })
})
