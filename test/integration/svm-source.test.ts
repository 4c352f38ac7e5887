import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { InvalidInput, Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import type { Position } from '../../ingestors/follow/contract.ts'
import { openSvmSource, type SvmSourceOptions } from '../../ingestors/svm/source/solana-source.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { canonicalBlocks, collectOperations, reachedHeight } from '../support/follow-source.ts'
import { type SvmNode, startSvmNode } from '../support/nodes/solana.ts'
import { until } from '../support/until.ts'

/** Slots with a block; every other one was skipped. */
const SLOTS = [1, 2, 5, 6, 7, 11, 12, 20, 21, 22, 23, 24, 40, 41, 42]

describe('a Solana node as a source', () => {
  let node: SvmNode
  let stop: AbortController
  const optionsOf = (urls: readonly string[], more: Partial<SvmSourceOptions> = {}) => ({
    chain: { ...CHAINS.sol, blockTimeMs: 100 },
    urls,
    concurrency: 8,
    timeoutMs: 1_000,
    from: 0,
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    signal: stop.signal,
    ...more,
  })
  const canonical = ({ blocks }: SvmNode): readonly string[] =>
    [...blocks].sort(([a], [b]) => a - b).map(([, { blockhash }]) => blockhash)
  const asked = (method: string) => node.asked.filter((each) => each.method === method)

  beforeEach(async () => {
    stop = new AbortController()
    node = await startSvmNode()
    for (const slot of SLOTS) node.produce(slot)
  })
  afterEach(async () => {
    stop.abort()
    await node.stop()
  })

  test('the Solana source skips missing slots, delivers blocks in slot order and advances finality', async () => {
    node.finalized = 24
    const source = await openSvmSource(optionsOf([node.url]))
    assert.equal(source.commitment, 'confirmed')
    assert.equal(source.startMs, 1_760_000_000_000)
    const running = collectOperations(source, reachedHeight(45))
    node.produce(45)
    const ops = await running
    assert.deepEqual(canonicalBlocks(ops), canonical(node))
    const heights = ops.flatMap((op) => (op.op === 'apply' ? [op.block.height] : []))
    assert.deepEqual(heights, [0, ...SLOTS, 45])
    const final = await collectOperations(source, (seen) => seen.at(-1)?.op === 'finalize')
    const last = final.at(-1)
    assert.equal(last?.op === 'finalize' && last.ref.height, 24)
    assert.equal(asked('getBlock').filter(({ params }) => params[0] === 3).length, 0)
  })

  test('a fork is followed to the common ancestor, newest block first', async () => {
    const source = await openSvmSource(optionsOf([node.url]))
    let forked = false
    const ops = await collectOperations(source, (seen) => {
      if (!forked && reachedHeight(42)(seen)) {
        forked = true
        node.rewind(22)
        for (const slot of [23, 30, 44]) node.produce(slot)
      }
      return reachedHeight(44)(seen)
    })
    const reverted = ops.flatMap((op) => (op.op === 'revert' ? [op.ref.height] : []))
    assert.deepEqual(reverted, [42, 41, 40, 24, 23])
    assert.deepEqual(canonicalBlocks(ops), canonical(node))
  })

  test('pushed blocks are taken without asking for them', async () => {
    const pushing = await startSvmNode({ pushesBlocks: true })
    try {
      pushing.produce(3)
      const source = await openSvmSource(optionsOf([pushing.url]))
      let next = 4
      const ops = await collectOperations(source, (seen) => {
        if (seen.at(-1)?.op === 'apply') {
          pushing.produce(next)
          next += 2
        }
        return next > 60
      })
      const held = canonicalBlocks(ops)
      assert.deepEqual(held, canonical(pushing).slice(0, held.length))
      const whole = pushing.asked.filter(
        ({ method, params }) =>
          method === 'getBlock' &&
          (params[1] as { transactionDetails: string }).transactionDetails === 'full',
      )
      assert.ok(
        whole.length < ops.length / 2,
        `${whole.length} of ${ops.length} blocks were asked for`,
      )
    } finally {
      await pushing.stop()
    }
  })

  test('a restart continues above its position, over skipped slots', async () => {
    const source = await openSvmSource(optionsOf([node.url]))
    const before = await collectOperations(source, reachedHeight(12))
    const stack = before.flatMap((op) => {
      if (op.op !== 'apply') return []
      const { height, hash, parentHash, timeMs } = op.block
      return [{ height, hash, parentHash, timeMs }]
    })
    const position: Position = { stack, final: stack[2] ?? null }
    const ops = await collectOperations(source, reachedHeight(42), position)
    const first = ops[0]
    assert.equal(first?.op === 'apply' && first.block.height, 20)
    node.rewind(6)
    node.produce(50)
    const again = await collectOperations(
      await openSvmSource(optionsOf([node.url])),
      reachedHeight(50),
      position,
    )
    const line = again.map(
      (op) => `${op.op} ${op.op === 'apply' ? op.block.height : op.ref.height}`,
    )
    assert.deepEqual(line, ['revert 12', 'revert 11', 'revert 7', 'apply 50'])
  })

  test('a fork below the final block halts', async () => {
    const source = await openSvmSource(optionsOf([node.url]))
    const { blocks } = node
    const stack = [6, 7, 11].map((height) => {
      const { blockhash: hash = '', previousBlockhash: parentHash = '' } = blocks.get(height) ?? {}
      return { height, hash, parentHash, timeMs: 1 }
    })
    node.rewind(5)
    node.produce(50)
    await assert.rejects(
      collectOperations(source, reachedHeight(50), { stack, final: stack[1] ?? null }),
      (error) => error instanceof InvalidInput && error.reason === 'reorg-below-finality',
    )
  })

  test('a block that a lagging node does not have is requested again; nothing is reverted', async () => {
    const source = await openSvmSource(optionsOf([node.url]))
    let refusals = 0
    node.meddle = ({ method, params }) => {
      if (method !== 'getBlock' || params[0] !== 12 || refusals >= 3) return undefined
      refusals += 1
      return { error: { code: -32_004, message: 'Block not available for slot 12' } }
    }
    const ops = await collectOperations(source, reachedHeight(42))
    assert.equal(refusals, 3)
    assert.ok(ops.every(({ op }) => op !== 'revert'))
    assert.deepEqual(canonicalBlocks(ops), canonical(node))
  })

  test('a slot that one list names and that turns out skipped is passed over', async () => {
    const source = await openSvmSource(optionsOf([node.url]))
    node.meddle = ({ method, params }) => {
      if (method !== 'getBlocks') return undefined
      node.meddle = ({ method: asks, params: of }) =>
        asks === 'getBlock' && of[0] === 42
          ? { error: { code: -32_009, message: 'Slot 42 was skipped, or missing' } }
          : undefined
      assert.equal(params[0], 0)
      return undefined
    }
    const running = collectOperations(source, reachedHeight(43))
    await until(() => asked('getBlock').some(({ params }) => params[0] === 41), 'near the head')
    node.rewind(41)
    node.produce(43)
    assert.deepEqual(canonicalBlocks(await running), canonical(node))
  })

  test('a dead endpoint, one that is silent and one of another chain are passed over', async () => {
    const other = await startSvmNode({ genesis: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG' })
    const silent = await startSvmNode()
    silent.meddle = ({ method }) => (method === 'getGenesisHash' ? undefined : 'hang')
    try {
      const urls = ['http://127.0.0.1:9', silent.url, node.url, other.url]
      const source = await openSvmSource(optionsOf(urls, { timeoutMs: 150 }))
      assert.deepEqual(
        canonicalBlocks(await collectOperations(source, reachedHeight(42))),
        canonical(node),
      )
      assert.equal(other.asked.filter(({ method }) => method !== 'getGenesisHash').length, 0)
    } finally {
      await other.stop()
      await silent.stop()
    }
  })

  test('a block with an unsupported transaction version halts the chain with its reason', async () => {
    const source = await openSvmSource(optionsOf([node.url]))
    node.meddle = ({ method, params }) =>
      method === 'getBlock' && params[0] === 7
        ? { error: { code: -32_015, message: 'Transaction version (2) is not supported' } }
        : undefined
    await assert.rejects(
      collectOperations(source, reachedHeight(42)),
      (error) => error instanceof InvalidInput && error.reason === 'unknown-version',
    )
  })

  test('a block that the node has pruned is an Outage with that reason', async () => {
    const source = await openSvmSource(optionsOf([node.url]))
    node.meddle = ({ method, params }) =>
      method === 'getBlock' && params[0] === 2
        ? { error: { code: -32_001, message: 'Block 2 cleaned up, does not exist on node' } }
        : undefined
    await assert.rejects(
      collectOperations(source, reachedHeight(42)),
      (error) => error instanceof Outage && /pruned by the node/.test(error.message),
    )
  })

  test('the Solana source without a position and a start begins at the newest block', async () => {
    const source = await openSvmSource(optionsOf([node.url], { from: null }))
    const [first] = await collectOperations(source, (ops) => ops.length === 1)
    assert.equal(first?.op === 'apply' && first.block.height, 42)
  })

  /** A node whose answer to the `at`-th question for its newest slot is `by` too high. */
  const lyingOnce = (lying: SvmNode, at: number, by: number): void => {
    let questions = 0
    lying.meddle = ({ method, params }) => {
      const isHead = method === 'getSlot' && JSON.stringify(params).includes('confirmed')
      questions += Number(isHead)
      return isHead && questions === at ? { result: 42 + by } : undefined
    }
  }

  for (const [name, by] of [
    ['far', 4_000_000_000_000],
    ['some thousand slots', 2_000],
    ['a few slots', 50],
  ] as const) {
    test(`the Solana source with one endpoint continues after one false head, ${name} too high, finality too`, async () => {
      lyingOnce(node, 3, by)
      const metrics = makeMetrics()
      const source = await openSvmSource(optionsOf([node.url], { metrics }))
      const growing = setInterval(() => {
        const slot = Math.max(...node.blocks.keys()) + 1
        node.produce(slot)
        node.finalized = slot - 20
      }, 60)
      try {
        const ops = await collectOperations(source, (seen) => reachedHeight(110)(seen))
        assert.deepEqual(
          canonicalBlocks(ops),
          canonical(node).slice(0, canonicalBlocks(ops).length),
        )
        const final = ops.findLast(({ op }) => op === 'finalize')
        assert.ok(final?.op === 'finalize' && final.ref.height > 60, 'finality continues')
        const { values } = await metrics.ingestDropped.get()
        const isBlamed = values.some(({ labels }) => labels.reason === 'false-head')
        assert.equal(isBlamed, by > 1_000)
        assert.ok((source.head()?.height ?? 0) < 200, 'the head is one of the chain')
        assert.ok(asked('getBlocks').length < 200, `${asked('getBlocks').length} lists`)
      } finally {
        clearInterval(growing)
      }
    })
  }

  test('an endpoint that always names a false head is passed over from the start', async () => {
    const lying = await startSvmNode()
    for (const slot of SLOTS) lying.produce(slot)
    lying.meddle = ({ method }) => (method === 'getSlot' ? { result: 9_000_000 } : undefined)
    try {
      const source = await openSvmSource(optionsOf([lying.url, node.url]))
      assert.equal(source.head()?.height, 42)
      const running = collectOperations(source, reachedHeight(60))
      node.produce(60)
      assert.deepEqual(canonicalBlocks(await running), canonical(node))
    } finally {
      await lying.stop()
    }
  })
})
