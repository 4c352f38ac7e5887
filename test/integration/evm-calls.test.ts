import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { type EvmSourceOptions, evmSource } from '../../ingestors/evm/source/evm-source.ts'
import type { CallFrame } from '../../schemas/block-parts.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { Feed } from '../../schemas/feeds.ts'
import type { CallEvents } from '../../schemas/wire.ts'
import { startAppStack } from '../support/app-stack.ts'
import { collectOperations, reachedHeight } from '../support/follow-source.ts'
import { type Anvil, startAnvil } from '../support/nodes/anvil.ts'
import { type FaultyNode, startFaultyNode } from '../support/nodes/faulty.ts'
import {
  deployForwarder,
  deployReverter,
  RECEIVER,
  sendValue,
} from '../support/nodes/value-forwarder.ts'
import { until } from '../support/until.ts'

const FEEDS: readonly Feed[] = ['calls', 'native-transfers', 'events', 'miner-rewards']

const optionsOf = (urls: readonly string[], stop: AbortController): EvmSourceOptions => ({
  chain: { ...CHAINS.eth, blockTimeMs: 200 },
  urls,
  concurrency: 8,
  timeoutMs: 1_000,
  from: 0,
  feeds: new Set(FEEDS),
  metrics: makeMetrics(),
  log: makeSilentLogger(),
  signal: stop.signal,
})

