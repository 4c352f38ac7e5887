import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { readTableMetadata } from '../../ingestors/decode/metadata-reader.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { decodeEvmBlock } from '../../ingestors/evm/decode/block.ts'
import { evmSource } from '../../ingestors/evm/source/evm-source.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { TradeEvents } from '../../schemas/wire.ts'
import { type AppStack, startAppStack } from '../support/app-stack.ts'
import { chainRecording } from '../support/recordings/evm-chains.ts'
import type { Json } from '../support/replay/contract.ts'
import { evmReplayChain } from '../support/replay/evm-chain.ts'
import {
  buildFlashblocks,
  compressFrame,
  type FlashblocksServer,
  startFlashblocksServer,
} from '../support/replay/flashblocks-server.ts'
import { type ReplayNode, startReplayNode } from '../support/replay/json-rpc-node.ts'
import { until } from '../support/until.ts'

const RECORDING = 'base/block_2000000.json'
/** Head of the node when it starts. */
const HEAD = 1_999_999
const BASE = { ...CHAINS.base, blockTimeMs: 200 }
const PENDING = 'base.dex.trades.pending'

/** What makes two trades the same. */
interface TradeLine {
  readonly hash: string
  readonly logIndex: number
  readonly trader: string
  readonly pool: string
  readonly amounts: readonly string[]
}

const canonical = (): readonly TradeLine[] => {
  const block = chainRecording(RECORDING)
  const books = {
    verification: 'evidence',
    protocols: protocolRegistry('base'),
    pool: () => undefined,
  } as const
  const hashes = new Map(block.transactions.map(({ index, hash }) => [index, hash]))
  return decodeEvmBlock(block, books).swaps.map(
    ({ txIndex, logIndex, trader, pool, amountInRaw, amountOutRaw }) => ({
      hash: hashes.get(txIndex) ?? '',
      logIndex,
      trader,
      pool,
      amounts: [String(amountInRaw), String(amountOutRaw)].sort(),
    }),
  )
}

const linesOf = (records: readonly TradeEvents[]): readonly TradeLine[] =>
  records
    .flatMap(({ events }) => events)
    .map(({ trade, transaction, instruction }) => ({
      hash: transaction?.signature ?? '',
      logIndex: instruction?.log_index ?? -1,
      trader: trade?.user_a_account_owner_address ?? '',
      pool: trade?.pool_address ?? '',
      amounts: [trade?.user_a_amount ?? '', trade?.user_b_amount ?? ''].sort(),
    }))
    .sort((one, other) => one.logIndex - other.logIndex)

