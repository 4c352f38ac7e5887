import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createBlockQueue } from '../../ingestors/svm/source/block-queue.ts'
import type { SvmBlock } from '../../schemas/events.ts'

const blockAt = (height: number): SvmBlock => ({
  vm: 'svm',
  chain: 'sol',
  height,
  blockHeight: height,
  parentSlot: height - 1,
  hash: `hash ${height}`,
  parentHash: `hash ${height - 1}`,
  timeMs: height * 400,
  transactions: [],
  txCount: 0,
  rewardsCount: 0,
})

const tipAt = (height: number) => {
  const { hash, parentHash, timeMs } = blockAt(height)
  return { height, hash, parentHash, timeMs }
}

const queueOver = (slots: Set<number>, skipped: ReadonlySet<number> = new Set()) => {
  const lists: { readonly from: number; readonly to: number }[] = []
  const stop = new AbortController()
  const queue = createBlockQueue(
    {
      listSlots: async (range) => {
        lists.push(range)
        return [...slots]
          .filter((slot) => slot >= range.from && slot <= range.to)
          .sort((one, other) => one - other)
      },
      read: async (slot) => (skipped.has(slot) ? 'skipped' : blockAt(slot)),
      takeNotified: async () => null,
    },
    { concurrency: 4, signal: stop.signal },
  )
  return { queue, lists, stop }
}

describe('blocks of a chain in slot order', () => {
  test('a head far above all blocks costs two slot lists per poll, and no block is skipped', async () => {
    const slots = new Set([10])
    const { queue, lists } = queueOver(slots)
    const head = { height: 4_000_000_000_000, hash: null }
    for (let turn = 1; turn <= 20; turn += 1) {
      assert.equal(await queue.next(tipAt(10), 0, head), undefined)
      assert.equal(lists.length, turn * 2)
    }
    slots.add(12)
    assert.equal((await queue.next(tipAt(10), 0, head))?.height, 12)
    slots.add(14)
    assert.equal((await queue.next(tipAt(12), 0, { height: 14, hash: null }))?.height, 14)
  })

  test('a gap of several thousand slots is passed over, a thousand at a time', async () => {
    const { queue, lists } = queueOver(new Set([10, 4_500, 4_501]))
    const head = { height: 4_501, hash: null }
    let found: SvmBlock | undefined
    let turns = 0
    while (found === undefined && turns < 10) {
      turns += 1
      found = await queue.next(tipAt(10), 0, head)
    }
    assert.equal(found?.height, 4_500)
    assert.equal(turns, 4)
    assert.equal((await queue.next(tipAt(4_500), 0, head))?.height, 4_501)
    assert.ok(lists.length <= 9)
  })

  test('the search begins again when the head is reached without a block', async () => {
    const slots = new Set([10])
    const { queue } = queueOver(slots)
    const head = { height: 3_000, hash: null }
    for (let turn = 0; turn < 6; turn += 1) await queue.next(tipAt(10), 0, head)
    slots.add(2_500)
    const found: number[] = []
    for (let turn = 0; turn < 4; turn += 1) {
      const block = await queue.next(tipAt(10), 0, head)
      if (block !== undefined) found.push(block.height)
    }
    assert.deepEqual(found.slice(0, 1), [2_500])
  })

  test('a turn ends when every listed slot turns out skipped', async () => {
    const slots = new Set(Array.from({ length: 9_000 }, (_, at) => at + 11))
    const { queue, lists } = queueOver(slots, slots)
    assert.equal(await queue.next(tipAt(10), 0, { height: 9_000, hash: null }), undefined)
    assert.equal(lists.length, 4)
  })

  test('an abort ends the search', async () => {
    const { queue, stop } = queueOver(new Set([10]))
    stop.abort(new Error('over'))
    await assert.rejects(queue.next(tipAt(10), 0, { height: 9_000, hash: null }), /over/)
  })
})
