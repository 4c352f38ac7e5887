import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { nodeSource } from '../../cli/app/node-source.ts'
import { InvalidInput, Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import type { ChainOp, Position } from '../../ingestors/follow/contract.ts'
import { METHOD } from '../../ingestors/move/source/node-queries.ts'
import { type MoveSourceOptions, openMoveSource } from '../../ingestors/move/source/sui-source.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { MoveBlock } from '../../schemas/events.ts'
import {
  buildMoveEvent,
  buildMoveTransaction,
  objectIdFor,
  protocolPackage,
  SUI,
  TEST_COIN,
  USDC,
} from '../support/builders/move-block.ts'
import { canonicalBlocks, collectOperations, reachedHeight } from '../support/follow-source.ts'
import { suiDecodeContext, suiExpectations } from '../support/recordings/sui.ts'
import { REPLAY_FAULTS, type ReplayFault } from '../support/replay/faults.ts'
import {
  createSuiChain,
  recordedSuiTransactions,
  suiChainId,
  suiCheckpoints,
} from '../support/replay/sui-chain.ts'
import { type SuiNode, type SuiNodeOptions, startSuiNode } from '../support/replay/sui-node.ts'
import { until } from '../support/until.ts'

const checkpointAt = createSuiChain()

const digests = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => checkpointAt(from + at).digest)

const blocksOf = (ops: readonly ChainOp[]): readonly MoveBlock[] =>
  ops.flatMap((op) => (op.op === 'apply' && op.block.vm === 'move' ? [op.block] : []))

const positionAt = (height: number): Position => {
  const [below, at] = suiCheckpoints(height - 1, height)
  assert.ok(below && at)
  const ref = { height, hash: at.digest, parentHash: below.digest, timeMs: 1 }
  return { stack: [ref], final: ref }
}

