import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeepPartial } from '../../core/codec/contract.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeErrorBoundary } from '../../core/ops/error-boundary.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { NEW_TOKEN_KEYS, TRADE_KEYS } from '../../schemas/channel-keys.ts'
import { CHANNELS, channelRow } from '../../schemas/channels.ts'
import type { CandlestickEvents, Messages, TradeEvents } from '../../schemas/wire.ts'
import {
  ArrayBatcher,
  BATCH_WINDOW_MS,
  type Batch,
  type BatchElement,
  MAX_BATCH_ELEMENTS,
} from '../../serving/realtime/array-batcher.ts'
import { COALESCE_INTERVAL_MS, Coalescer } from '../../serving/realtime/coalescer.ts'
import { Connection } from '../../serving/realtime/connection.ts'
import type { Push } from '../../serving/realtime/fanout.ts'
import type { Frame } from '../../serving/realtime/frame-codec.ts'
import { serializePayload } from '../../serving/realtime/payload.ts'
import {
  candlePublications,
  type Publication,
  type PublishContext,
  tradePublications,
} from '../../serving/realtime/publication.ts'
import { createRenderer, MAX_PAYLOAD_BYTES } from '../../serving/realtime/render-publication.ts'
import { createSession } from '../../serving/realtime/session.ts'
import { PLAIN_VIEW } from '../../serving/realtime/subscription-view.ts'
import {
  buildCandleEvent,
  buildTradeEvent,
  POOL,
  TOKEN,
  USDC,
  WALLET,
} from '../support/realtime-stack.ts'

const codec = localCodec()
const META = { chain: 'eth', op: 'OP_APPLY', seq: 1, part: 0 } as const
/** The value as a reader gets it: every field present. */
const whole = <Name extends keyof Messages>(name: Name, value: DeepPartial<Messages[Name]>) =>
  codec.decode(name, codec.encode(name, value))
const trades = (value: DeepPartial<TradeEvents>) =>
  whole('dex.trade.TradeEvents', { meta: META, ...value })
const candles = (value: DeepPartial<CandlestickEvents>) =>
  whole('candlestick.CandlestickEvents', { meta: META, ...value })
const desk = (more: Partial<PublishContext> = {}): PublishContext => ({
  chain: 'eth',
  nameOf: () => undefined,
  priceOf: () => '',
  hasCandleSubscribers: () => true,
  isNeeded: () => true,
  ...more,
})
const textOf = ({ payload, row }: Publication, numbers: 'string' | 'number' = 'string') =>
  JSON.parse(serializePayload(payload, row.keys, { numbers, longNames: false }))

test('a trade is published to both tokens and to every wallet, each with its own view', () => {
  const other = '0x00000000000000000000000000000000000000d1'
  const trade = buildTradeEvent(1, {
    user_b_account_owner_address: other,
    was_original_direction: false,
  })
  const found = tradePublications(trades({ events: [trade] }), desk())
  assert.deepEqual(
    found.map((one) => [one.subject, textOf(one).a, textOf(one).k]),
    [
      [`dex-trade|eth|${TOKEN}|`, TOKEN, 'buy'],
      [`dex-trade|eth|${USDC}|`, USDC, 'sell'],
      [`dex-wallet-trade|eth|${WALLET}|`, TOKEN, 'buy'],
      [`dex-wallet-trade|eth|${other}|`, TOKEN, 'buy'],
    ],
  )
  const [first] = found
  assert.ok(first)
  const { btma, stma, ba, sa, bwa, swa } = textOf(first)
  assert.deepEqual(
    { btma, stma, ba, sa, bwa, swa },
    { btma: TOKEN, stma: USDC, ba: '2.5', sa: '5', bwa: WALLET, swa: other },
  )
})

test('unknown fields of a trade are "", because stock clients require every key', () => {
  const trade = buildTradeEvent(1, { token_a_decimals: null })
  const events = [{ ...trade, trade_processed: null }]
  const [first] = tradePublications(trades({ events }), desk())
  assert.ok(first)
  const data = textOf(first)
  for (const key of ['sa', 'saiu', 'baiu', 'btn', 'bts', 'stn', 'sts']) {
    assert.equal(data[key], '', key)
  }
  const required = Object.entries(TRADE_KEYS).flatMap(([key, { long }]) =>
    ['op', 'commitment'].includes(long) ? [] : [key],
  )
  assert.deepEqual(Object.keys(data).toSorted(), required.toSorted())
  const asNumbers = textOf(first, 'number')
  assert.ok(!('sa' in asNumbers), 'there is no number that means unknown')
  assert.equal(asNumbers.btn, '')
  assert.equal(data.ba, '5')
  assert.ok(!Object.values(data).includes(null))
})

