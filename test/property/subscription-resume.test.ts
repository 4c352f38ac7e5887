/** Cursors of subscriptions over any text, and resuming over any history of a chain. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '../../core/errors.ts'
import type { BlockHistory, BlockOperation } from '../../serving/graphql/live/block-reader.ts'
import { createCatchUp } from '../../serving/graphql/live/catch-up.ts'
import {
  type BlockTip,
  blockTip,
  decodeCursor,
  encodeCursor,
  isTip,
} from '../../serving/graphql/live/resume-cursor.ts'
import { emptyWork } from '../../serving/queries/limited-reads.ts'

const isRefused = (text: string): boolean => {
  try {
    decodeCursor(text)
    return false
  } catch (error) {
    assert.ok(error instanceof Fault && error.faultName === 'INVALID_CURSOR', String(error))
    return true
  }
}

const tips = fc
  .uniqueArray(fc.constantFrom('eth', 'sol', 'bsc', 'base', 'arbitrum'), { minLength: 1 })
  .chain((chains) =>
    fc.tuple(
      ...chains.map((chain) =>
        fc
          .record({ slot: fc.nat(2 ** 31 - 1), hash: fc.string() })
          .map((block): [string, BlockTip] => [chain, blockTip(block)]),
      ),
    ),
  )
  .map((entries) => new Map(entries))

test('a cursor reads as what was written, and any change of a character is refused', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  fc.assert(
    fc.property(tips, fc.nat(), fc.constantFrom(...alphabet), (written, at, character) => {
      const text = encodeCursor(written)
      assert.deepEqual(new Map(decodeCursor(text)), written)
      const index = at % text.length
      const changed = text.slice(0, index) + character + text.slice(index + 1)
      assert.equal(isRefused(changed), changed !== text)
      assert.ok(isRefused(text.slice(0, index)))
    }),
  )
})

test('any text and any bytes are refused as INVALID_CURSOR', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      assert.ok(isRefused(text))
    }),
    { numRuns: 2_000 },
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      assert.ok(isRefused(Buffer.from(bytes).toString('base64url')))
    }),
    { numRuns: 2_000 },
  )
})

/** A chain of numbered operations: each step removes some of the newest blocks, then adds some, new ones or those it had before. */
const steps = fc.array(fc.record({ remove: fc.nat(4), add: fc.nat(6), fork: fc.nat(2) }), {
  minLength: 2,
  maxLength: 12,
})

interface ChainAt {
  readonly standing: readonly BlockOperation[]
  readonly operations: readonly BlockOperation[]
}

/** The chain after each step. */
const historyOf = (
  changes: readonly { readonly remove: number; readonly add: number; readonly fork: number }[],
): readonly ChainAt[] => {
  const standing: BlockOperation[] = []
  const operations: BlockOperation[] = []
  const record = (block: Omit<BlockOperation, 'seq'>): BlockOperation => {
    const operation = { ...block, seq: operations.length + 1 }
    operations.push(operation)
    return operation
  }
  const add = (fork: number): void => {
    const parent = standing.at(-1)
    const slot = (parent?.slot ?? 0) + 1
    const parentHash = parent?.hash ?? 'before all'
    const place = { slot, height: slot, parentSlot: slot - 1, parentHash, timeMs: slot }
    standing.push(record({ ...place, hash: `${parentHash}/${fork}`, removed: false }))
  }
  // So many that no step removes the first.
  for (let index = 0; index < 50; index += 1) add(0)
  return changes.map(({ remove, add: count, fork }) => {
    for (let index = 0; index < remove; index += 1) {
      const block = standing.pop()
      if (block) record({ ...block, removed: true })
    }
    for (let index = 0; index < count; index += 1) add(fork)
    return { standing: [...standing], operations: [...operations] }
  })
}

/** The store: of each block the newest version as the table has it after merges. */
const storeOf = (operations: readonly BlockOperation[]): BlockHistory => {
  const newest = (upToSeq: number): readonly BlockOperation[] => [
    ...new Map(
      operations.filter(({ seq }) => seq <= upToSeq).map((each) => [each.hash, each]),
    ).values(),
  ]
  return {
    inSlots: async (_chain, { fromSlot, toSlot }) =>
      newest(Number.POSITIVE_INFINITY)
        .filter(({ slot }) => slot >= fromSlot && slot <= toSlot)
        .toSorted((one, other) => other.slot - one.slot),
    standing: async (_chain, { fromSlot, upToSeq, limit }) =>
      newest(upToSeq)
        .filter(({ slot, removed }) => slot >= fromSlot && !removed)
        .toSorted((one, other) => one.slot - other.slot)
        .slice(0, limit),
  }
}

test('over any reorgs, what a resume removes and adds leads from the chain of the cursor to the chain that stands', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.nat(), async (changes, at) => {
      const history = historyOf(changes)
      const [before, now] = [history[at % history.length], history.at(-1)]
      assert.ok(before && now)
      const last = before.standing.at(-1)
      assert.ok(last)
      const seq = now.operations.length
      const slot = Math.max(...now.operations.map((each) => each.slot))
      const catchUp = createCatchUp(storeOf(now.operations), { maxSlots: 16_384 })
      const feed = { chain: 'eth', stored: () => ({ seq, slot }) }
      const signal = new AbortController().signal
      const caller = { orgId: 'o', plan: 'selfhost', signal, work: emptyWork() } as const
      const step = await catchUp(feed, blockTip(last), caller)
      assert.ok('tip' in step && step.isLast)
      const chain = before.standing.map(({ hash }) => hash)
      for (const { hash } of step.scope?.removed ?? []) assert.equal(chain.pop(), hash)
      chain.push(...(step.scope?.added ?? []).map(({ hash }) => hash))
      assert.deepEqual(
        chain,
        now.standing.map(({ hash }) => hash),
      )
      const newest = now.standing.at(-1)
      assert.ok(newest && isTip(step.tip, newest))
      assert.equal(step.seq, seq)
    }),
    { numRuns: 300 },
  )
})