describe('flashblocks of Base', () => {
  const stop = new AbortController()
  const expected = canonical()
  let node: ReplayNode
  let server: FlashblocksServer
  let product: AppStack
  let lastPayload = 0

  const nextId = (): string => {
    lastPayload += 1
    return `0x${lastPayload.toString(16).padStart(16, '0')}`
  }
  const partsOf = (payloadId: string, height = HEAD + 1): readonly Json[] =>
    buildFlashblocks(RECORDING, { payloadId, height, parts: 5 })
  const records = (): Promise<readonly TradeEvents[]> =>
    product.topic(PENDING, 'dex.trade.TradeEvents')
  const of = async (payloadId: string, op = 'OP_APPLY'): Promise<readonly TradeEvents[]> =>
    (await records()).filter(({ meta }) => meta?.hash === payloadId && meta.op === op)
  const complete = (payloadId: string, op?: string) =>
    until(
      async () => linesOf(await of(payloadId, op)).length === expected.length,
      `${payloadId} is published`,
    )
  /** A whole payload of a later height: once its trades are there, everything before it was read. */
  const readToHere = async (): Promise<void> => {
    const id = nextId()
    for (const frame of partsOf(id, HEAD + 5)) server.say(frame)
    await complete(id)
  }
  const dropped = async (reason: string): Promise<number> => {
    const { values } = await product.metrics.ingestDropped.get()
    return values
      .filter(({ labels }) => labels.protocol === 'node' && labels.reason === reason)
      .reduce((sum, { value }) => sum + value, 0)
  }

  before(async () => {
    const chain = evmReplayChain({ ...BASE, chainId: 8_453 }, { genesisMs: 0 })
    node = await startReplayNode({ chain, head: HEAD, finalityDepth: 10, lateMs: 2_000 })
    server = await startFlashblocksServer()
    const source = await evmSource({
      chain: { ...BASE, chainId: 8_453 },
      urls: [node.url],
      concurrency: 4,
      timeoutMs: 1_000,
      from: null,
      metrics: makeMetrics(),
      log: makeSilentLogger(),
      signal: stop.signal,
    })
    product = await startAppStack({
      chain: { row: BASE, source, metadata: readTableMetadata() },
      overrides: { flashblocksUrlBase: server.url },
    })
    const [ingestor] = product.app.ingestors
    await until(() => ingestor?.status().height === HEAD, 'the chain is there')
    await until(() => server.listening() === 1, 'the stream is listened to')
  })
  after(async () => {
    await product.stop()
    stop.abort()
    await server.stop()
    await node.stop()
  })

  test('give the trades of the whole block, in every encoding of the parts', async () => {
    assert.ok(expected.length >= 5)
    const [text, binary, compressed, named] = [nextId(), nextId(), nextId(), nextId()]
    for (const frame of partsOf(text)) server.say(frame)
    for (const frame of partsOf(binary)) server.sayBytes(Buffer.from(JSON.stringify(frame)))
    for (const frame of partsOf(compressed)) server.sayPacked(frame)
    const parts = { payloadId: named, height: HEAD + 1, parts: 9, named: true } as const
    for (const frame of buildFlashblocks(RECORDING, parts)) server.say(frame)
    for (const id of [text, binary, compressed, named]) {
      await complete(id)
      assert.deepEqual(linesOf(await of(id)), expected)
    }
    const [first] = await of(text)
    const { op, commitment, height, hash } = first?.meta ?? {}
    assert.deepEqual(
      { op, commitment, height, hash },
      { op: 'OP_APPLY', commitment: 'COMMITMENT_PROCESSED', height: HEAD + 1, hash: text },
    )
    const indexes = (await of(named)).flatMap(({ events }) =>
      events.map(({ instruction }) => instruction?.event_index),
    )
    assert.deepEqual(
      indexes.toSorted(),
      expected.map((_, index) => index),
    )
  })

  test('are reverted when another payload of their height replaces them', async () => {
    const [first, second] = [nextId(), nextId()]
    const height = HEAD + 2
    for (const frame of partsOf(first, height)) server.say(frame)
    for (const frame of partsOf(second, height).slice(0, 1)) server.say(frame)
    await complete(first, 'OP_REVERT')
    assert.deepEqual(linesOf(await of(first, 'OP_REVERT')), expected)
    for (const frame of partsOf(second, height).slice(1)) server.say(frame)
    await complete(second)
    assert.deepEqual(await of(second, 'OP_REVERT'), [])
  })

  test('are dropped from a missing part on, until the next one begins', async () => {
    const lost = nextId()
    const frames = partsOf(lost, HEAD + 3)
    const seen = await dropped('frame-order')
    for (const [index, frame] of frames.entries()) if (index !== 2) server.say(frame)
    await readToHere()
    const partial = linesOf(await of(lost))
    assert.ok(partial.length < expected.length)
    assert.deepEqual(
      partial,
      expected.filter(({ logIndex }) => partial.some((line) => line.logIndex === logIndex)),
    )
    assert.equal(await dropped('frame-order'), seen + 1, 'said once')
  })

  test('are decoded once when each part comes twice', async () => {
    const id = nextId()
    for (const frame of partsOf(id, HEAD + 4)) {
      server.say(frame)
      server.say(frame)
    }
    await complete(id)
    await readToHere()
    assert.deepEqual(linesOf(await of(id)), expected)
  })

  test('are dropped with a reason where a frame is malformed, and the process continues', async () => {
    const frame = partsOf(nextId(), HEAD + 4)[0] ?? {}
    const whole = compressFrame(frame)
    const other = partsOf(nextId(), 30_000_000)[0]
    const [part, next] = partsOf(nextId(), HEAD + 4)
    const metadata = next?.metadata as Json
    const withoutReceipts = { ...frame, metadata: { block_number: HEAD + 4 } }
    const withoutBase = { ...frame, payload_id: nextId(), base: null }
    const diff = { transactions: ['0x02c0'] }
    const cases: readonly (readonly [string, () => void])[] = [
      ['bad-compression', () => server.sayBytes(whole.subarray(0, whole.length / 2))],
      ['bad-compression', () => server.sayBytes(Buffer.from([1, 2, 3, 4]))],
      ['not-json', () => server.sayBytes(Buffer.from('{"payload_id":'))],
      ['not-an-object', () => server.say([])],
      ['bad-hex', () => server.say({ ...frame, payload_id: 7 })],
      ['bad-number', () => server.say({ ...frame, index: -1 })],
      ['wrong-chain', () => server.say(other)],
      ['missing-field', () => server.say(withoutBase)],
      ['receipt-count', () => server.say(withoutReceipts)],
      ['receipt-count', () => server.say({ ...frame, diff })],
      [
        'wrong-height',
        () => {
          server.say(part)
          server.say({ ...next, metadata: { ...metadata, block_number: HEAD + 9 } })
        },
      ],
    ]
    for (const [reason, say] of cases) {
      const seen = await dropped(reason)
      say()
      await readToHere()
      assert.equal(await dropped(reason), seen + 1, reason)
    }
    const letters = async (): Promise<number> => {
      const ends = await product.app.bus.ends('dlq.ingest.base')
      return ends.reduce((sum, { low, end }) => sum + end - low, 0)
    }
    const written = await letters()
    node.produce()
    await until(async () => (await letters()) > written, 'a letter lies beside the next block')
  })

  test('are received again after the connection was lost', async () => {
    const opened = server.opened()
    server.drop()
    await until(() => server.opened() > opened && server.listening() === 1, 'it is back')
    const id = nextId()
    for (const frame of partsOf(id, HEAD + 4)) server.say(frame)
    await complete(id)
    assert.deepEqual(linesOf(await of(id)), expected)
  })

  test('are dropped after their block was ingested and are never published as trades', async () => {
    const [ingestor] = product.app.ingestors
    const late = nextId()
    const tip = ingestor?.status().height ?? 0
    assert.ok(tip > HEAD)
    for (const frame of partsOf(late, tip)) server.say(frame)
    await readToHere()
    assert.deepEqual(await of(late), [])
    const trades = await product.topic('base.dex.trades', 'dex.trade.TradeEvents')
    assert.ok(trades.every(({ meta }) => (meta?.height ?? 0) <= tip))
    assert.equal(ingestor?.status().state === 'halted', false)
  })
})