test('amounts beyond doubles stay exact as text; the number mode writes numbers', () => {
  const trade = buildTradeEvent(1, { user_a_amount: '123456789012345678901234567890' })
  const [first] = tradePublications(trades({ events: [trade] }), desk())
  assert.ok(first)
  assert.equal(textOf(first).sa, '123456789012.34567890123456789')
  const numbers = textOf(first, 'number')
  assert.equal(numbers.ba, 5)
  assert.equal(typeof numbers.sa, 'number')
  assert.equal(numbers.h, textOf(first).h)
})

test('a trade event without subscribers gives no publications', () => {
  const message = trades({ events: [buildTradeEvent(1)] })
  assert.deepEqual(tradePublications(message, desk({ isNeeded: () => false })), [])
})

test('candles: each dimension and unit has its channel, and a candle without a price is not published', () => {
  const pair = [TOKEN, USDC].sort().join('-')
  const message = candles({
    events: [
      buildCandleEvent(0, '2'),
      buildCandleEvent(0, '2', {
        dimension: 'CANDLESTICK_DIMENSION_POOL_ADDRESS',
        dimension_address: POOL,
      }),
      buildCandleEvent(0, '2', {
        dimension: 'CANDLESTICK_DIMENSION_PAIR',
        dimension_address: pair,
      }),
      buildCandleEvent(0, '', { open: '', high: '', low: '' }),
      buildCandleEvent(0, '2', { dimension: 'CANDLESTICK_DIMENSION_UNSPECIFIED' }),
    ],
  })
  const found = candlePublications(message, desk())
  assert.deepEqual(
    found.map((one) => [one.subject, one.payload.a, one.payload.c]),
    [
      [`dex-candle|eth|${TOKEN}|1m`, TOKEN, '2'],
      [`dex-candle-in-native|eth|${TOKEN}|1m`, TOKEN, '0.0007'],
      [`dex-pool-candle|eth|${POOL}|1m`, POOL, '2'],
      [`dex-pool-candle-in-native|eth|${POOL}|1m`, POOL, '0.0007'],
      [`dex-pair-candle|eth|${pair}|1m`, pair, '2'],
      [`dex-pair-candle-in-native|eth|${pair}|1m`, pair, '0.0007'],
      [`dex-candle-in-native|eth|${TOKEN}|1m`, TOKEN, '0.0007'],
    ],
  )
})

test('candles: an event publishes coarser buckets and equal series too; missing fields come from the finer bucket', () => {
  const pair = [TOKEN, USDC].sort().join('-')
  const message = candles({
    events: [
      buildCandleEvent(0, '2', {
        resolution: '1s',
        timestamp: '1760000041000',
        coarser: [
          { resolutions: ['15s'], trades: 12, buys: 5 },
          // A later version's: what it tells counts for the entry behind it.
          { resolutions: ['20s'], high: 4, trades: 13, buys: 5 },
          {
            resolutions: ['1m', '5m', '2y'],
            open: 1e-7,
            low: 1e-7,
            open_in_native: Number.NaN,
            volume: '60.25',
            trades: 14,
            buys: 6,
          },
          { resolutions: ['1d'], high: 9, trades: 20, buys: 7 },
        ],
        also: [{ dimension: 'CANDLESTICK_DIMENSION_PAIR', address: pair }],
      }),
    ],
  })
  const found = candlePublications(message, desk())
  const usd = (prefix: string, address: string) =>
    found
      .filter(({ row }) => row.prefix === prefix)
      .map(({ subject, payload: { a, o, h, l, c, v, n, t, r } }) => {
        assert.equal(subject, `${prefix}|eth|${address}|${r}`)
        assert.equal(a, address)
        return [r, t, o, h, l, c, v, n]
      })
  const told = [
    ['1s', 1760000041000, '1.5', '3', '1.25', '2', '55.5', 12],
    ['15s', 1760000040000, '1.5', '3', '1.25', '2', '55.5', 12],
    ['1m', 1760000040000, '0.0000001', '4', '0.0000001', '2', '60.25', 14],
    ['5m', 1759999800000, '0.0000001', '4', '0.0000001', '2', '60.25', 14],
    ['1d', 1759968000000, '0.0000001', '9', '0.0000001', '2', '60.25', 20],
  ]
  assert.deepEqual(usd('dex-candle', TOKEN), told)
  assert.deepEqual(usd('dex-pair-candle', pair), told)
  const natives = found.filter(({ row }) => row.prefix === 'dex-candle-in-native')
  assert.deepEqual(
    natives.map(({ payload }) => [payload.r, payload.o]),
    [
      ['1s', '0.0005'],
      ['15s', '0.0005'],
    ],
    'no price in the unit, no candle',
  )
  assert.deepEqual(candlePublications(message, desk({ hasCandleSubscribers: () => false })), [])
})

