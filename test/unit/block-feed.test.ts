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
    inSlots: async (_chain, { fromSlot, toSlot }) =>
      Array.from({ length: toSlot - fromSlot + 1 }, (_, index) => blockAt(fromSlot + index)),
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

const FIRST = blockAt(100)
const operation = (
  seq: number,
  hash: string,
  slot: number,
  parentHash: string,
  removed = false,
) => ({
  ...blockAt(slot),
  seq,
  hash,
  parentHash,
  removed,
})

/** A feed on a table of blocks that keeps, of the rows of a block in one insert or in all of them, the last. */
const makeTable = (collapses: 'never' | 'inserts' | 'all', first = FIRST) => {
  let rows: readonly BlockOperation[] = []
  const collapse = (all: readonly BlockOperation[]): readonly BlockOperation[] =>
    [...new Map(all.map((row) => [row.hash, row])).values()].toSorted((a, b) => a.seq - b.seq)
  const insert = (batch: readonly BlockOperation[]): void => {
    rows = [...rows, ...(collapses === 'never' ? batch : collapse(batch))]
    if (collapses === 'all') rows = collapse(rows)
  }
  const reader: BlockReader = {
    after: async (_chain, { afterSeq }) => rows.filter(({ seq }) => seq > afterSeq),
    last: async () => ({
      seq: rows.at(-1)?.seq ?? 0,
      slot: Math.max(...rows.map(({ slot }) => slot)),
    }),
    tipAfter: async (_chain, upTo) => {
      const tip = rows.findLast(({ seq, removed }) => seq <= upTo && !removed)
      return tip ? blockTip(tip) : EMPTY_TIP
    },
    inSlots: async (_chain, { fromSlot, toSlot }) =>
      collapse(rows).filter(({ slot }) => slot >= fromSlot && slot <= toSlot),
  }
  let stored = first.seq
  const feed = createBlockFeed({
    chain: 'eth',
    reader,
    progress: { storedSeq: async () => stored },
    onError: assert.ifError,
  })
  /** The step behind an insert. */
  const step = async (batch: readonly BlockOperation[], seq: number, upTo = batch.at(-1)?.seq) => {
    insert(batch)
    stored = upTo ?? stored
    feed.announce(stored)
    while (feed.stored().seq < stored) await feed.changed(AbortSignal.timeout(1_000))
    const next = feed.after(seq)
    assert.ok(next !== undefined && next !== 'lost')
    const hashes = (blocks: readonly { readonly hash: string }[]) => blocks.map(({ hash }) => hash)
    const { seq: reached, tip, scope } = next
    return { added: hashes(scope.added), removed: hashes(scope.removed), seq: reached, tip, scope }
  }
  return { feed, insert, step }
}

const A = operation(101, 'A', 101, FIRST.hash)
/** A gives way to B and comes back, and C stands on it. */
const BACK_AND_FORTH = [
  operation(102, 'A', 101, FIRST.hash, true),
  operation(103, 'B', 101, FIRST.hash),
  operation(104, 'B', 101, FIRST.hash, true),
  operation(105, 'A', 101, FIRST.hash),
]
const C = operation(106, 'C', 102, 'A')

for (const collapses of ['never', 'inserts', 'all'] as const) {
  const title = `where the store collapses ${collapses} versions of a block`
  test(`a block that was removed and came back is not handed over again, ${title}`, async () => {
    const { feed, insert, step } = makeTable(collapses)
    insert([FIRST])
    const { seq } = await feed.join()
    const one = await step([A], seq)
    assert.deepEqual([one.added, one.removed], [['A'], []])
    const two = await step([...BACK_AND_FORTH, C], one.seq)
    assert.deepEqual([two.added, two.removed], [['C'], []])
    assert.deepEqual(two.tip, blockTip(C))
    // What states hold since then is read again.
    assert.ok(two.scope.fromSeq <= 105)
    const three = await step([operation(107, 'C', 102, 'A', true)], two.seq)
    assert.deepEqual([three.added, three.removed], [[], ['C']])
    assert.deepEqual(three.tip, blockTip(A))
    feed.close()
  })

  test(`a block from before the first follower that came back is not handed over, ${title}`, async () => {
    const { feed, insert, step } = makeTable(collapses, A)
    insert([FIRST])
    insert([A])
    const { seq } = await feed.join()
    assert.equal(seq, A.seq)
    const only = await step(BACK_AND_FORTH, seq)
    assert.deepEqual([only.added, only.removed, only.tip], [[], [], blockTip(A)])
    feed.close()
  })
}

test('of a block whose removal stands in the store already when the first follower begins, the removal is handed over', async () => {
  const { feed, insert, step } = makeTable('all')
  insert([FIRST])
  insert([operation(101, 'b100', 100, 'b99', true)])
  const { seq } = await feed.join()
  assert.equal(seq, FIRST.seq)
  const gone = await step([operation(102, 'B', 100, 'b99')], seq)
  assert.deepEqual([gone.added, gone.removed], [['B'], ['b100']])
  feed.close()
})
