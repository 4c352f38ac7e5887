/** Catching up from a cursor, and the steps of a subscription of several chains. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault, type FaultName } from '../../core/errors.ts'
import type { BlockHistory, BlockOperation } from '../../serving/graphql/live/block-reader.ts'
import { createCatchUp } from '../../serving/graphql/live/catch-up.ts'
import { blockTip, EMPTY_TIP, isTip } from '../../serving/graphql/live/resume-cursor.ts'
import { emptyWork } from '../../serving/queries/limited-reads.ts'

const MAX_SLOTS = 2_000
const caller = {
  orgId: 'o',
  plan: 'selfhost',
  signal: new AbortController().signal,
  work: emptyWork(),
} as const

const block = (slot: number, fork: string, seq: number, removed = false): BlockOperation => ({
  seq,
  removed,
  slot,
  height: slot,
  hash: `${fork}${slot}`,
  parentSlot: slot - 1,
  parentHash: `${slot - 1 > 1_000 ? fork : 'a'}${slot - 1}`,
  timeMs: slot,
})

/** 1,000 blocks of a fork that stands, then `depth` removed ones, and as many in their place. */
const reorged = (depth: number): readonly BlockOperation[] => {
  const slots = Array.from({ length: depth }, (_, index) => 1_001 + index)
  return [
    ...Array.from({ length: 1_000 }, (_, index) => block(index + 1, 'a', index + 1)),
    ...slots.map((slot) => block(slot, 'old', 2_000 + slot, true)),
    ...slots.map((slot) => block(slot, 'new', 6_000 + slot)),
  ]
}

const historyOf = (
  blocks: readonly BlockOperation[],
): BlockHistory & { readonly read: () => number } => {
  let read = 0
  return {
    read: () => read,
    inSlots: async (_chain, { fromSlot, toSlot }) => {
      const found = blocks.filter(({ slot }) => slot >= fromSlot && slot <= toSlot)
      read += found.length
      return found.toSorted((one, other) => other.slot - one.slot)
    },
    standing: async (_chain, { fromSlot, upToSeq, limit }) =>
      blocks
        .filter(({ slot, seq, removed }) => slot >= fromSlot && seq <= upToSeq && !removed)
        .slice(0, limit),
  }
}

const feedAt = (seq: number, slot: number) => ({ chain: 'eth', stored: () => ({ seq, slot }) })

const fails = (run: Promise<unknown>, name: FaultName): Promise<void> =>
  assert.rejects(run, (error: unknown) => error instanceof Fault && error.faultName === name)

test('a fork is followed back over several readings, and only as far as it goes', async () => {
  const history = historyOf(reorged(600))
  const catchUp = createCatchUp(history, { maxSlots: MAX_SLOTS })
  const tip = blockTip({ slot: 1_600, hash: 'old1600' })
  const step = await catchUp(feedAt(10_000, 1_600), tip, caller)
  assert.ok('tip' in step)
  assert.equal(step.scope?.removed.length, 600)
  assert.equal(step.scope.removed[0]?.hash, 'old1600')
  assert.equal(step.scope.removed.at(-1)?.hash, 'old1001')
  assert.equal(step.scope.added.length, 256)
  assert.equal(step.scope.added[0]?.hash, 'new1001')
  assert.equal(step.isLast, false)
  assert.ok(isTip(step.tip, { slot: 1_256, hash: 'new1256' }))
  const unchanged = historyOf(reorged(600))
  await createCatchUp(unchanged, { maxSlots: MAX_SLOTS })(
    feedAt(10_000, 1_600),
    blockTip({ slot: 900, hash: 'a900' }),
    caller,
  )
  assert.equal(unchanged.read(), 1)
})

test('a fork deeper than a reorg can be, and a parent that is missing, end with INVALID_CURSOR', async () => {
  const tip = blockTip({ slot: 1_700, hash: 'old1700' })
  const deep = createCatchUp(historyOf(reorged(700)), { maxSlots: MAX_SLOTS })
  await fails(deep(feedAt(10_000, 1_700), tip, caller), 'INVALID_CURSOR')
  const holed = reorged(600).filter(({ hash }) => hash !== 'old1400')
  const catchUp = createCatchUp(historyOf(holed), { maxSlots: MAX_SLOTS })
  const known = blockTip({ slot: 1_600, hash: 'old1600' })
  await fails(catchUp(feedAt(10_000, 1_600), known, caller), 'INVALID_CURSOR')
})

test('what the store has not got whole is waited for', async () => {
  const catchUp = createCatchUp(historyOf(reorged(3)), { maxSlots: MAX_SLOTS })
  const tip = blockTip({ slot: 1_003, hash: 'old1003' })
  assert.deepEqual(await catchUp(feedAt(1_000, 1_003), tip, caller), { untilSeq: 3_003 })
})

test('the limit of slots is exact, and a chain that had no block begins at its first', async () => {
  const history = historyOf(reorged(1))
  const tip = blockTip({ slot: 500, hash: 'a500' })
  const within = createCatchUp(history, { maxSlots: 501 })
  assert.ok('tip' in (await within(feedAt(10_000, 1_001), tip, caller)))
  const beyond = createCatchUp(history, { maxSlots: 500 })
  await fails(beyond(feedAt(10_000, 1_001), tip, caller), 'CURSOR_EXPIRED')
  const first = await createCatchUp(history, { maxSlots: MAX_SLOTS })(
    feedAt(10_000, 1_001),
    EMPTY_TIP,
    caller,
  )
  assert.ok('scope' in first)
  assert.equal(first.scope?.added[0]?.hash, 'a1')
})

test('versions of a block that came and went behind the position are within the scope', async () => {
  const blocks = [
    block(1_000, 'a', 1_000),
    block(1_001, 'gone', 1_002, true),
    block(1_001, 'new', 1_003),
  ]
  const catchUp = createCatchUp(historyOf(blocks), { maxSlots: MAX_SLOTS })
  const tip = blockTip({ slot: 1_000, hash: 'a1000' })
  const step = await catchUp(feedAt(1_003, 1_001), tip, caller)
  assert.ok('scope' in step)
  assert.deepEqual(
    [step.scope?.added.map(({ hash }) => hash), step.scope?.removed, step.scope?.fromSeq],
    [['new1001'], [], 1_001],
  )
})
