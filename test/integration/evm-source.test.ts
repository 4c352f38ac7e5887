import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { InvalidInput, Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { type EvmSourceOptions, evmSource } from '../../ingestors/evm/source/evm-source.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { canonicalBlocks, collectOperations, reachedHeight } from '../support/follow-source.ts'
import { type Anvil, startAnvil } from '../support/nodes/anvil.ts'
import { type FaultyNode, startFaultyNode } from '../support/nodes/faulty.ts'
import { freePort } from '../support/ports.ts'

const optionsOf = (
  urls: readonly string[],
  stop: AbortController,
  more: Partial<EvmSourceOptions> = {},
): EvmSourceOptions => ({
  chain: { ...CHAINS.eth, blockTimeMs: 200 },
  urls,
  concurrency: 8,
  timeoutMs: 1_000,
  from: 0,
  metrics: makeMetrics(),
  log: makeSilentLogger(),
  signal: stop.signal,
  ...more,
})

describe('a node as a source', () => {
  let anvil: Anvil
  let faulty: FaultyNode
  let stop: AbortController
  before(async () => {
    anvil = await startAnvil()
    faulty = await startFaultyNode(anvil.httpUrl)
    await anvil.client.mine({ blocks: 40 })
  })
  beforeEach(() => {
    stop?.abort()
    stop = new AbortController()
    faulty.meddle = () => undefined
    faulty.asked.length = 0
  })
  after(async () => {
    stop.abort()
    await faulty.stop()
    await anvil.stop()
  })

  const canonical = async (): Promise<readonly string[]> => {
    const top = Number(await anvil.client.getBlockNumber({ cacheTime: 0 }))
    const heights = Array.from({ length: top + 1 }, (_, height) => BigInt(height))
    const blocks = await Promise.all(
      heights.map((blockNumber) => anvil.client.getBlock({ blockNumber })),
    )
    return blocks.map(({ hash }) => hash)
  }

  for (const transport of ['http', 'ws'] as const) {
    test(`catches up in order and continues live over ${transport}`, async () => {
      const url = transport === 'http' ? anvil.httpUrl : anvil.wsUrl
      const source = await evmSource(optionsOf([url], stop))
      const top = Number(await anvil.client.getBlockNumber({ cacheTime: 0 }))
      const wanted = top + 2
      const running = collectOperations(source, reachedHeight(wanted))
      await anvil.client.mine({ blocks: 1 })
      await anvil.client.mine({ blocks: 1 })
      const ops = await running
      assert.deepEqual(canonicalBlocks(ops), (await canonical()).slice(0, wanted + 1))
      assert.ok(ops.some(({ op }) => op === 'finalize'))
    })
  }

  test('a reorg is followed to the common ancestor, newest block first', async () => {
    const source = await evmSource(optionsOf([anvil.wsUrl], stop))
    const top = Number(await anvil.client.getBlockNumber({ cacheTime: 0 }))
    let reorged = false
    const ops = await collectOperations(source, (seen) => {
      const last = seen.at(-1)
      if (!reorged && reachedHeight(top)(seen)) {
        reorged = true
        const params = [3, []] as never
        anvil.client
          .request({ method: 'anvil_reorg' as never, params })
          .then(() => anvil.client.mine({ blocks: 1 }))
      }
      return last?.op === 'apply' && last.block.height === top + 1
    })
    assert.equal(ops.filter(({ op }) => op === 'revert').length, 3)
    assert.deepEqual(canonicalBlocks(ops), await canonical())
  })

  test('dead endpoint: the next one serves', async () => {
    const dead = `http://127.0.0.1:${await freePort()}`
    const source = await evmSource(optionsOf([dead, anvil.httpUrl], stop))
    const ops = await collectOperations(source, reachedHeight(5))
    assert.equal(canonicalBlocks(ops).length, 6)
  })

  test('a node without eth_getBlockReceipts is queried for receipts one by one', async () => {
    faulty.meddle = ({ id, method }) =>
      method === 'eth_getBlockReceipts'
        ? { raw: JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'no' } }) }
        : undefined
    const hash = await anvil.client.sendTransaction({
      to: anvil.client.account.address,
      value: 1n,
    })
    const { blockNumber } = await anvil.client.waitForTransactionReceipt({ hash })
    const top = Number(blockNumber)
    const source = await evmSource(optionsOf([faulty.httpUrl], stop, { from: top - 2 }))
    const ops = await collectOperations(source, reachedHeight(top))
    assert.deepEqual(canonicalBlocks(ops), (await canonical()).slice(top - 2, top + 1))
    const moved = ops.map((op) => (op.op === 'apply' ? op.block.transactions.length : 0))
    assert.equal(
      moved.reduce((sum, count) => sum + count),
      1,
    )
    assert.ok(faulty.asked.some(({ method }) => method === 'eth_getTransactionReceipt'))
  })

  const rawBlock = (tag: string): Promise<unknown> =>
    anvil.client.request({
      method: 'eth_getBlockByNumber' as never,
      params: [tag, false] as never,
    })

  test('an endpoint with a stuck head does not delay the source and gets no block requests', async () => {
    const old = await rawBlock('0x2')
    faulty.meddle = ({ method, params: [tag] }) =>
      method === 'eth_getBlockByNumber' && tag === 'latest' ? { result: old } : undefined
    const top = Number(await anvil.client.getBlockNumber({ cacheTime: 0 }))
    const urls = [faulty.httpUrl, anvil.httpUrl]
    const source = await evmSource(optionsOf(urls, stop, { chain: CHAINS.eth }))
    faulty.asked.length = 0
    const ops = await collectOperations(source, reachedHeight(top))
    assert.deepEqual(canonicalBlocks(ops), await canonical())
    const blocks = faulty.asked.filter(({ method }) => method === 'eth_getBlockReceipts')
    assert.equal(blocks.length, 0)
  })

  test('an endpoint that reports its head as final finalizes nothing early', async () => {
    const newest = await rawBlock('latest')
    faulty.meddle = ({ method, params: [tag] }) =>
      method === 'eth_getBlockByNumber' && tag === 'finalized' ? { result: newest } : undefined
    const final = Number((await anvil.client.getBlock({ blockTag: 'finalized' })).number)
    const top = Number(await anvil.client.getBlockNumber({ cacheTime: 0 }))
    assert.ok(final < top, 'the honest node has blocks that are not final')
    const source = await evmSource(optionsOf([faulty.httpUrl, anvil.httpUrl], stop))
    const ops = await collectOperations(source, reachedHeight(top))
    const finals = ops.flatMap((op) => (op.op === 'finalize' ? [op.ref.height] : []))
    assert.ok(finals.length > 0)
    assert.ok(Math.max(...finals) <= final)
  })

  test('an endpoint that stops answering in the middle: the other one serves', async () => {
    const source = await evmSource(
      optionsOf([faulty.httpUrl, anvil.httpUrl], stop, { timeoutMs: 200 }),
    )
    let blocks = 0
    faulty.meddle = ({ method }) => {
      if (method === 'eth_getBlockReceipts') blocks += 1
      return blocks > 3 ? 'hang' : undefined
    }
    const ops = await collectOperations(source, reachedHeight(30))
    assert.deepEqual(canonicalBlocks(ops), (await canonical()).slice(0, 31))
  })

  test('an endpoint of another chain is refused, and alone it is final', async () => {
    // One of its own: what an earlier test asked may still be on its way to the other one.
    const foreign = await startFaultyNode(anvil.httpUrl)
    foreign.meddle = ({ method }) => (method === 'eth_chainId' ? { result: '0x38' } : undefined)
    await assert.rejects(
      evmSource(optionsOf([foreign.httpUrl], stop)),
      (error: unknown) => error instanceof Outage && error.final,
    )
    const source = await evmSource(optionsOf([foreign.httpUrl, anvil.httpUrl], stop))
    await collectOperations(source, reachedHeight(3))
    assert.deepEqual([...new Set(foreign.asked.map(({ method }) => method))], ['eth_chainId'])
    await foreign.stop()
  })

  test('malformed responses are replaced by those of the next endpoint', async () => {
    const wrong: Record<string, string> = {
      eth_getBlockByNumber: '{"jsonrpc":"2.0","id":',
      eth_getBlockReceipts: '[]',
    }
    const source = await evmSource(optionsOf([faulty.httpUrl, anvil.httpUrl], stop))
    faulty.meddle = ({ method }) => {
      const raw = wrong[method]
      return raw === undefined ? undefined : { raw }
    }
    const ops = await collectOperations(source, reachedHeight(10))
    assert.deepEqual(canonicalBlocks(ops), (await canonical()).slice(0, 11))
  })

  test('an EVM block without all its receipts is accepted from no endpoint', async () => {
    const hash = await anvil.client.sendTransaction({
      to: anvil.client.account.address,
      value: 1n,
    })
    const { blockNumber } = await anvil.client.waitForTransactionReceipt({ hash })
    const top = Number(blockNumber)
    faulty.meddle = ({ method }) => (method === 'eth_getBlockReceipts' ? { result: [] } : undefined)
    const source = await evmSource(optionsOf([faulty.httpUrl], stop, { from: top }))
    await assert.rejects(collectOperations(source, reachedHeight(top)), InvalidInput)
  })

  test('a silent WebSocket is detected, and no block is missing after it', async () => {
    const source = await evmSource(
      optionsOf([faulty.wsUrl, anvil.httpUrl], stop, { timeoutMs: 300 }),
    )
    const top = Number(await anvil.client.getBlockNumber({ cacheTime: 0 }))
    let slept = false
    const ops = await collectOperations(source, (seen) => {
      if (!slept && reachedHeight(top)(seen)) {
        slept = true
        faulty.muteSockets()
        anvil.client.mine({ blocks: 25 })
      }
      return reachedHeight(top + 25)(seen)
    })
    assert.deepEqual(canonicalBlocks(ops), await canonical())
  })

  test('an endpoint that reports a false final block finalizes nothing that is not canonical', async () => {
    const source = await evmSource(optionsOf([faulty.httpUrl], stop))
    const foreign = `0x${'ab'.repeat(32)}`
    faulty.meddle = ({ method, params }) =>
      method === 'eth_getBlockByNumber' && params[0] === 'finalized'
        ? { result: { number: '0xffffff', hash: foreign, parentHash: foreign, timestamp: '0x1' } }
        : undefined
    const top = Number(await anvil.client.getBlockNumber({ cacheTime: 0 }))
    const ops = await collectOperations(source, reachedHeight(top))
    const applied = new Set(canonicalBlocks(ops))
    for (const op of ops) if (op.op === 'finalize') assert.ok(applied.has(op.ref.hash))
  })

  test('a source continues from a position, and reverts blocks that were replaced meanwhile', async () => {
    const source = await evmSource(optionsOf([anvil.httpUrl], stop))
    const top = Number(await anvil.client.getBlockNumber({ cacheTime: 0 }))
    const first = await collectOperations(source, reachedHeight(top))
    const stack = first.flatMap((op) => (op.op === 'apply' ? [op.block] : []))
    await anvil.client.request({ method: 'anvil_reorg' as never, params: [2, []] as never })
    await anvil.client.mine({ blocks: 1 })
    const rest = await collectOperations(source, reachedHeight(top + 1), { stack, final: null })
    assert.equal(rest.filter(({ op }) => op === 'revert').length, 2)
    assert.deepEqual(canonicalBlocks([...first, ...rest]), await canonical())
  })
})
