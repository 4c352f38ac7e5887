import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { localCodec } from '../../core/codec/local-codec.ts'
import { Outage } from '../../core/errors.ts'
import type { ChainOp } from '../../ingestors/follow/contract.ts'
import type { Block } from '../../schemas/events.ts'
import { blockRef, buildEvmBlock, tokenSwap, wethSwap } from '../support/builders/evm-block.ts'
import { exactDifferences } from '../support/simulation/compare-runs.ts'
import { ingestOperations } from '../support/simulation/ingest-operations.ts'
import type { Link } from '../support/simulation/lanes.ts'

const codec = localCodec()

/** What happens next to a chain. */
type Step =
  | { readonly kind: 'grow'; readonly swaps: number }
  | { readonly kind: 'reorg'; readonly depth: number }
  | { readonly kind: 'finalize'; readonly keep: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('grow' as const), swaps: fc.nat(3) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('reorg' as const),
      depth: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('finalize' as const), keep: fc.nat(3) }) },
)

/** The operations of a chain: a reorg takes back blocks that are not final, all of them at most. */
const operationsOf = (steps: readonly Step[]): readonly ChainOp[] => {
  const ops: ChainOp[] = []
  const stack: Block[] = []
  let final = -1
  for (const [index, each] of steps.entries()) {
    if (each.kind === 'grow') {
      const parent = stack.at(-1)
      const height = 100 + stack.length
      const swaps = Array.from({ length: each.swaps }, (_, at) =>
        at === 1 ? wethSwap(2_000 + index) : tokenSwap(100n + BigInt(index)),
      )
      const place = { height, ...(parent && { parentHash: parent.hash }) }
      const block = buildEvmBlock(place, swaps, `f${index}`)
      stack.push(block)
      ops.push({ op: 'apply', block })
    } else if (each.kind === 'reorg') {
      for (let taken = 0; taken < each.depth && stack.length - 1 > final; taken += 1) {
        const block = stack.pop()
        if (block) ops.push({ op: 'revert', ref: blockRef(block) })
      }
    } else {
      const at = stack.length - 1 - each.keep
      const block = stack[at]
      if (block === undefined || at <= final) continue
      final = at
      ops.push({ op: 'finalize', ref: blockRef(block) })
    }
  }
  return ops
}

const limits = fc.record({
  operations: fc.integer({ min: 1, max: 12 }),
  records: fc.integer({ min: 1, max: 120 }),
  bytes: fc.integer({ min: 1, max: 60_000 }),
})
const steps = fc.array(step, { minLength: 1, maxLength: 40 })

/** Calls take so many turns of the event loop, in rotation. */
const slowLink = (turns: readonly number[]): Link => {
  let calls = 0
  return async (_call, work) => {
    calls += 1
    for (let left = turns[calls % turns.length] ?? 0; left > 0; left -= 1) await turn()
    return work()
  }
}

test('operations in groups of any size leave the same records, places and state as one commit each', async () => {
  await fc.assert(
    fc.asyncProperty(
      steps,
      limits,
      fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }),
      fc.array(fc.nat(4), { maxLength: 5 }),
      async (chosen, catchUp, far, turns) => {
        const ops = operationsOf(chosen)
        const isFar = (given: number): boolean => far[given % far.length] ?? true
        const want = await ingestOperations(ops, { catchUp: { operations: 1 }, isFar: () => false })
        const got = await ingestOperations(ops, { catchUp, isFar, link: slowLink(turns) })
        assert.deepEqual(exactDifferences({ got: got.shared, want: want.shared }, codec), [])
        assert.equal(want.commits, ops.length)
        assert.ok(got.commits <= ops.length)
      },
    ),
    { numRuns: 100 },
  )
})

test('a chain that is far behind is committed in few groups', async () => {
  const grown = Array.from({ length: 100 }, () => ({ kind: 'grow', swaps: 1 }) as const)
  const { shared, commits } = await ingestOperations(operationsOf(grown), {
    catchUp: { operations: 25, waitMs: 60_000 },
    isFar: () => true,
  })
  assert.equal(shared.ends('eth.blocks')[0]?.end, 100)
  assert.equal(commits, 4)
})

test('a commit of several blocks that is refused, or whose answer is lost, is neither lost nor doubled', async () => {
  await fc.assert(
    fc.asyncProperty(
      steps,
      limits,
      fc.nat(5),
      fc.boolean(),
      async (chosen, catchUp, skip, isDone) => {
        const ops = operationsOf(chosen)
        const want = await ingestOperations(ops, { catchUp: { operations: 1 }, isFar: () => false })
        let left = skip
        const link: Link = async (call, work) => {
          await turn()
          left -= call === 'commit' || call === 'group' ? 1 : 0
          if (left !== -1) return work()
          left = Number.NEGATIVE_INFINITY
          if (isDone) work()
          throw new Outage('bus', 'no answer')
        }
        const got = await ingestOperations(ops, { catchUp, isFar: () => true, link })
        assert.deepEqual(exactDifferences({ got: got.shared, want: want.shared }, codec), [])
      },
    ),
    { numRuns: 25 },
  )
})
