import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Bus, Commit } from '../../core/bus-contract.ts'
import { openEmbeddedBus } from '../../core/bus-embedded.ts'
import { localCodec } from '../../core/codec.ts'
import { Malformed, Outage } from '../../core/fault.ts'
import { silentLogger } from '../../core/log.ts'
import { makeMetrics } from '../../core/metrics.ts'
import { topicSpecs } from '../../core/topic-specs.ts'
import { type FactReader, tableFacts } from '../../ingestors/facts.ts'
import { type Ingestor, type IngestorOptions, startIngestor } from '../../ingestors/run.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { Block } from '../../schemas/events.ts'
import type { BlockEvent, TradeEvent } from '../../schemas/wire.ts'
import {
  COIN,
  coinTrade,
  type HandSource,
  handBlock,
  handSource,
  POOLS,
  refOf,
  TOKENS,
  USDC,
  WETH,
  wethTrade,
} from '../support/hand-chain.ts'
import { blocksOf, type DataRecord, dataOf } from '../support/ingest-log.ts'
import { until } from '../support/until.ts'

const codec = localCodec()

const openBus = async (path: string): Promise<Bus> => {
  const bus = await openEmbeddedBus({
    path,
    mapSizeBytes: 64 << 20,
    log: silentLogger(),
    retention: 'off',
  })
  await bus.createTopics(topicSpecs({ chains: ['eth'], partitions: 3, retention: 'off' }))
  return bus
}

const folder = (t: TestContext): string => {
  const path = mkdtempSync(join(tmpdir(), 'ingest-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Facts as a node gives them: every pool proven, every token answered. */
const nodeLike = (): FactReader => ({
  ...tableFacts(TOKENS, POOLS),
  origin: 'node',
  proof: 'facts',
})

const start = (
  bus: Bus,
  source: HandSource,
  more: Partial<IngestorOptions> = {},
): Promise<Ingestor> =>
  startIngestor({
    chain: CHAINS.eth,
    source,
    bus,
    codec,
    config: { retention: 'off', pricesStatic: {} },
    facts: nodeLike(),
    metrics: makeMetrics(),
    log: silentLogger(),
    ...more,
  })

const atSeq = (ingestor: Ingestor, seq: number): Promise<unknown> =>
  until(() => ingestor.status().seq >= seq, { what: `operation ${seq}` })

/** A chain of blocks with a WETH and a coin trade each. */
const chainOf = (from: number, count: number, fork = 'a', parentHash?: string): Block[] => {
  const blocks: Block[] = []
  for (let height = from; height < from + count; height += 1) {
    const parent = blocks.at(-1)?.hash ?? parentHash
    const swaps = [wethTrade(2_000 + (height % 7)), coinTrade(100n + BigInt(height % 5))]
    blocks.push(handBlock({ height, ...(parent && { parentHash: parent }) }, swaps, fork))
  }
  return blocks
}

const apply = (blocks: readonly Block[]) => blocks.map((block) => ({ op: 'apply', block }) as const)
const revert = (blocks: readonly Block[]) =>
  blocks.toReversed().map((block) => ({ op: 'revert', ref: refOf(block) }) as const)

/** Data records of one operation without its place in time. */
const bodies = (records: readonly DataRecord[], seq: number) =>
  records
    .filter(({ meta }) => meta.seq === seq)
    .map(({ family, partition, key, events }) => ({ family, partition, key, events }))

const tradesOf = (records: readonly DataRecord[], seq: number): TradeEvent[] =>
  records
    .filter(({ family, meta }) => family === 'trades' && meta.seq === seq)
    .flatMap(({ events }) => events as TradeEvent[])

const checkSpans = (blocks: readonly BlockEvent[], records: readonly DataRecord[]): void => {
  for (const block of blocks) {
    const held = records.filter(({ meta }) => meta.seq === block.meta.seq)
    const events = held.reduce((sum, record) => sum + record.events.length, 0)
    assert.equal(
      block.spans.reduce((sum, span) => sum + span.records, 0),
      held.length,
    )
    assert.equal(
      block.spans.reduce((sum, span) => sum + span.events, 0),
      events,
    )
    assert.equal(
      Object.values(block.counts).reduce((sum, count) => sum + count, 0),
      events,
    )
    for (const span of block.spans) {
      const first = held.find(
        ({ partition, family, offset }) =>
          partition === span.partition &&
          offset === span.base_offset &&
          span.topic.endsWith(topicSuffix[family]),
      )
      assert.equal(first?.meta.part, 0, `${span.topic}/${span.partition}`)
    }
  }
}
const topicSuffix = {
  trades: 'dex.trades',
  pools: 'dex.pools',
  transfers: 'transfers',
  tokenMetadata: 'token-metadata',
}

test('blocks are committed one operation each, with facts, trades and prices of the block before', async (t) => {
  const bus = await openBus(folder(t))
  const source = handSource()
  const ingestor = await start(bus, source)
  source.push(...apply(chainOf(100, 3)))
  await atSeq(ingestor, 3)
  const blocks = await blocksOf(bus, codec)
  const records = await dataOf(bus, codec)
  assert.deepEqual(
    blocks.map(({ meta }) => [meta.seq, meta.op, meta.height]),
    [
      [1, 'OP_APPLY', 100],
      [2, 'OP_APPLY', 101],
      [3, 'OP_APPLY', 102],
    ],
  )
  checkSpans(blocks, records)
  const first = tradesOf(records, 1).find(({ trade }) => trade?.token_a_address === COIN)
  assert.equal(first?.quote_price_in_usd, '', 'a start without primes knows no price')
  const second = tradesOf(records, 2).find(({ trade }) => trade?.token_a_address === COIN)
  assert.equal(second?.quote_price_in_usd, String(2_000 + (100 % 7)))
  assert.equal(second?.quote_price_in_native, '1')
  assert.equal(second?.trade?.token_a_decimals, 9)
  const facts = records.filter(({ family }) => family === 'tokenMetadata')
  assert.deepEqual(facts.map(({ key, meta }) => [key, meta.seq]).sort(), [
    [COIN, 1],
    [USDC, 1],
    [WETH, 1],
  ])
  assert.equal(ingestor.status().height, 102)
  await ingestor.stop()
  await bus.close()
})

test('a restart in the middle goes on with the next operation and the same prices', async (t) => {
  const path = folder(t)
  const script = apply(chainOf(100, 6))
  const whole = await openBus(join(path, 'whole'))
  const uncut = handSource()
  const one = await start(whole, uncut, { nowMs: () => 7 })
  uncut.push(...script)
  await atSeq(one, 6)
  const cut = handSource()
  for (const [index, part] of [script.slice(0, 3), script.slice(3)].entries()) {
    const bus = await openBus(join(path, 'cut'))
    const ingestor = await start(bus, cut, { nowMs: () => 7 })
    cut.push(...part)
    await atSeq(ingestor, 3 * (index + 1))
    await ingestor.stop()
    await bus.close()
  }
  const again = await openBus(join(path, 'cut'))
  assert.deepEqual(await blocksOf(again, codec), await blocksOf(whole, codec))
  assert.deepEqual(await dataOf(again, codec), await dataOf(whole, codec))
  assert.equal(cut.positions[1]?.stack.at(-1)?.height, 102)
  await one.stop()
  await whole.close()
  await again.close()
})