test('a candle that the topic repeats when its end is final is not sent again, behind newer ones', () => {
  const event = buildCandleEvent(0, '2')
  const final = candles({ events: [{ ...event, resolution: '1m', is_final: true }] })
  assert.deepEqual(candlePublications(final, desk()), [])
  const both = candles({ events: [event, { ...event, resolution: '1m', is_final: true }] })
  assert.deepEqual(
    candlePublications(both, desk()).map(({ index }) => index),
    candlePublications(candles({ events: [event] }), desk()).map(({ index }) => index),
  )
})

test('every key of a published payload is in the key table of its family', () => {
  const all = [
    ...tradePublications(
      trades({ meta: { ...META, op: 'OP_REVERT' }, events: [buildTradeEvent(1)] }),
      desk(),
    ),
    ...candlePublications(candles({ events: [buildCandleEvent(0, '2')] }), desk()),
  ]
  for (const { payload, row } of all) {
    for (const [key, value] of Object.entries(payload)) {
      const type = row.keys[key]?.type
      assert.ok(type, `${row.prefix}.${key}`)
      assert.equal(typeof value, type === 'n' || type === 'ms' ? 'number' : 'string', key)
    }
  }
})

test('channel prefixes and aliases are unique', () => {
  const names = CHANNELS.flatMap(({ prefix, aliases }) => [prefix, ...aliases])
  assert.equal(new Set(names).size, names.length)
})

const publication = (bucketMs: number, close: string): Publication => {
  const [one] = candlePublications(candles({ events: [buildCandleEvent(0, close)] }), desk())
  assert.ok(one)
  return { ...one, bucketMs }
}

test('coalescing: a first value is sent at once, then the newest per bucket, oldest bucket first', () => {
  const coalescer = new Coalescer()
  const closes = (found: readonly Publication[]) => found.map(({ payload }) => payload.c)
  assert.deepEqual(closes(coalescer.offer(publication(1, '1'), 0)), ['1'])
  assert.deepEqual(coalescer.offer(publication(1, '2'), 10), [])
  assert.deepEqual(coalescer.offer(publication(2, '4'), 20), [])
  assert.deepEqual(coalescer.offer(publication(1, '3'), 30), [])
  assert.deepEqual(coalescer.due(COALESCE_INTERVAL_MS - 1), [])
  assert.deepEqual(closes(coalescer.due(COALESCE_INTERVAL_MS)), ['3', '4'])
  assert.deepEqual(coalescer.due(COALESCE_INTERVAL_MS * 3), [])
  assert.deepEqual(closes(coalescer.offer(publication(2, '5'), COALESCE_INTERVAL_MS * 2)), ['5'])
})

test('coalescing and batching: a clock that is set back holds nothing back longer than usual', () => {
  const coalescer = new Coalescer()
  const setBackMs = 90_000
  const batches = new ArrayBatcher()
  coalescer.offer(publication(1, '1'), setBackMs)
  assert.deepEqual(coalescer.offer(publication(1, '2'), 0), [])
  assert.deepEqual(coalescer.due(COALESCE_INTERVAL_MS - 1), [])
  assert.equal(coalescer.due(COALESCE_INTERVAL_MS).length, 1)
  batches.offer(element('1'), setBackMs)
  assert.deepEqual(batches.due(0), [])
  assert.deepEqual(batches.due(BATCH_WINDOW_MS - 1), [])
  assert.equal(batches.due(BATCH_WINDOW_MS).length, 1)
})