describe('calls of a real node', () => {
  let anvil: Anvil
  let faulty: FaultyNode
  const stop = new AbortController()
  let forwarder: `0x${string}`
  let reverter: `0x${string}`
  before(async () => {
    anvil = await startAnvil()
    faulty = await startFaultyNode(anvil.httpUrl)
    forwarder = await deployForwarder(anvil.client)
    reverter = await deployReverter(anvil.client)
    await sendValue(anvil.client, forwarder, 77n)
    await sendValue(anvil.client, reverter, 5n)
  })
  after(async () => {
    stop.abort()
    await faulty.stop()
    await anvil.stop()
  })

  /** Answers like a node that has none of these methods. */
  const refuse = (...methods: readonly string[]): void => {
    faulty.asked.length = 0
    faulty.meddle = ({ id, method }) =>
      methods.includes(method)
        ? { raw: JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'no' } }) }
        : undefined
  }

  const callsUpTo = async (
    height: number,
  ): Promise<readonly (readonly CallFrame[] | undefined)[]> => {
    const source = await evmSource(optionsOf([faulty.httpUrl], stop))
    const ops = await collectOperations(source, reachedHeight(height))
    return ops.flatMap((op) => (op.op === 'apply' && op.block.vm === 'evm' ? [op.block.calls] : []))
  }

  const moved = (calls: readonly (readonly CallFrame[] | undefined)[]) =>
    calls.flatMap((each = []) =>
      each.map(({ type, from, to, valueRaw, depth, success }) => ({
        type,
        from,
        to,
        valueRaw,
        depth,
        success,
      })),
    )

  test('the call tracer and trace_block return the same calls', async () => {
    refuse()
    const traced = moved(await callsUpTo(4))
    assert.ok(faulty.asked.some(({ method }) => method === 'debug_traceBlockByHash'))
    refuse('debug_traceBlockByHash')
    const listed = moved(await callsUpTo(4))
    assert.deepEqual(listed, traced)
    const passed = traced.find(({ to, depth }) => to === RECEIVER && depth === 1)
    assert.equal(passed?.valueRaw, 77n)
    assert.equal(passed?.from, forwarder)
    const refused = traced.find(({ to, type }) => to === reverter && type === 'CALL')
    assert.equal(refused?.success, false)
  })

  test('blocks of an EVM node without traces arrive without calls', async () => {
    refuse('debug_traceBlockByHash', 'trace_block')
    const calls = await callsUpTo(4)
    assert.deepEqual(calls.slice(1), [undefined, undefined, undefined, undefined])
    assert.deepEqual(calls[0], [], 'an empty block has none, asked or not')
  })

  test('traces that a node fails to return for a while are requested again until it returns them', async () => {
    let failures = 3
    faulty.meddle = ({ id, method }) => {
      if (method !== 'debug_traceBlockByHash' || failures === 0) return undefined
      failures -= 1
      return {
        raw: JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_000, message: 'busy' } }),
      }
    }
    const calls = await callsUpTo(4)
    assert.equal(failures, 0)
    assert.ok(calls.every((each) => each !== undefined))
  })

  test('a block without a valid trace has no calls, a rejected response is recorded, ingestion continues', async () => {
    faulty.meddle = ({ method, params: [hash] }) =>
      method === 'debug_traceBlockByHash' && hash === odd
        ? { result: [{ error: 'execution timeout' }] }
        : undefined
    const { hash: odd } = await anvil.client.getBlock({ blockNumber: 3n })
    const source = await evmSource(optionsOf([faulty.httpUrl], stop))
    const ops = await collectOperations(source, reachedHeight(4))
    const calls = ops.flatMap((op) =>
      op.op === 'apply' && op.block.vm === 'evm' ? [op.block.calls?.length] : [],
    )
    assert.deepEqual(calls, [0, 1, 1, 0, 1])
    const noted = source
      .takeRejectedResponses?.()
      .map(({ reason, endpoint }) => [reason, endpoint === null])
    assert.deepEqual(noted, [
      ['no-trace', false],
      ['no-trace', true],
    ])
    faulty.meddle = ({ method }) =>
      method === 'debug_traceBlockByHash' ? { result: 'nonsense' } : undefined
    const others = await collectOperations(
      await evmSource(optionsOf([faulty.httpUrl], stop)),
      reachedHeight(2),
    )
    assert.deepEqual(
      others.map((op) => op.op === 'apply' && op.block.vm === 'evm' && op.block.calls),
      [[], undefined, undefined],
    )
  })

  test('uncles of a block are requested by their index', async () => {
    const header = (tag: string): Promise<Record<string, unknown>> =>
      anvil.client.request({
        method: 'eth_getBlockByNumber' as never,
        params: [tag, true] as never,
      })
    const [named, uncle] = await Promise.all([header('0x2'), header('0x1')])
    faulty.asked.length = 0
    faulty.meddle = ({ method, params: [at] }) => {
      if (method === 'eth_getUncleByBlockHashAndIndex') return { result: uncle }
      const isNamed = method === 'eth_getBlockByNumber' && at === '0x2'
      return isNamed ? { result: { ...named, uncles: [uncle.hash] } } : undefined
    }
    const options = { ...optionsOf([faulty.httpUrl], stop), feeds: new Set<Feed>(['uncles']) }
    const ops = await collectOperations(await evmSource(options), reachedHeight(3))
    const found = ops.flatMap((op) =>
      op.op === 'apply' && op.block.vm === 'evm' ? (op.block.uncles ?? []) : [],
    )
    assert.deepEqual(
      found.map(({ hash, height, index }) => ({ hash, height, index })),
      [{ hash: uncle.hash, height: 1, index: 0 }],
    )
    const asked = faulty.asked.filter(({ method }) => /Uncle/.test(method))
    assert.deepEqual(
      asked.map(({ params }) => params),
      [[named.hash, '0x0']],
    )
  })

  test('calls and coins reach topics and tables, and a reorg takes them back', async () => {
    refuse()
    const source = await evmSource(optionsOf([anvil.httpUrl], stop))
    const chain = { row: CHAINS.eth, source }
    const product = await startAppStack({ chain, overrides: { feeds: [...FEEDS] } })
    const { app } = product
    try {
      const settled = (height: number) =>
        until(async () => {
          const [ingestor] = app.ingestors
          return ingestor?.status().height === height && (await app.isCaughtUp())
        }, `${height} is processed`)
      const rows = async <T>(sql: string): Promise<readonly T[]> =>
        (await app.warehouse.query<T>({ sql })).rows
      const standing = () =>
        rows<{ to_address: string; value: string; success: number; depth: number }>(
          `SELECT to_address, toString(value) AS value, success, depth FROM eth_traces_enriched FINAL
           WHERE opcode = 'CALL' ORDER BY block_slot, tx_index, call_index`,
        )
      const coins = () =>
        rows<{ sender: string; receiver: string; amount: string; call_index: number }>(
          `SELECT sender, receiver, toString(amount) AS amount, call_index FROM eth_transfers FINAL
           WHERE token_address = '${CHAINS.eth.nativeAddress}' ORDER BY block_slot, event_index`,
        )
      const { address } = anvil.client.account
      const sender = address.toLowerCase()
      const before = [
        { to_address: forwarder, value: '77', success: 1, depth: 0 },
        { to_address: RECEIVER, value: '77', success: 1, depth: 1 },
        { to_address: reverter, value: '5', success: 0, depth: 0 },
      ]
      const moves = [
        { sender, receiver: forwarder, amount: '77', call_index: 0 },
        { sender: forwarder, receiver: RECEIVER, amount: '77', call_index: 1 },
      ]
      await settled(4)
      assert.deepEqual(await standing(), before)
      assert.deepEqual(await coins(), moves)
      await sendValue(anvil.client, forwarder, 99n)
      await settled(5)
      assert.equal((await standing()).length, 5)
      assert.equal((await coins()).length, 4)
      await anvil.client.request({ method: 'anvil_reorg' as never, params: [1, []] as never })
      await anvil.client.mine({ blocks: 1 })
      await settled(6)
      assert.deepEqual(await standing(), before)
      assert.deepEqual(await coins(), moves)
      const calls = (await product.topic('eth.calls', 'evm.call.CallEvents')) as CallEvents[]
      const reverted = calls.filter(({ meta }) => meta?.op === 'OP_REVERT')
      assert.deepEqual(
        reverted.flatMap(({ events }) => events.map(({ value }) => value)).toSorted(),
        ['99', '99'],
      )
      const rewards = await rows<{ block_height: string; total_reward: string; tx_fees: string }>(
        `SELECT toString(block_height) AS block_height, toString(total_reward) AS total_reward,
           toString(tx_fees) AS tx_fees FROM eth_miner_rewards FINAL ORDER BY block_height`,
      )
      assert.equal(rewards.length, 7)
      assert.ok(BigInt(rewards[4]?.tx_fees ?? '0') > 0n)
    } finally {
      await product.stop()
    }
  })
})
