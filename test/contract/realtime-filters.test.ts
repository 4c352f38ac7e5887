import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Centrifuge, type PublicationContext, type SubscribedContext } from 'centrifuge'
import { WebSocket } from 'ws'
import { topicName } from '../../schemas/topics.ts'
import type { RealtimeServer } from '../../serving/realtime/server.ts'
import { openRawWebSocket, type RawWebSocket } from '../support/raw-websocket.ts'
import {
  buildCandleEvent,
  buildTradeEvent,
  type RealtimeStack,
  startRealtimeStack,
  TOKEN,
  WALLET,
} from '../support/realtime-stack.ts'
import { until } from '../support/until.ts'
import { TRANSPORTS } from '../support/websocket-transports.ts'

const CANDLES = `dex-candle:eth_${TOKEN}_1m`
const TRADES = `dex-trade:eth_${TOKEN}`
const EPOCH_MS = 1_760_000_000_000

for (const transport of TRANSPORTS) {
  describe(`filters over ${transport}`, () => {
    let stack: RealtimeStack
    let server: RealtimeServer
    const clients: Centrifuge[] = []
    before(async () => {
      stack = await startRealtimeStack()
      server = await stack.serve({ transport, env: { WS_CONNECTIONS_PER_ACCOUNT: '100' } })
    })
    after(async () => {
      for (const client of clients) client.disconnect()
      await stack.close()
    })

    const url = (): string => `ws://127.0.0.1:${server.port}/connection/websocket`
    const connected = async (apiKey = stack.key.apiKey, name = ''): Promise<RawWebSocket> => {
      const raw = await openRawWebSocket(url())
      raw.send(JSON.stringify({ connect: { token: apiKey, name }, id: 1 }))
      await raw.frame('"connect"')
      return raw
    }
    /** Subscribes, and answers the reply. */
    const subscribe = async (raw: RawWebSocket, channel: string, more: object): Promise<string> => {
      const id = raw.frames.length + 1_000
      raw.send(JSON.stringify({ subscribe: { channel, delta: 'fossil', ...more }, id }))
      return raw.frame(`{"id":${id},`)
    }
    const pushed = (raw: RawWebSocket) =>
      raw.frames
        .filter((text) => text.includes('"pub"'))
        .map((text) => JSON.parse(text).push.pub.data)
    const stock = () => {
      const centrifuge = new Centrifuge(url(), { websocket: WebSocket, token: stack.key.apiKey })
      clients.push(centrifuge)
      centrifuge.connect()
      return centrifuge
    }
    const hear = async (centrifuge: Centrifuge, channel: string, options: object) => {
      const subscription = centrifuge.newSubscription(channel, options)
      const publications: PublicationContext[] = []
      const subscribed: SubscribedContext[] = []
      subscription.on('publication', (context) => publications.push(context))
      subscription.on('subscribed', (context) => subscribed.push(context))
      subscription.subscribe()
      await subscription.ready(5_000)
      return { publications, subscribed }
    }
    /** Candles of different minutes, so that none replaces another. */
    const commitVolumes = (from: number, volumes: readonly string[]) =>
      stack.commit(
        volumes.map((volume, at) => ({ candle: buildCandleEvent(from + at, '2', { volume }) })),
      )

    test('a filtered subscription receives and pays for matching publications only [44]', async () => {
      const { apiKey } = await stack.organizations.createKey({ name: 'filtered', plan: 'selfhost' })
      const principal = stack.organizations.guard.authenticate({ apiKey })
      assert.ok(principal !== undefined && !(principal instanceof Error))
      const raw = await connected(apiKey)
      assert.match(await subscribe(raw, CANDLES, { filter: 'meta.v > 10' }), /"subscribe":\{\}/)
      await commitVolumes(100, ['5', '10', '10.5', '3', '11'])
      await until(() => pushed(raw).length === 2)
      assert.deepEqual(
        pushed(raw).map(({ v }) => v),
        ['10.5', '11'],
      )
      raw.ws.close()
      const bytes = pushed(raw).reduce((sum, data) => sum + JSON.stringify(data).length, 0)
      await until(
        () => Math.round(stack.meter.quota(principal).used * 1_000) === bytes * 5,
        'the charge',
      )
    })

    test('every spelling of a field name, a tag filter and data.filter select the same publications [45] [49]', async () => {
      const spellings = [
        'volume > 10',
        'meta.volume > 10',
        'meta.meta.v > 10',
        'v > 10',
        'meta.v > 10',
      ]
      const raws = await Promise.all(spellings.map(() => connected()))
      for (const [at, filter] of spellings.entries())
        await subscribe(raws[at] as RawWebSocket, CANDLES, { filter })
      const centrifuge = stock()
      const inData = await hear(centrifuge, CANDLES, { data: { filter: 'meta.v > 10' } })
      const other = stock()
      const byTags = await hear(other, CANDLES, { tagsFilter: { key: 'v', cmp: 'gt', val: '10' } })
      await commitVolumes(200, ['9', '12', '10', '13'])
      await until(() =>
        [...raws.map(pushed), inData.publications, byTags.publications].every(
          (found) => found.length === 2,
        ),
      )
      for (const raw of raws)
        assert.deepEqual(
          pushed(raw).map(({ v }) => v),
          ['12', '13'],
        )
      for (const { publications } of [inData, byTags]) {
        assert.deepEqual(
          publications.map(({ data }) => data.v),
          ['12', '13'],
        )
      }
    })

    test('a filter compares numbers with liquidity that is text [46], and reads fields of nested objects [47]', async () => {
      const raw = await connected()
      await subscribe(raw, `dex-token-total-liquidity:eth_${TOKEN}`, {
        filter: 'liquidityInUsd > 10000',
      })
      await subscribe(raw, 'dex-new-token:eth', {
        filter: 'meta.lf.pf == "pump_fun" && !has(meta.sm)',
      })
      const pool = (usd: string) => ({
        pool: { address: '0xb1', token_a_address: TOKEN, token_b_address: WALLET },
        pool_processed: { token_a_liquidity: { token_address: TOKEN, liquidity_in_usd: usd } },
      })
      const token = (address: string, family: string) => ({
        token: { address, name: 'Frog', symbol: 'F', decimals: 6 },
        launch_from: { protocol_family: family },
      })
      await stack.publish('poolsProcessed', 'dex.pool.DexPoolEvents', [
        pool('9999.5'),
        pool('10000.5'),
      ])
      await stack.publish('tokensCreated', 'token.TokenEvents', [
        token('0x1', 'four_meme'),
        token('0x2', 'pump_fun'),
      ])
      await until(() => pushed(raw).length === 2)
      assert.deepEqual(
        pushed(raw)
          .map(({ liu, a }) => liu ?? a)
          .toSorted(),
        ['0x2', '10000.5'],
      )
    })

    test('an invalid filter is refused with 107; an absent field matches nothing and keeps the connection [48]', async () => {
      const raw = await connected()
      for (const filter of ['meta.ba >', 'nothing > 1', '1 + 1', 'x'.repeat(5_000), 7]) {
        assert.match(await subscribe(raw, TRADES, { filter }), /"code":107,"message":"bad request"/)
      }
      for (const count of [9, 45_000]) {
        const key = Array.from({ length: count }, () => 'a').join('.')
        assert.match(await subscribe(raw, TRADES, { tf: { key, cmp: 'ex' } }), /"code":107/)
      }
      await subscribe(raw, CANDLES, { filter: 'meta.zzz > 1 || meta.r + 1 > 2' })
      const plain = await connected()
      await subscribe(plain, CANDLES, {})
      await commitVolumes(300, ['1'])
      await until(() => pushed(plain).length === 1)
      raw.send('{"ping":{},"id":99}')
      await raw.frame('{"id":99,"ping":{}}')
      assert.deepEqual(pushed(raw), [])
    })

    test('a filter and delta in one request: delta is not granted [50]', async () => {
      const reply = await subscribe(await connected(), TRADES, { filter: 'meta.ba > 10' })
      assert.ok(!reply.includes('delta'), reply)
    })

    test('a filtered subscription recovers matching publications only [56]', async () => {
      const centrifuge = stock()
      const options = { data: { filter: 'meta.sa == 2.5 && meta.t > 0' } }
      const heard = await hear(centrifuge, TRADES, options)
      const trade = (index: number, matches: boolean) => ({
        trade: buildTradeEvent(index, matches ? {} : { user_a_amount: '1' }),
      })
      await stack.commit([trade(1, true), trade(2, false)])
      await until(() => heard.publications.length === 1)
      centrifuge.disconnect()
      await stack.commit([trade(3, true), trade(4, false), trade(5, true), trade(6, false)])
      centrifuge.connect()
      await until(() => heard.publications.length === 3)
      await stack.commit([trade(7, false), trade(8, true)])
      await until(() => heard.publications.length === 4)
      assert.deepEqual(
        heard.publications.map(({ data }) => (data.t - EPOCH_MS) / 12_000),
        [1, 3, 5, 8],
      )
      assert.equal(heard.subscribed.at(-1)?.recovered, true)
    })

    test('a batch keeps its matching elements; a batch without a matching element is not sent', async () => {
      const some = await connected()
      const none = await connected()
      await subscribe(some, 'dex-new-tokens:eth', { filter: 'decimals > 6' })
      await subscribe(none, 'dex-new-tokens:eth', { filter: 'decimals > 60' })
      await stack.publish('tokensCreated', 'token.TokenEvents', [
        { token: { address: '0x1', decimals: 6 } },
        { token: { address: '0x2', decimals: 9 } },
      ])
      await until(() => pushed(some).length === 1)
      assert.deepEqual(
        pushed(some)[0].map(({ a }: { a: string }) => a),
        ['0x2'],
      )
      assert.deepEqual(pushed(none), [])
    })

    test('clients that send no name get long field names too, others do not', async () => {
      const [nameless, named] = [await connected(), await connected(undefined, 'js')]
      const channel = `dex-token-supply:eth_${TOKEN}`
      for (const raw of [nameless, named]) await subscribe(raw, channel, {})
      await stack.publish('tokenMarketCaps', 'token.market_cap.TokenMarketCapEvents', [
        {
          market_cap: { token_address: TOKEN, total_supply_amount: '10', market_cap_in_usd: '2.5' },
        },
      ])
      await until(() => pushed(nameless).length === 1 && pushed(named).length === 1)
      const [short] = pushed(named)
      assert.deepEqual(
        Object.keys(short).toSorted(),
        ['a', 'mc', 'mciu', 's', 'ts'].filter((key) => key in short),
      )
      const { a, s, mc } = short
      const [both] = pushed(nameless)
      assert.deepEqual(
        [both.tokenAddress, both.supply, both.marketCapInUsd, both.a, both.mciu],
        [a, s, mc, a, mc],
      )
    })

    test('trades of pre-confirmed blocks are marked and retracted, and are sent only to subscriptions that request them', async () => {
      const early = await connected()
      const plain = await connected()
      await subscribe(early, TRADES, { data: { commitment: 'processed' } })
      await subscribe(plain, TRADES, {})
      await stack.publish(
        'tradesPending',
        'dex.trade.TradeEvents',
        [buildTradeEvent(31)],
        'OP_APPLY',
      )
      await stack.publish(
        'tradesPending',
        'dex.trade.TradeEvents',
        [buildTradeEvent(31)],
        'OP_REVERT',
      )
      await stack.commit([{ trade: buildTradeEvent(32) }])
      await until(() => pushed(early).length === 3 && pushed(plain).length === 1)
      assert.deepEqual(
        pushed(early).map(({ t, cm, op }) => [(t - EPOCH_MS) / 12_000, cm, op]),
        [
          [31, 'processed', undefined],
          [31, 'processed', 'revert'],
          [32, undefined, undefined],
        ],
      )
      const offsets = early.frames
        .filter((text) => text.includes('"pub"'))
        .map((text) => JSON.parse(text).push.pub.offset)
      assert.deepEqual(offsets.slice(0, 2), [undefined, undefined])
      assert.ok(offsets[2] > 0)
    })

    test('after an undecodable record, subscriptions with positions are closed with 2500 and start anew [37]', async () => {
      const centrifuge = stock()
      const heard = await hear(centrifuge, TRADES, {})
      const other = await hear(centrifuge, CANDLES, {})
      await stack.commit([{ trade: buildTradeEvent(41) }])
      await until(() => heard.publications.length === 1)
      await stack.publishBytes(
        topicName('tradesProcessed', 'eth'),
        TOKEN,
        Buffer.from('not a record'),
      )
      await until(() => heard.subscribed.length === 2)
      assert.deepEqual(
        [heard.subscribed[1]?.wasRecovering, heard.subscribed[1]?.recovered],
        [true, false],
        'there is a hole, and the client knows',
      )
      assert.equal(other.subscribed.length, 1, 'channels without positions continue')
      await stack.commit([{ trade: buildTradeEvent(42) }])
      await until(() => heard.publications.length === 2)
    })
  })
}