const element = (value: string, retraction = false, subject = 'x'): BatchElement => ({
  row: channelRow('dex-new-tokens'),
  subject,
  payload: { a: value },
  retraction,
})

test('batching: elements within a second are sent together, in order, retractions apart', () => {
  const batches = new ArrayBatcher()
  const values = (found: readonly Batch[]) =>
    found.map(({ payloads }) => payloads.map(({ a }) => a).join())
  assert.deepEqual(batches.offer(element('1'), 0), [])
  assert.deepEqual(batches.offer(element('2'), 400), [])
  assert.deepEqual(batches.offer(element('2', true), 500), [])
  assert.deepEqual(batches.offer(element('3'), 600), [])
  assert.deepEqual(batches.offer(element('9', false, 'y'), 700), [])
  assert.deepEqual(batches.due(BATCH_WINDOW_MS - 1), [])
  const first = batches.due(BATCH_WINDOW_MS)
  assert.deepEqual(values(first), ['1,2', '2', '3'])
  assert.deepEqual(
    first.map(({ retraction }) => retraction),
    [false, true, false],
  )
  assert.deepEqual(values(batches.due(BATCH_WINDOW_MS + 700)), ['9'])
  assert.deepEqual(batches.due(BATCH_WINDOW_MS * 9), [])
  batches.offer(element('1'), 0)
  batches.remove('x')
  assert.deepEqual(batches.due(BATCH_WINDOW_MS * 9), [])
})

test('batching: a full array is sent at once', () => {
  const batches = new ArrayBatcher()
  const sent = Array.from({ length: MAX_BATCH_ELEMENTS }, (_, at) =>
    batches.offer(element(String(at)), 0),
  )
  assert.ok(sent.slice(0, -1).every((found) => found.length === 0))
  assert.equal(sent.at(-1)?.[0]?.payloads.length, MAX_BATCH_ELEMENTS)
  assert.deepEqual(batches.due(BATCH_WINDOW_MS), [])
})

test('batching: an array above 100 KiB is sent in parts, each an array, in order and whole [59]', () => {
  const row = channelRow('dex-new-tokens')
  const payloads = Array.from({ length: 90 }, (_, at) => ({ a: String(at), n: '長'.repeat(1_000) }))
  const render = createRenderer({ row, payloads, offset: 0 }, 'string')
  const { publications, payloadBytes } = render(PLAIN_VIEW)
  const parts = publications.map(({ data }) => JSON.stringify(JSON.parse(data)))
  assert.equal(parts.length, 3)
  assert.ok(parts.every((text) => Buffer.byteLength(text) <= MAX_PAYLOAD_BYTES))
  assert.equal(
    payloadBytes,
    parts.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
  )
  const elements = parts.flatMap((text) => JSON.parse(text) as { a: string }[])
  assert.deepEqual(
    elements.map(({ a }) => a),
    payloads.map(({ a }) => a),
  )
})

test('long field names are added beside the short ones, nested ones too', () => {
  const payload = { a: 'T', n: 'Frog', lf: { pf: 'pump_fun' } }
  const text = serializePayload(payload, NEW_TOKEN_KEYS, { numbers: 'string', longNames: true })
  const launch = { pf: 'pump_fun', protocolFamily: 'pump_fun' }
  assert.deepEqual(JSON.parse(text), {
    a: 'T',
    tokenAddress: 'T',
    n: 'Frog',
    name: 'Frog',
    lf: launch,
    launchFrom: launch,
  })
})

