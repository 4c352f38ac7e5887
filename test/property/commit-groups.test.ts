import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { tableFacts } from '../../ingestors/decode/metadata-reader.ts'
import type { ChainOp, Source } from '../../ingestors/follow/contract.ts'
import { type CatchUp, startIngestor } from '../../ingestors/start.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { Block } from '../../schemas/events.ts'
import {
  blockRef,
  buildEvmBlock,
  POOLS,
  TOKENS,
  tokenSwap,
  wethSwap,
} from '../support/builders/evm-block.ts'
import { openSimulatedBus } from '../support/simulation/bus.ts'
import { exactDifferences } from '../support/simulation/compare-runs.ts'
import { type Link, SimulatedGroups } from '../support/simulation/lanes.ts'
import { SimulatedLog } from '../support/simulation/log.ts'

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

/** How one run commits the operations. */
interface RunPlan {
  readonly catchUp: Partial<CatchUp>
  /** Whether the node's head is far when the operation of this number is given. */
  readonly isFar: (given: number) => boolean
  readonly link?: Link
}

/** An ingestor over the operations until all are committed; what the log holds then, and the commits that it took. */
const ingest = async (
  ops: readonly ChainOp[],
  plan: RunPlan,
): Promise<{ readonly shared: SimulatedLog; readonly commits: number }> => {
  const shared = new SimulatedLog('groups', () => 0)
  let commits = 0
  const link: Link = async (call, work) => {
    if (call === 'commit' || call === 'group') commits += 1
    return plan.link ? plan.link(call, work) : work()
  }
  const bus = openSimulatedBus({ name: 'one', shared, groups: new SimulatedGroups(), link })
  await bus.createTopics(topicSpecs({ chains: ['eth'], partitions: 2, retention: 'off' }))
  let given = 0
  let onFatal = (_error: unknown): void => undefined
  const fatal = new Promise<never>((_, reject) => {
    onFatal = reject
  })
  const source: Source = {
    origin: 'steps',
    commitment: 'processed',
    gaps: false,
    node: null,
    head: () => ({ height: plan.isFar(given) ? 1_000_000 : 0, hash: null }),
    async *operations() {
      // A new reader goes on behind what the log holds.
      for (given = shared.ends('eth.blocks')[0]?.end ?? 0; given < ops.length; ) {
        const op = ops[given]
        given += 1
        if (op) yield op
      }
    },
  }
  const ingestor = await startIngestor({
    chain: CHAINS.eth,
    source,
    bus,
    codec,
    config: { retention: 'off', pricesStatic: {} },
    facts: { ...tableFacts(TOKENS, POOLS), origin: 'node', proof: 'facts' },
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    nowMs: () => 0,
    catchUp: plan.catchUp,
    onFatal,
  })
  await Promise.race([ingestor.done, fatal])
  await bus.close()
  return { shared, commits }
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
        const want = await ingest(ops, { catchUp: { operations: 1 }, isFar: () => false })
        const got = await ingest(ops, { catchUp, isFar, link: slowLink(turns) })
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
  const { shared, commits } = await ingest(operationsOf(grown), {
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
        const want = await ingest(ops, { catchUp: { operations: 1 }, isFar: () => false })
        let left = skip
        const link: Link = async (call, work) => {
          await turn()
          left -= call === 'commit' || call === 'group' ? 1 : 0
          if (left !== -1) return work()
          left = Number.NEGATIVE_INFINITY
          if (isDone) work()
          throw new Outage('bus', 'no answer')
        }
        const got = await ingest(ops, { catchUp, isFar: () => true, link })
        assert.deepEqual(exactDifferences({ got: got.shared, want: want.shared }, codec), [])
      },
    ),
    { numRuns: 25 },
  )
})
