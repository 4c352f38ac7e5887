import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partitionOf } from '../../core/bus/partitioner.ts'
import type { DeepPartial } from '../../core/codec/contract.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import type { TradeEvent } from '../../schemas/wire.ts'
import { type Channel, parseChannel } from '../../serving/realtime/channel-name.ts'
import type { Push, Subscriber } from '../../serving/realtime/fanout.ts'
import { Hub } from '../../serving/realtime/hub.ts'
import { createFilterCompiler } from '../../serving/realtime/publication-filter.ts'
import { eventPosition, HISTORY_LIMITS } from '../../serving/realtime/publication-history.ts'
import { createSubscriptionView, PLAIN_VIEW } from '../../serving/realtime/subscription-view.ts'
import { buildCandleEvent, buildTradeEvent, TOKEN } from '../support/realtime-stack.ts'

const TOPIC = 'eth.dex.trades.processed'
const codec = localCodec()

const channelOf = (name: string): Channel => {
  const channel = parseChannel(name, new Set(['eth']))
  assert.ok(!('code' in channel))
  return channel
}
const tradesChannel = (): Channel => channelOf(`dex-trade:eth_${TOKEN}`)

/** A hub with the partitions of trades and one subscriber to those of TOKEN. */
const openHub = (partitions = 1) => {
  const partition = partitionOf(TOKEN, partitions)
  const metrics = makeMetrics()
  const channel = tradesChannel()
  /** For each announced loss: whether the channel is among the lost ones. */
  const ended: boolean[] = []
  const hub = new Hub({
    codec,
    quotes: new Map(),
    numbers: 'string',
    publish: () => undefined,
    metrics,
    log: makeSilentLogger(),
    nowMs: () => 0,
    onLost: (lost) => ended.push(lost(channel)),
  })
  for (const each of Array(partitions).keys()) {
    hub.openLane({ topic: TOPIC, partition: each, partitions, startOffset: 0, origin: 'test' })
  }
  hub.goLive()
  const pushed: unknown[] = []
  const buckets: number[] = []
  const subscriber: Subscriber = {
    congested: true,
    orgId: 'org',
    deliver: ({ frames, bucketMs }: Push) => {
      buckets.push(bucketMs)
      pushed.push(...frames.map((frame) => JSON.parse(String(frame)).push.pub.offset))
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
  hub.join(subscriber, channel, { after: 0, view: createSubscriptionView({}) })
  /** Takes a record of the partition of TOKEN that holds one trade. */
  const accept = (
    offset: number,
    seq: number,
    part: number,
    more: DeepPartial<TradeEvent> = {},
  ): void => {
    const meta = { chain: 'eth', op: 'OP_APPLY', seq, part, parts: part + 1 } as const
    const value = codec.encode('dex.trade.TradeEvents', {
      meta,
      events: [{ ...buildTradeEvent(offset), ...more }],
    })
    hub.accept({
      topic: TOPIC,
      partition,
      offset,
      key: TOKEN,
      value,
      headers: {},
      timestampMs: 0,
    })
  }
  return { hub, metrics, channel, subscriber, ended, pushed, buckets, accept }
}

test('a record that is delivered twice is published and kept once; further parts of its block are new', () => {
  const { hub, channel, pushed, accept } = openHub()
  accept(0, 7, 0)
  accept(1, 7, 0)
  accept(2, 7, 1)
  accept(3, 6, 5)
  accept(4, 7, 1)
  accept(5, 8, 0)
  const kept = hub.historyOf(channel, { since: undefined, reverse: false, limit: 100 })
  assert.equal(kept?.publications.length, 3)
  assert.equal(pushed.length, 3)
})

test('a recovery that does not fit one reply is not reported as complete', () => {
  const { hub, channel, accept } = openHub()
  const since = hub.positionOf(channel)
  assert.ok(since)
  /** So large that a reply is full before the channel's history is. */
  const signature = `0x${'ab'.repeat(1_500)}`
  let offset = 0
  let recovered = 0
  for (;;) {
    const answer = hub.recover(channel, since, PLAIN_VIEW)
    if (!answer.recovered) break
    assert.equal(answer.publications.length, offset, 'all that was missed, or nothing')
    recovered = offset
    accept(offset, offset, 0, { transaction: { signature } })
    offset += 1
    assert.ok(offset < HISTORY_LIMITS.perSubject, 'the size of a reply is bounded')
  }
  assert.ok(recovered > 100)
})

test('whatever error a record causes, it is counted, its channels learn of the loss, and the next one is sent', async () => {
  const { hub, metrics, channel, ended, pushed, accept } = openHub()
  accept(0, 1, 0)
  const since = hub.positionOf(channel)
  assert.ok(since)
  accept(1, 2, 0, buildTradeEvent(1, { token_a_decimals: 2 ** 31 - 1 }))
  accept(2, 3, 0)
  assert.equal(pushed.length, 2)
  assert.deepEqual(ended, [true])
  assert.equal(hub.recover(channel, since, PLAIN_VIEW).recovered, false)
  const { values } = await metrics.eventsDropped.get()
  assert.deepEqual(
    values.map(({ labels, value }) => [labels.reason, value]),
    [['other', 1]],
  )
})

test('a record that cannot be read may have held trades of tokens of every partition: none recovers over it', () => {
  const { hub, channel, ended, accept } = openHub(2)
  accept(0, 1, 0)
  const since = hub.positionOf(channel)
  assert.ok(since)
  hub.accept({
    topic: TOPIC,
    partition: 1 - partitionOf(TOKEN, 2),
    offset: 0,
    key: 'other',
    value: Buffer.from('no record'),
    headers: {},
    timestampMs: 0,
  })
  assert.deepEqual(ended, [true])
  assert.equal(hub.recover(channel, since, PLAIN_VIEW).recovered, false)
  accept(1, 2, 0)
  const later = hub.positionOf(channel)
  assert.ok(later)
  accept(2, 3, 0)
  const recovery = hub.recover(channel, later, PLAIN_VIEW)
  assert.ok(recovery.recovered)
  assert.equal(recovery.publications.length, 1)
})

test('a recovery counts the steps of its filter for every kept publication, whether or not it matches', () => {
  const { hub, channel, accept } = openHub()
  const since = hub.positionOf(channel)
  assert.ok(since)
  for (let offset = 0; offset < 40; offset += 1) accept(offset, offset, 0)
  const filters = createFilterCompiler()
  const recoverWith = (text: string) => {
    const filter = filters.compile(channel.row, text)
    assert.ok(filter)
    const recovery = hub.recover(channel, since, createSubscriptionView({ filter }))
    assert.ok(recovery.recovered)
    assert.ok(recovery.filterSteps >= 40 * filter.steps, text)
    return { ...recovery, steps: filter.steps }
  }
  const none = recoverWith('meta.h.matches("^[x-z]{20}$")')
  assert.deepEqual(none.publications, [])
  assert.ok(none.steps >= 400)
  const few = recoverWith('meta.h == "x"')
  assert.ok(few.steps < 50)
  assert.ok(few.filterSteps < none.filterSteps)
  assert.equal(recoverWith('has(meta.h)').publications.length, 40)
  assert.equal(hub.recover(channel, since, PLAIN_VIEW).filterSteps, 0)
  assert.equal(hub.recover(channel, { ...since, epoch: 'x' }, PLAIN_VIEW).filterSteps, 0)
})

test('a candle tells the queue of a slow reader which bucket it is of', () => {
  const { hub, subscriber, buckets } = openHub()
  hub.join(subscriber, channelOf(`dex-candle:eth_${TOKEN}_1m`), { after: 0, view: PLAIN_VIEW })
  const candle = buildCandleEvent(3, '2')
  hub.accept({
    topic: 'eth.candlesticks',
    partition: 0,
    offset: 0,
    key: TOKEN,
    value: codec.encode('candlestick.CandlestickEvents', { meta: null, events: [candle] }),
    headers: {},
    timestampMs: 0,
  })
  assert.deepEqual(buckets, [Number(candle.timestamp)])
})

test('a subscriber that is ahead of this node gets nothing a second time', () => {
  const { hub, channel, subscriber, pushed, accept } = openHub()
  hub.leave(subscriber, channel)
  const after = eventPosition(1, 0)
  hub.join(subscriber, channel, { after, view: PLAIN_VIEW })
  for (const offset of [0, 1, 2]) accept(offset, offset, 0)
  assert.deepEqual(pushed, [eventPosition(2, 0)])
})