describe('a Sui node as a source', () => {
  let stop: AbortController
  let nodes: SuiNode[]
  const started = async (options: Partial<SuiNodeOptions> = {}): Promise<SuiNode> => {
    const node = await startSuiNode({ checkpoints: suiCheckpoints(100, 140), ...options })
    nodes.push(node)
    return node
  }
  const optionsOf = (urls: readonly string[], more: Partial<MoveSourceOptions> = {}) => ({
    chain: CHAINS.sui,
    urls,
    concurrency: 8,
    timeoutMs: 500,
    from: 101,
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    signal: stop.signal,
    ...more,
  })
  const counted = ({ asked }: SuiNode, method: string): number =>
    asked.filter((each) => each.method === method).length

  beforeEach(() => {
    stop = new AbortController()
    nodes = []
  })
  afterEach(async () => {
    stop.abort()
    for (const node of nodes) await node.stop()
  })

  test('checkpoints come in order, all are final, and equal their recordings', async () => {
    const node = await started()
    const source = await openMoveSource(optionsOf([node.url]))
    assert.deepEqual(
      [source.origin, source.commitment, source.gaps],
      [`sui:${suiChainId()}`, 'finalized', false],
    )
    const ops = await collectOperations(source, (seen) => {
      const last = seen.at(-1)
      return last?.op === 'finalize' && last.ref.height === 140
    })
    assert.deepEqual(canonicalBlocks(ops), digests(101, 140))
    const recorded = recordedSuiTransactions()
    for (const { height, timeMs, transactions } of blocksOf(ops)) {
      const [expected] = recorded.slice(height % recorded.length)
      const [said] = transactions
      assert.ok(expected && said)
      assert.deepEqual(said, { ...expected, hash: said.hash, calls: [], objects: untold(expected) })
      assert.equal(timeMs, 1_760_000_000_000 + height * 250)
    }
  })

  test('the trades are those of the recordings', async () => {
    const node = await started()
    const ops = await collectOperations(
      await openMoveSource(optionsOf([node.url])),
      reachedHeight(140),
    )
    const seen = new Set(
      blocksOf(ops).flatMap((block) =>
        decodeBlock(block, suiDecodeContext([], 'facts')).swaps.map((swap) =>
          [swap.protocol, swap.pool, swap.amountInRaw, swap.amountOutRaw].join(' '),
        ),
      ),
    )
    const expected = Object.values(suiExpectations()).flatMap(({ trades }) =>
      trades.map(({ protocol, pool, amountIn, amountOut }) =>
        [protocol, pool, amountIn, amountOut].join(' '),
      ),
    )
    assert.equal(seen.size, 3)
    assert.deepEqual([...seen].sort(), expected.sort())
  })

  test('pushed checkpoints are taken without asking for them', async () => {
    const node = await started()
    const source = await openMoveSource(optionsOf([node.url], { from: null }))
    await until(() => counted(node, METHOD.subscribe) === 1, 'the subscription')
    let next = 141
    const ops = await collectOperations(source, (seen) => {
      if (seen.at(-1)?.op === 'apply') {
        node.announce(checkpointAt(next))
        next += 1
      }
      return reachedHeight(170)(seen)
    })
    assert.deepEqual(canonicalBlocks(ops), digests(140, 170))
    const asked = counted(node, METHOD.checkpoint)
    assert.ok(asked < 15, `${asked} of 31 checkpoints were asked for`)
  })

  const AT = [METHOD.info, METHOD.checkpoint, METHOD.subscribe]
  for (const fault of REPLAY_FAULTS) {
    for (const at of AT) {
      test(`${fault} at ${at.split('/')[1]}: every checkpoint once, in order`, async () => {
        const due = new Set([2, 5, 6, 9])
        let calls = 0
        let made = 0
        const faults = (method: string): ReplayFault | undefined => {
          if (method !== at) return undefined
          calls += 1
          if (!due.has(calls)) return undefined
          made += 1
          return fault
        }
        const node = await started({ faults })
        const second = at === METHOD.info ? [(await started()).url] : []
        const source = await openMoveSource(optionsOf([...second, node.url]))
        let next = 141
        const ops = await collectOperations(source, (seen) => {
          if (seen.length % 3 === 0 && next < 170) {
            const news = suiCheckpoints(next, next + 2)
            for (const each of nodes) each.announce(...news)
            next += 3
          }
          return reachedHeight(170)(seen)
        })
        assert.deepEqual(canonicalBlocks(ops), digests(101, 170))
        assert.ok(made > 0, 'the fault was made')
      })
    }
  }

  test('an endpoint that reports a false head is skipped, and tried again later', async () => {
    const lying = await started()
    const honest = await started()
    lying.toldHeight = 4_000_000_000
    const metrics = makeMetrics()
    const source = await openMoveSource(optionsOf([lying.url, honest.url], { metrics }))
    assert.equal(source.head()?.height, 140)
    const running = collectOperations(source, reachedHeight(141))
    for (const node of nodes) node.announce(...suiCheckpoints(141, 141))
    assert.deepEqual(canonicalBlocks(await running), digests(101, 141))
    const { values } = await metrics.ingestDropped.get()
    assert.ok(values.some(({ labels }) => labels.reason === 'false-head'))
  })

  test('an endpoint of another chain gets no request but the one for its chain', async () => {
    const other = await started({ chainId: suiChainId('another') })
    const node = await started()
    const source = await openMoveSource(optionsOf([node.url, other.url]))
    assert.deepEqual(
      canonicalBlocks(await collectOperations(source, reachedHeight(140))),
      digests(101, 140),
    )
    assert.deepEqual([...new Set(other.asked.map(({ method }) => method))], [METHOD.info])
  })

  test('a truncated response is an error with a reason, and another endpoint is queried', async () => {
    const cut = await started({
      faults: (method) => (method === METHOD.checkpoint ? 'truncated' : undefined),
    })
    const source = await openMoveSource(optionsOf([cut.url, (await started()).url]))
    assert.deepEqual(
      canonicalBlocks(await collectOperations(source, reachedHeight(140))),
      digests(101, 140),
    )
    assert.ok(counted(cut, METHOD.checkpoint) > 0)
    await assert.rejects(
      openMoveSource(optionsOf([cut.url])),
      (error) => error instanceof InvalidInput && error.reason === 'rpc-not-a-message',
    )
  })

  test('a checkpoint with another parent is never applied, and is requested from the other endpoints', async () => {
    const forked = await started({
      checkpoints: [...suiCheckpoints(100, 120), ...suiCheckpoints(121, 140, { name: 'forked' })],
    })
    const alone = await openMoveSource(optionsOf([forked.url]))
    await assert.rejects(
      collectOperations(alone, reachedHeight(140)),
      (error) => error instanceof InvalidInput && error.reason === 'parent-mismatch',
    )
    const source = await openMoveSource(optionsOf([forked.url, (await started()).url]))
    for (const height of [120, 130]) {
      const ops = await collectOperations(source, reachedHeight(140), positionAt(height))
      assert.deepEqual(canonicalBlocks(ops), digests(height + 1, 140))
    }
  })

  test('a Sui source restarted at a position continues above it', async () => {
    const node = await started()
    const ops = await collectOperations(
      await openMoveSource(optionsOf([node.url])),
      reachedHeight(140),
      positionAt(122),
    )
    assert.deepEqual(canonicalBlocks(ops), digests(123, 140))
    assert.equal(
      node.asked.some(({ request }) => Number(request.sequenceNumber) === 122),
      false,
    )
  })

  test('a checkpoint that the node has pruned is an Outage with that reason', async () => {
    const node = await started()
    await assert.rejects(
      openMoveSource(optionsOf([node.url], { from: 50 })),
      (error) => error instanceof Outage && /pruned by the node/.test(error.message),
    )
  })

  test('coins and pools are read from the node; what it does not return stays unknown', async () => {
    const objectType = `${protocolPackage('cetus')}::pool::Pool<${USDC}, ${SUI}>`
    const node = await started({
      coins: new Map([
        [SUI, { metadata: { decimals: 9, name: 'Sui', symbol: 'SUI' } }],
        [
          TEST_COIN,
          {
            metadata: { decimals: 6, name: 'A  coin\u0007', symbol: 'COIN' },
            treasury: { totalSupply: '18446744073709551615', supplyState: 'FIXED' },
          },
        ],
        [USDC, { treasury: { totalSupply: '5' } }],
      ]),
      objects: new Map([
        [objectIdFor('pool'), { objectId: objectIdFor('pool'), objectType }],
        [
          objectIdFor('forged'),
          {
            objectId: objectIdFor('forged'),
            objectType: `${objectIdFor('x')}::pool::Pool<${USDC}, ${SUI}>`,
          },
        ],
      ]),
    })
    const source = await openMoveSource(optionsOf([node.url]))
    const [block] = blocksOf(await collectOperations(source, reachedHeight(101)))
    const facts = source.node?.metadataReader(protocolRegistry('sui'))
    assert.ok(block && facts)
    const read = () =>
      facts.read(
        {
          pools: ['pool', 'forged', 'gone'].map((name) => ({
            address: objectIdFor(name),
            family: 'cetus',
          })),
          tokens: [SUI, TEST_COIN, USDC, '0x9::gone::GONE'],
        },
        block,
        stop.signal,
      )
    const { pools, tokens } = await read()
    assert.deepEqual(tokens, [
      { address: SUI, decimals: 9, name: 'Sui', symbol: 'SUI', totalSupplyRaw: null },
      {
        address: TEST_COIN,
        decimals: 6,
        name: 'A coin',
        symbol: 'COIN',
        totalSupplyRaw: 18_446_744_073_709_551_615n,
      },
    ])
    assert.deepEqual(pools, [
      {
        address: objectIdFor('pool'),
        tokenA: USDC,
        tokenB: SUI,
        protocol: 'cetus',
        factory: protocolPackage('cetus'),
        feePips: null,
        verified: true,
      },
    ])
    const before = counted(node, METHOD.coin)
    await read()
    assert.equal(counted(node, METHOD.coin), before + 2, 'unknown ones are not asked for again')
  })

  test('the objects of a checkpoint are requested where it created a coin', async () => {
    const coin = `${objectIdFor('package')}::mine::MINE`
    const born = buildMoveTransaction(
      [buildMoveEvent('cetus', 'pool::SwapEvent', Buffer.alloc(4))],
      {
        objects: [
          { id: objectIdFor('package'), type: '', change: 'published', fields: null },
          {
            id: objectIdFor('meta'),
            type: `0x2::coin::CoinMetadata<${coin}>`,
            change: 'created',
            fields: { decimals: 7, name: 'Mine', symbol: 'MINE' },
          },
        ],
      },
    )
    const transactionsOf = (height: number) => (height === 103 ? [born] : [])
    const node = await started({ checkpoints: suiCheckpoints(100, 105, { transactionsOf }) })
    const ops = await collectOperations(
      await openMoveSource(optionsOf([node.url])),
      reachedHeight(105),
    )
    const births = blocksOf(ops).flatMap(
      (block) => decodeBlock(block, suiDecodeContext()).tokenCreations,
    )
    assert.deepEqual(
      births.map(({ metadata: fact }) => fact),
      [{ address: coin, decimals: 7, name: 'Mine', symbol: 'MINE', totalSupplyRaw: null }],
    )
    const withObjects = node.asked.filter(({ request }) =>
      JSON.stringify(request).includes('objects.'),
    )
    assert.deepEqual(
      withObjects.map(({ request }) => Number(request.sequenceNumber)),
      [103],
    )
  })

  test('the product opens the source by the chain', async () => {
    const node = await started()
    const { chain, urls, from, metrics, log, signal } = optionsOf([node.url], { from: null })
    const source = await nodeSource({
      chain,
      urls,
      from,
      metrics,
      log,
      signal,
      config: {
        rpcConcurrency: 2,
        rpcPerSecond: 200,
        rpcTimeoutMs: 500,
        chainExtra: {},
        feeds: [],
      },
    })
    const [first] = await collectOperations(source, (ops) => ops.length === 1)
    assert.equal(first?.op === 'apply' && first.block.height, 140)
    assert.equal(source.startMs, 1_760_000_000_000 + 140 * 250)
  })
})

/** The fields of objects come only with coins that were made. */
const untold = ({ objects }: MoveBlock['transactions'][number]) =>
  objects.map((object) => ({ ...object, fields: null }))
