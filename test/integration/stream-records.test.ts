import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { ProducerRecord } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { partitionOf } from '../../core/bus/partitioner.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { TOPICS, topicName } from '../../schemas/topics.ts'
import { startBusSubscriber } from '../../serving/realtime/bus-subscriber.ts'
import { type Channel, parseChannel } from '../../serving/realtime/channel-name.ts'
import type { Push, Subscriber } from '../../serving/realtime/fanout.ts'
import { Hub } from '../../serving/realtime/hub.ts'
import { PLAIN_VIEW } from '../../serving/realtime/subscription-view.ts'
import { buildTradeEvent, USDC, WALLET } from '../support/realtime-stack.ts'
import { until } from '../support/until.ts'

const PARTITIONS = 3
const START_MS = 1_760_000_000_000
const codec = localCodec()

const addressOf = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`
/** Tokens of one partition of trades, and where it is. */
const tokensIn = (partition: number): readonly string[] =>
  Array.from({ length: 100 }, (_, index) => addressOf(index + 1)).filter(
    (token) => partitionOf(token, PARTITIONS) === partition,
  )
const [TOKEN = ''] = tokensIn(0)
const [OTHER = '', BUSY = ''] = tokensIn(1)

const channelOf = (name: string): Channel => {
  const channel = parseChannel(name, new Set(['eth']))
  assert.ok(!('code' in channel), name)
  return channel
}

/** A log of one chain whose clock the test moves; every node reads it from its own start. */
const openChain = async (t: TestContext) => {
  const path = await mkdtemp(join(tmpdir(), 'sluice-records-'))
  const log = makeSilentLogger()
  const clock = { ms: START_MS }
  const bus = await openEmbeddedBus({
    path,
    mapSizeBytes: 256 * 1_024 * 1_024,
    log,
    retention: 'off',
    nowMs: () => clock.ms,
  })
  t.after(async () => {
    await bus.close()
    await rm(path, { recursive: true, force: true })
  })
  await bus.createTopics(
    Object.entries(TOPICS).map(([topic, { cleanup }]) => ({
      topic: topicName(topic as keyof typeof TOPICS, 'eth'),
      partitions: topic === 'tradesProcessed' ? PARTITIONS : 1,
      cleanup,
      retentionMs: null,
    })),
  )
  const writer = await bus.writer('test')
  let seq = 0
  const metaOf = () => {
    seq += 1
    return { chain: 'eth', op: 'OP_APPLY', seq, height: seq, part: 0, parts: 1 } as const
  }
  const trade = (base: string, quote: string): ProducerRecord => ({
    topic: topicName('tradesProcessed', 'eth'),
    key: base,
    value: codec.encode('dex.trade.TradeEvents', {
      meta: metaOf(),
      events: [buildTradeEvent(seq, { token_a_address: base, token_b_address: quote })],
    }),
  })
  const balance = (amount: string): ProducerRecord => ({
    topic: topicName('balancesProcessed', 'eth'),
    key: WALLET,
    value: codec.encode('balance.BalanceEvents', {
      meta: metaOf(),
      events: [
        {
          balance: { account_owner_address: WALLET, token_address: TOKEN, decimals: 0 },
          balance_processed: { owner_post_amount: amount },
        },
      ],
    }),
  })
  const commit = (records: readonly ProducerRecord[]) => writer.commit({ records })
  await commit([
    {
      topic: topicName('blocks', 'eth'),
      key: 'eth',
      value: codec.encode('block.BlockEvent', { meta: metaOf() }),
    },
  ])
  /** A serving process that starts now. */
  const startNode = async () => {
    const metrics = makeMetrics()
    const hub = new Hub({
      codec,
      quotes: new Map([['eth', new Set([USDC])]]),
      numbers: 'string',
      publish: () => undefined,
      metrics,
      log,
      nowMs: () => clock.ms,
    })
    const feed = await startBusSubscriber({
      bus,
      hub,
      log,
      chains: ['eth'],
      onPressure: () => undefined,
    })
    t.after(() => feed.stop())
    return { hub, metrics }
  }
  return { clock, trade, balance, commit, startNode }
}

/** Subscribes; returns the payloads as they come. */
const listen = (hub: Hub, name: string): readonly Record<string, unknown>[] => {
  const heard: Record<string, unknown>[] = []
  const subscriber: Subscriber = {
    congested: true,
    orgId: 'org',
    deliver: ({ frames }: Push) => {
      heard.push(...frames.map((frame) => JSON.parse(String(frame)).push.pub.data))
    },
    bill: () => undefined,
    socket: {
      send: () => undefined,
      ping: () => undefined,
      buffered: () => 0,
      join: () => undefined,
      leave: () => undefined,
      close: () => undefined,
      drop: () => undefined,
    },
  }
  hub.join(subscriber, channelOf(name), { after: 0, view: PLAIN_VIEW })
  return heard
}

test('a record that cannot be mapped is counted; its neighbours are sent once, and what follows is sent', async (t) => {
  const { trade, balance, commit, startNode } = await openChain(t)
  const { hub, metrics } = await startNode()
  const balances = listen(hub, `dex-wallet-balance:eth_${WALLET}`)
  const trades = listen(hub, `dex-trade:eth_${TOKEN}`)
  await commit([balance('1'), balance('1.5'), balance('2')])
  await commit([balance('3'), trade(TOKEN, USDC)])
  await until(() => balances.length >= 3 && trades.length === 1, 'what follows', 10_000)
  assert.deepEqual(
    balances.map(({ b }) => b),
    ['1', '2', '3'],
  )
  const { values } = await metrics.eventsDropped.get()
  assert.deepEqual(
    values.map(({ labels, value }) => [labels.stage, labels.reason, value]),
    [['realtime', 'bad-amount', 1]],
  )
})

/** More records than a node reads of one partition at its start. */
const FILLERS = 2_001

test('a new node recovers only what every partition that may hold trades of the token is known for', async (t) => {
  const { clock, trade, commit, startNode } = await openChain(t)
  const channel = channelOf(`dex-trade:eth_${TOKEN}`)
  await commit([trade(TOKEN, USDC)])
  const first = await startNode()
  const before = first.hub.positionOf(channel)
  assert.ok(before)
  await commit([trade(OTHER, TOKEN)])
  await commit(Array.from({ length: FILLERS }, () => trade(BUSY, USDC)))
  const second = await startNode()
  assert.deepEqual(
    [second.hub.positionOf(channel)?.epoch, second.hub.recover(channel, before, PLAIN_VIEW)],
    [before.epoch, { recovered: false, bytes: 0, filterSteps: 0 }],
    'the trade in the partition of the other token is beyond what was read of it',
  )
  clock.ms += 60_000
  await commit([trade(TOKEN, USDC)])
  const third = await startNode()
  const seen = third.hub.historyOf(channel, { since: undefined, reverse: true, limit: 1 })
  const offset = seen?.publications[0]?.offset
  assert.ok(offset !== undefined)
  await commit([trade(TOKEN, USDC), trade(BUSY, USDC)])
  const fourth = await startNode()
  const recovery = fourth.hub.recover(channel, { epoch: before.epoch, offset }, PLAIN_VIEW)
  assert.ok(recovery.recovered, 'all partitions are known since long before the position')
  assert.equal(recovery.publications.length, 1)
  assert.equal(fourth.hub.recover(channel, before, PLAIN_VIEW).recovered, false)
})

test('a node that has read every partition from its first record recovers from any position', async (t) => {
  const { trade, commit, startNode } = await openChain(t)
  const channel = channelOf(`dex-trade:eth_${TOKEN}`)
  await commit([trade(TOKEN, USDC)])
  const since = (await startNode()).hub.positionOf(channel)
  assert.ok(since)
  await commit([trade(TOKEN, USDC), trade(BUSY, USDC)])
  const recovery = (await startNode()).hub.recover(channel, since, PLAIN_VIEW)
  assert.ok(recovery.recovered)
  assert.equal(recovery.publications.length, 1)
})

test('a record of the first 10 s of what was read of another partition is not a position to recover from', async (t) => {
  const { clock, trade, commit, startNode } = await openChain(t)
  const channel = channelOf(`dex-trade:eth_${TOKEN}`)
  await commit(Array.from({ length: FILLERS }, () => trade(BUSY, USDC)))
  clock.ms += 10_000
  await commit([trade(TOKEN, USDC)])
  clock.ms += 1
  await commit([trade(TOKEN, USDC)])
  const { hub } = await startNode()
  const { epoch } = hub.positionOf(channel) ?? assert.fail()
  const kept = hub.historyOf(channel, { since: undefined, reverse: false, limit: 10 })
  assert.deepEqual(
    kept?.publications.map(
      ({ offset = 0 }) => hub.recover(channel, { epoch, offset }, PLAIN_VIEW).recovered,
    ),
    [false, true],
    'the log may have taken an older trade of the other partition 10 s before',
  )
})
