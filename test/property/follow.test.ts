import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { InvalidInput } from '../../core/errors.ts'
import {
  applied,
  candidateAction,
  finalizable,
  finalized,
  reverted,
  tipOf,
} from '../../ingestors/follow/chain-position.ts'
import type { BlockRef, Position } from '../../ingestors/follow/contract.ts'

const GENESIS: BlockRef = { height: 100, hash: 'g', parentHash: 'p', timeMs: 0 }

/** A branch on top of `under`, named so that two branches never share a hash; `skips` = slots without a block before each. */
const branch = (
  under: BlockRef,
  length: number,
  name: string,
  skips: readonly number[] = [],
): BlockRef[] => {
  const refs: BlockRef[] = []
  let parent = under
  for (let index = 0; index < length; index += 1) {
    const height = parent.height + 1 + (skips[index] ?? 0)
    parent = { height, hash: `${name}${height}`, parentHash: parent.hash, timeMs: height * 12_000 }
    refs.push(parent)
  }
  return refs
}

/** Follows one canonical chain from a position, as the shell does: revert until the next block fits, then apply. */
const followChain = (
  start: Position | null,
  chain: readonly BlockRef[],
  ops: string[],
  spacing: 'dense' | 'sparse' = 'dense',
): Position => {
  const at = (height: number): BlockRef | undefined => chain.find((ref) => ref.height === height)
  const above = ({ height }: BlockRef): BlockRef | undefined =>
    spacing === 'dense' ? at(height + 1) : chain.find((ref) => ref.height > height)
  let position = start
  for (;;) {
    const tip = tipOf(position)
    const next = tip === null ? chain[0] : above(tip)
    if (next === undefined) {
      if (position === null) throw new Error('nothing to follow')
      if (tip === null || at(tip.height)?.hash === tip.hash) return position
    }
    if (next !== undefined && candidateAction(position, next, spacing) === 'apply') {
      ops.push(`+${next.hash}`)
      position = applied(position, next)
      continue
    }
    if (position === null) throw new Error('nothing to revert')
    const { ref, next: under } = reverted(position)
    ops.push(`-${ref.hash}`)
    position = under
  }
}

for (const spacing of ['dense', 'sparse'] as const)
  test(`any sequence of ${spacing} reorgs ends on the canonical chain, every revert undoing the newest apply`, () => {
    const skip = fc.integer({ min: 0, max: spacing === 'dense' ? 0 : 4 })
    const forks = fc.array(
      fc.record({
        depth: fc.integer({ min: 0, max: 8 }),
        grow: fc.integer({ min: 1, max: 9 }),
        skips: fc.array(skip, { maxLength: 9 }),
      }),
      { maxLength: 12 },
    )
    fc.assert(
      fc.property(forks, (steps) => {
        let canonical = [GENESIS, ...branch(GENESIS, 10, 'a')]
        const ops: string[] = []
        let position = followChain(null, canonical, ops, spacing)
        for (const [index, { depth, grow, skips }] of steps.entries()) {
          const kept = canonical.slice(0, Math.max(1, canonical.length - depth))
          const top = kept.at(-1) ?? GENESIS
          canonical = [...kept, ...branch(top, grow, `b${index}-`, skips)]
          position = followChain(position, canonical, ops, spacing)
        }
        const stack: string[] = []
        for (const op of ops) {
          if (op.startsWith('+')) stack.push(op.slice(1))
          else assert.equal(stack.pop(), op.slice(1))
        }
        assert.deepEqual(
          stack,
          canonical.map(({ hash }) => hash),
        )
        assert.deepEqual(position.stack, canonical)
      }),
    )
  })

test('a final block is never reverted', () => {
  const chain = [GENESIS, ...branch(GENESIS, 5, 'a')]
  const position = followChain(null, chain, [])
  const final = finalizable(position, 103)
  assert.equal(final?.height, 103)
  let held = finalized(position, final ?? GENESIS)
  assert.deepEqual(
    held.stack.map(({ height }) => height),
    [103, 104, 105],
  )
  held = reverted(reverted(held).next).next
  assert.throws(
    () => reverted(held),
    (error: unknown) => error instanceof InvalidInput && error.reason === 'reorg-below-finality',
  )
})

test('a final height at or below the known one finalizes nothing', () => {
  const position = followChain(null, [GENESIS, ...branch(GENESIS, 5, 'a')], [])
  const held = finalized(position, finalizable(position, 104) ?? GENESIS)
  assert.equal(finalizable(held, 104), null)
  assert.equal(finalizable(held, 90), null)
  assert.equal(finalizable(held, 999)?.height, 105)
  assert.equal(finalizable(null, 104), null)
})

test('a block of another height is malformed, unless slots are skipped or the source is a recording', () => {
  const position = applied(null, GENESIS)
  const far: BlockRef = { height: 150, hash: 'x', parentHash: 'y', timeMs: 0 }
  assert.throws(() => candidateAction(position, far), InvalidInput)
  assert.equal(candidateAction(position, far, 'recorded'), 'apply')
  assert.equal(candidateAction(position, far, 'sparse'), 'revert')
  assert.equal(candidateAction(position, { ...far, parentHash: GENESIS.hash }, 'sparse'), 'apply')
  assert.throws(() => candidateAction(position, { ...far, height: 100 }, 'sparse'), InvalidInput)
})
