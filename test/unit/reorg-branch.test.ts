import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { EndpointView } from '../../core/rpc/pool.ts'
import {
  canonicalBy,
  isReplacedBy,
  replacedBlocks,
} from '../../ingestors/follow/canonical-branch.ts'
import type { BlockRef, Position } from '../../ingestors/follow/contract.ts'

const stackOf = (length: number): readonly BlockRef[] =>
  Array.from({ length }, (_, at) => ({
    height: 100 + at,
    hash: `a${100 + at}`,
    parentHash: `a${99 + at}`,
    timeMs: at,
  }))

/** A node whose chain holds the lowest `shared` of ours, and which shows nothing above `head`. */
const nodeOf = (shared: number, { head = 10_000, agreed = true } = {}) => {
  const asked: number[] = []
  return {
    asked,
    isCanonical: async ({ height }: BlockRef): Promise<boolean | undefined> => {
      asked.push(height)
      return height > head ? undefined : height < 100 + shared
    },
    isReplacedEverywhere: async (): Promise<boolean> => agreed,
  }
}

test('exactly the blocks above the common ancestor are reverted, newest first, with few requests', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4_000 }), fc.nat(4_000), async (length, deep) => {
      const stack = stackOf(length)
      const shared = Math.max(0, length - deep)
      const node = nodeOf(shared)
      const replaced = await replacedBlocks(node, { stack, final: null })
      assert.deepEqual(replaced, stack.slice(shared).toReversed())
      assert.ok(node.asked.length <= 30, `${node.asked.length} questions`)
    }),
    { numRuns: 200 },
  )
})

test('no block is reverted while the node cannot return one of the deciding heights', async () => {
  const stack = stackOf(40)
  assert.deepEqual(await replacedBlocks(nodeOf(40, { head: 120 }), { stack, final: null }), [])
  assert.deepEqual(await replacedBlocks(nodeOf(0, { head: 120 }), { stack, final: null }), [])
})

const deep: readonly [string, Position, string][] = [
  ['below finality', { stack: stackOf(8), final: stackOf(8)[3] ?? null }, 'reorg-below-finality'],
  ['beyond the window', { stack: stackOf(8), final: null, truncated: true }, 'reorg-beyond-window'],
]
for (const [name, position, reason] of deep) {
  test(`a reorg ${name} is reported before any revert, and only where every endpoint confirms it`, async () => {
    const of = (shared: number, agreed: boolean) =>
      replacedBlocks(nodeOf(shared, { agreed }), position)
    await assert.rejects(of(0, true), { reason })
    await assert.rejects(of(0, false), { reason: 'reorg-unconfirmed' })
    assert.equal((await of(4, true)).length, 4)
  })
}

const views = (...values: readonly (string | undefined)[]): readonly EndpointView<string>[] =>
  values.map((value) => ({ value, behind: false }))

test('a block is canonical by the majority of the endpoints that return one; missing responses do not count', () => {
  assert.equal(canonicalBy(views(), 'a'), undefined)
  assert.equal(canonicalBy(views(undefined), 'a'), undefined)
  assert.equal(canonicalBy(views('a', undefined), 'a'), true)
  assert.equal(canonicalBy(views('b', undefined), 'a'), false)
  assert.equal(canonicalBy(views('a', 'b'), 'a'), undefined)
  assert.equal(canonicalBy(views('a', 'b', 'b'), 'a'), false)
  assert.equal(canonicalBy([...views('b'), { value: 'a', behind: true }], 'a'), false)
  assert.equal(canonicalBy([...views(undefined), { value: 'a', behind: true }], 'a'), true)
})

test('a block counts as replaced only where every endpoint returns another one', () => {
  assert.equal(isReplacedBy(views(), 'a'), false)
  assert.equal(isReplacedBy(views('b', undefined), 'a'), false)
  assert.equal(isReplacedBy(views('b', 'a'), 'a'), false)
  assert.equal(isReplacedBy(views('b', 'c'), 'a'), true)
})