const KIB = 1_024
/** A connection over a queue whose length the test sets. */
const slowConnection = () => {
  const sent: string[] = []
  const ends: string[] = []
  const state = { queued: 0, nowMs: 0 }
  const socket = {
    send: (frame: Frame) => sent.push(String(frame)),
    ping: () => undefined,
    buffered: () => state.queued,
    join: () => undefined,
    leave: () => undefined,
    close: (code: number) => ends.push(String(code)),
    drop: () => ends.push('dropped'),
  }
  const session = createSession('c', {}, { encoding: 'json', framePings: false, nowMs: 0 })
  const slow: Connection[] = []
  const connection = new Connection(socket, session, {
    nowMs: () => state.nowMs,
    random: () => 0,
    onSlow: (one) => slow.push(one),
    admissionSlot: { accepted: () => undefined, closed: () => undefined },
    boundary: makeErrorBoundary({
      surface: 'streams',
      metrics: makeMetrics(),
      log: makeSilentLogger(),
      nowMs: () => state.nowMs,
    }),
  })
  return { connection, sent, ends, state, slow }
}
const push = (literal: string, text: string, latest: boolean, facet = '', bucketMs = 0): Push => ({
  literal,
  facet,
  bucketMs,
  frames: [text],
  latest,
  payloadBytes: text.length,
})

test('a long queue: latest values are conflated, events are not, and a conflated value is sent last', () => {
  const { connection, sent, state } = slowConnection()
  state.queued = 300 * KIB
  assert.equal(connection.checkQueue(), true)
  assert.equal(connection.congested, true)
  for (const text of ['c1', 'c2', 'c3']) connection.deliver(push('candles', text, true))
  connection.deliver(push('trades', 't1', false))
  connection.deliver(push('trades', 't2', false))
  assert.deepEqual(sent, ['t1', 't2'])
  state.queued = 100 * KIB
  assert.equal(connection.checkQueue(), false)
  connection.deliver(push('candles', 'c4', true))
  assert.deepEqual(sent, ['t1', 't2'], 'an older value is never sent after a newer one')
  state.queued = 10 * KIB
  assert.equal(connection.checkQueue(), true)
  assert.deepEqual(sent, ['t1', 't2', 'c4'])
  assert.equal(connection.congested, false)
  assert.equal(connection.takeBytes(), 6)
})

test('conflation: facets of a channel do not replace each other, and unsubscribing drops all of them', () => {
  const { connection, sent, state } = slowConnection()
  state.queued = 300 * KIB
  for (const text of ['l1', 'l2']) connection.deliver(push('numbers', text, true, 'liquidity'))
  connection.deliver(push('numbers', 'r1', true, 'ratio'))
  connection.deliver(push('left', 'x', true))
  connection.discard('left')
  state.queued = 0
  connection.checkQueue()
  connection.checkQueue()
  assert.deepEqual(sent, ['l2', 'r1'])
})

test('conflation: the final state of a candle waits beside the next candles, for the last eight, oldest first', () => {
  const { connection, sent, state } = slowConnection()
  state.queued = 300 * KIB
  const candle = (minute: number, close: string): void =>
    connection.deliver(push('candles', `${minute}:${close}`, true, '', minute * 60_000))
  for (const minute of [1, 2]) for (const close of ['open', 'final']) candle(minute, close)
  candle(3, 'open')
  connection.deliver(push('supply', 's', true))
  candle(2, 'corrected')
  state.queued = 0
  connection.checkQueue()
  connection.checkQueue()
  assert.deepEqual(sent.splice(0), ['s', '1:final', '2:corrected', '3:open'])
  state.queued = 300 * KIB
  for (const minute of Array(20).keys()) candle(minute, 'final')
  state.queued = 0
  connection.checkQueue()
  connection.checkQueue()
  assert.deepEqual(
    sent,
    Array.from({ length: 8 }, (_, index) => `${index + 12}:final`),
  )
})

test('a full queue: nothing more is sent; the connection is closed with 3008 if it drains in time, else dropped', () => {
  for (const drains of [true, false]) {
    const { connection, sent, ends, state, slow } = slowConnection()
    state.queued = 1_100 * KIB
    connection.deliver(push('trades', 't1', false))
    connection.deliver(push('trades', 't2', false))
    connection.send('reply')
    assert.deepEqual([sent, ends, slow.length], [[], [], 1])
    state.queued = drains ? 0 : 900 * KIB
    state.nowMs = 4_999
    connection.checkQueue()
    state.nowMs = 5_000
    connection.checkQueue()
    connection.checkQueue()
    assert.deepEqual(ends, [drains ? '3008' : 'dropped'])
  }
})
