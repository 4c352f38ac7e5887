/** What a feed hands over: each block once, whatever the pace of store and reader, or that blocks are lost. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBlockFeed } from '../../serving/graphql/live/block-feed.ts'
import type { BlockOperation, BlockReader } from '../../serving/graphql/live/block-reader.ts'
import { blockTip, EMPTY_TIP } from '../../serving/graphql/live/resume-cursor.ts'

const REMEMBERED = 4_096
const BLOCKS_PER_STEP = 256

const blockAt = (slot: number): BlockOperation => ({
  seq: slot,
  removed: false,
  slot,
  height: slot,
  hash: `b${slot}`,
  parentSlot: slot - 1,
  parentHash: `b${slot - 1}`,
  timeMs: slot * 1_000,
})

/** A chain without reorgs, as long as was written, of which all rows are stored up to some block. */
const makeChain = (perReading: number) => {
  const chain = { written: 0, stored: 0, errors: [] as unknown[] }
  let calls = 0
  const reader: BlockReader = {
    after: async (_chain, { afterSeq }) => {
      const count = Math.max(0, Math.min(perReading, chain.written - afterSeq))
      return Array.from({ length: count }, (_, index) => blockAt(afterSeq + 1 + index))
    },
    last: async () => ({ seq: chain.written, slot: chain.written }),
    tipAfter: async (_chain, seq) => (seq === 0 ? EMPTY_TIP : blockTip(blockAt(seq))),
  }
  const feed = createBlockFeed({
    chain: 'eth',
    reader,
    // Each answer takes two calls.
    progress: {
      storedSeq: async () => {
        calls += 1
        return calls % 2 === 0 ? chain.stored : undefined
      },
    },
    onError: (error) => chain.errors.push(error),
  })
  const store = async (upTo: number): Promise<void> => {
    chain.written = Math.max(chain.written, upTo)
    chain.stored = upTo
    feed.announce(chain.written)
    while (feed.stored().seq < upTo) await feed.changed(AbortSignal.timeout(1_000))
  }
  return { chain, feed, store }
}

test('a reader gets each block once, in order and in bounded steps, whatever the size of a reading', async () => {
  for (const perReading of [1, 7, 300]) {
    const { chain, feed, store } = makeChain(perReading)
    let { seq } = await feed.join()
    const seen: number[] = []
    for (const upTo of [3, 4, 900, 901]) {
      await store(upTo)
      for (let step = feed.after(seq); step !== undefined; step = feed.after(seq)) {
        assert.ok(step !== 'lost')
        assert.ok(step.scope.added.length <= BLOCKS_PER_STEP)
        seen.push(...step.scope.added.map(({ slot }) => slot))
        seq = step.seq
      }
      assert.equal(seq, upTo)
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 901 }, (_, index) => index + 1),
    )
    assert.deepEqual(chain.errors, [])
    feed.close()
  }
})

test('nothing is handed over before all of its rows are stored', async () => {
  const { chain, feed, store } = makeChain(100)
  const { seq } = await feed.join()
  chain.written = 500
  await store(40)
  const step = feed.after(seq)
  assert.ok(step !== undefined && step !== 'lost')
  assert.deepEqual([step.scope.added.length, step.seq, feed.after(40)], [40, 40, undefined])
  feed.close()
})

test('a reader that is further behind than blocks are remembered is refused, and one that is not continues', async () => {
  const { feed, store } = makeChain(1_000)
  const { seq } = await feed.join()
  await store(1_000)
  const reached = 3 * REMEMBERED
  for (let upTo = 2_000; upTo < reached; upTo += 1_000) await store(upTo)
  await store(reached)
  assert.equal(feed.after(seq), 'lost')
  assert.equal(feed.after(reached - 2 * REMEMBERED), 'lost')
  const step = feed.after(reached - REMEMBERED)
  assert.ok(step !== undefined && step !== 'lost')
  assert.equal(step.scope.added[0]?.slot, reached - REMEMBERED + 1)
  feed.close()
})
