import assert from 'node:assert/strict'
import { createConnection, createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import {
  Centrifuge,
  type ConnectedContext,
  type PublicationContext,
  type SubscribedContext,
  type Subscription,
} from 'centrifuge'
import { WebSocket } from 'ws'
import type { RealtimeServer } from '../../serving/realtime/server.ts'
import {
  buildCandleEvent,
  buildTradeEvent,
  type RealtimeStack,
  startRealtimeStack,
  TOKEN,
  USDC,
  WALLET,
} from '../support/realtime-stack.ts'
import { until } from '../support/until.ts'
import { TRANSPORTS } from '../support/websocket-transports.ts'

const TRADES = `dex-trade:eth_${TOKEN}`
const CANDLES = `dex-candle:eth_${TOKEN}_1m`
const EPOCH_MS = 1_760_000_000_000

/** A stock client with everything that it was told. */
interface Client {
  readonly centrifuge: Centrifuge
  readonly errors: unknown[]
  readonly states: string[]
  /** Cuts the connection as a network does: no close frame. */
  cut(): void
}

interface Heard {
  readonly subscription: Subscription
  readonly publications: PublicationContext[]
  readonly subscribed: SubscribedContext[]
}

for (const transport of TRANSPORTS) {
  describe(`stock centrifuge client over ${transport}`, () => {
    let stack: RealtimeStack
    let server: RealtimeServer
    const clients: Centrifuge[] = []

    /** Clients dial one address; which server answers there may change, as behind a balancer. */
    const front = createServer((inbound) => {
      const outbound = createConnection(server.port, '127.0.0.1')
      inbound.on('error', () => outbound.destroy()).pipe(outbound)
      outbound.on('error', () => inbound.destroy()).pipe(inbound)
      inbound.on('close', () => outbound.destroy())
    })
    const address = (): string => {
      const bound = front.address()
      const port = typeof bound === 'object' && bound !== null ? bound.port : 0
      return `ws://127.0.0.1:${port}/connection/websocket`
    }

    before(async () => {
      await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
      stack = await startRealtimeStack()
      await stack.commit([{ token: { address: TOKEN, name: 'Alpha 🚀', symbol: 'ALP' } }])
      server = await stack.serve({ transport })
    })
    after(async () => {
      for (const client of clients) client.disconnect()
      await stack.close()
      front.close()
    })

    const connect = async (query = '', more: object = {}): Promise<Client> => {
      const sockets: WebSocket[] = []
      const errors: unknown[] = []
      const states: string[] = []
      class Recorded extends WebSocket {
        constructor(url: string | URL) {
          super(url)
          sockets.push(this)
        }
      }
      const centrifuge = new Centrifuge(`${address()}${query}`, {
        websocket: Recorded,
        token: stack.key.apiKey,
        minReconnectDelay: 50,
        maxReconnectDelay: 200,
        ...more,
      })
      clients.push(centrifuge)
      centrifuge.on('error', (context) => errors.push(context))
      centrifuge.on('state', ({ newState }) => states.push(newState))
      centrifuge.connect()
      await centrifuge.ready(5_000)
      return { centrifuge, errors, states, cut: () => sockets.at(-1)?.terminate() }
    }

    const hear = async (client: Client, channel: string, options: object = {}): Promise<Heard> => {
      const subscription = client.centrifuge.newSubscription(channel, options)
      const publications: PublicationContext[] = []
      const subscribed: SubscribedContext[] = []
      subscription.on('publication', (context) => publications.push(context))
      subscription.on('subscribed', (context) => subscribed.push(context))
      subscription.subscribe()
      await subscription.ready(5_000)
      return { subscription, publications, subscribed }
    }

    /** Timestamps tell the trades apart. */
    const indexes = ({ publications }: Heard): number[] =>
      publications.map(({ data }) => (data.t - EPOCH_MS) / 12_000)
    const commitTrades = async (from: number, to: number): Promise<void> => {
      for (let index = from; index <= to; index += 1)
        await stack.commit([{ trade: buildTradeEvent(index) }])
    }

    test('the connect reply has the client id, and head and first block of each chain [1]', async () => {
      const { centrifuge } = await connect()
      const context = await new Promise<ConnectedContext>((resolve) => {
        centrifuge.disconnect()
        centrifuge.once('connected', resolve)
        centrifuge.connect()
      })
      assert.match(context.client, /^[0-9a-f]{8}-[0-9a-f]{4}-4/)
      assert.deepEqual(context.data, {
        chains: {
          eth: { head: 120, head_time: EPOCH_MS + 120_000, since: 1, since_time: EPOCH_MS },
        },
      })
    })

    test('a token in the URL alone is enough [2]', async () => {
      const client = await connect(`?token=${encodeURIComponent(stack.key.apiKey)}`, { token: '' })
      assert.equal(client.centrifuge.state, 'connected')
    })

    test('candles and trades arrive complete, and stop after unsubscribe [36] [43]', async () => {
      const client = await connect()
      const candles = await hear(client, CANDLES)
      const trades = await hear(
        client,
        `dex-trade:ethereum_${TOKEN.toUpperCase().replace('X', 'x')}`,
      )
      const wallet = await hear(client, `dex-wallet-trade:eth_${WALLET}`)
      await stack.commit([{ trade: buildTradeEvent(1) }, { candle: buildCandleEvent(0, '2') }])
      await until(() => candles.publications.length === 1 && wallet.publications.length === 1)
      assert.deepEqual(candles.publications[0]?.data, {
        a: TOKEN,
        o: '1.5',
        c: '2',
        h: '3',
        l: '1.25',
        v: '55.5',
        r: '1m',
        t: EPOCH_MS + 40_000,
        n: 12,
      })
      const expected = {
        a: TOKEN,
        t: EPOCH_MS + 12_000,
        k: 'sell',
        ba: '5',
        sa: '2.5',
        baiu: '5',
        saiu: '5',
        btma: USDC,
        stma: TOKEN,
        btn: '',
        bts: '',
        stn: 'Alpha 🚀',
        sts: 'ALP',
        bwa: WALLET,
        swa: WALLET,
        h: `0x${'1'.padStart(64, '0')}`,
      }
      assert.deepEqual(trades.publications[0]?.data, expected)
      assert.deepEqual(wallet.publications[0]?.data, expected)

      trades.subscription.unsubscribe()
      await client.centrifuge.history(TRADES, { limit: 0 })
      await stack.commit([{ trade: buildTradeEvent(2) }])
      await until(() => wallet.publications.length === 2)
      assert.equal(trades.publications.length, 1)
    })

    test('fifty subscriptions in one batch [14]', async () => {
      const client = await connect()
      client.centrifuge.startBatching()
      const resolutions = ['1s', '15s', '30s', '1m', '3m', '5m', '15m', '30m', '1h', '2h']
      const prefixes = [
        'dex-candle',
        'dex-candle-in-native',
        'dex-token-candles',
        'dex-pool-candle',
      ]
      const names = [...prefixes, 'dex-pool-candle-in-native'].flatMap((prefix) =>
        resolutions.map((resolution) => `${prefix}:eth_${TOKEN}_${resolution}`),
      )
      const all = names.map((name) => hear(client, name))
      client.centrifuge.stopBatching()
      assert.equal((await Promise.all(all)).length, 50)
    })

    test('an unknown channel, an invalid name and an unknown method are refused for good, and the connection stays [18] [19] [31]', async () => {
      const client = await connect()
      const refused = async (channel: string): Promise<number> => {
        const subscription = client.centrifuge.newSubscription(channel)
        return await new Promise((resolve) => {
          subscription.once('unsubscribed', ({ code }) => resolve(code))
          subscription.subscribe()
        })
      }
      assert.equal(await refused(`nope:eth_${TOKEN}`), 102)
      assert.equal(await refused(`dex-candle:eth_${TOKEN}_7m`), 107)
      assert.equal(await refused(`dex-candle:doge_${TOKEN}_1m`), 107)
      assert.equal(await refused(`dex-trade:sol_${TOKEN}`), 107)
      assert.equal(await refused('dex-trade:eth_'), 107)
      assert.equal(await refused(`dex-trade:eth_${TOKEN}${'f'.repeat(300)}`), 107)
      const code = (call: Promise<unknown>) =>
        call.then(
          () => 0,
          (error: { code: number }) => error.code,
        )
      assert.equal(await code(client.centrifuge.rpc('anything', {})), 108)
      assert.equal(await code(client.centrifuge.presence(TRADES)), 108)
      assert.equal(await code(client.centrifuge.presenceStats(TRADES)), 108)
      assert.equal(await code(client.centrifuge.publish(TRADES, {})), 103)
      assert.equal(await code(client.centrifuge.history(CANDLES, { limit: 1 })), 108)
      await client.centrifuge.send({ any: 'thing' })
      assert.equal(await code(client.centrifuge.history(TRADES, { limit: 0 })), 0)
      assert.deepEqual(
        client.states,
        ['connecting', 'connected'].slice(client.states.length === 1 ? 1 : 0),
      )
    })

    test('recovery after reconnect [51]', async () => {
      const client = await connect()
      const heard = await hear(client, TRADES)
      await commitTrades(101, 102)
      await until(() => heard.publications.length === 2)
      client.centrifuge.disconnect()
      await commitTrades(103, 122)
      client.centrifuge.connect()
      await until(() => heard.publications.length >= 22)
      await commitTrades(123, 124)
      await until(() => heard.publications.length >= 24)
      assert.deepEqual(
        indexes(heard),
        Array.from({ length: 24 }, (_, at) => 101 + at),
      )
      const again = heard.subscribed.at(-1)
      assert.equal(again?.wasRecovering, true)
      assert.equal(again?.recovered, true)
      const offsets = heard.publications.map(({ offset = 0 }) => offset)
      assert.ok(offsets.every((offset, at) => offset > (offsets[at - 1] ?? 0)))
      assert.deepEqual(client.errors, [])
    })

    test('a centrifuge client whose connection is cut reconnects and misses nothing', async () => {
      const client = await connect()
      const heard = await hear(client, TRADES)
      client.cut()
      await until(() => client.states.includes('connecting'))
      await commitTrades(201, 205)
      await until(() => heard.publications.length >= 5)
      assert.deepEqual(indexes(heard), [201, 202, 203, 204, 205])
      assert.equal(heard.subscribed.at(-1)?.recovered, true)
    })

    test('a channel without publications recovers with nothing missed [55]', async () => {
      const client = await connect()
      const other = '0x00000000000000000000000000000000000000ee'
      const heard = await hear(client, `dex-trade:eth_${other}`)
      client.cut()
      await until(() => heard.subscribed.length === 2)
      assert.equal(heard.subscribed.at(-1)?.recovered, true)
      assert.deepEqual(heard.publications, [])
    })

    test('a client that missed more publications than are kept does not recover, and its stream continues [53]', async () => {
      const client = await connect()
      const heard = await hear(client, TRADES)
      client.centrifuge.disconnect()
      const rows = Array.from({ length: 301 }, (_, at) => ({ trade: buildTradeEvent(1_000 + at) }))
      await stack.commit(rows)
      client.centrifuge.connect()
      await until(() => heard.subscribed.length === 2)
      assert.equal(heard.subscribed.at(-1)?.wasRecovering, true)
      assert.equal(heard.subscribed.at(-1)?.recovered, false)
      await commitTrades(2_000, 2_000)
      await until(() => indexes(heard).includes(2_000))
      assert.deepEqual(indexes(heard), [2_000])
    })

    test('the channel of a quote asset has no positions and no recovery', async () => {
      const client = await connect()
      const heard = await hear(client, `dex-trade:eth_${USDC}`)
      assert.equal(heard.subscribed[0]?.recoverable, false)
      await commitTrades(301, 301)
      await until(() => heard.publications.length === 1)
      const [publication] = heard.publications
      assert.equal(publication?.data.a, USDC)
      assert.equal(publication?.data.k, 'buy')
      assert.equal(publication?.offset, undefined)
    })

    test('a reorg: retractions are sent only to subscriptions that request them', async () => {
      const plain = await hear(await connect(), TRADES)
      const asked = await hear(await connect(), TRADES, { data: { retractions: true } })
      await stack.commit([{ trade: buildTradeEvent(401) }])
      await stack.commit([{ trade: buildTradeEvent(401), op: 'OP_REVERT' }])
      await stack.commit([{ trade: buildTradeEvent(402) }])
      await until(() => asked.publications.length === 3 && plain.publications.length === 2)
      assert.deepEqual(indexes(plain), [401, 402])
      assert.deepEqual(indexes(asked), [401, 401, 402])
      assert.deepEqual(
        asked.publications.map(({ data }) => data.op),
        [undefined, 'revert', undefined],
      )
    })

    test('an emptied candle is reported once with 0 trades', async () => {
      const heard = await hear(await connect(), CANDLES)
      await stack.commit([{ candle: buildCandleEvent(5, '2') }])
      await stack.commit([
        {
          candle: buildCandleEvent(5, '', { open: '', high: '', low: '', volume: '0', trades: 0 }),
        },
      ])
      await until(() => heard.publications.length === 2)
      assert.deepEqual(heard.publications[1]?.data, {
        a: TOKEN,
        v: '0',
        r: '1m',
        t: EPOCH_MS + 40_000 + 300_000,
        n: 0,
      })
    })

    test('a burst of candle states is thinned, and each bucket ends in its last state', async () => {
      const heard = await hear(await connect(), CANDLES)
      for (let state = 1; state <= 30; state += 1) {
        await stack.commit([{ candle: buildCandleEvent(state <= 15 ? 10 : 11, String(state)) }])
      }
      await until(() => heard.publications.at(-1)?.data.c === '30')
      const lastOf = (minute: number) =>
        heard.publications.findLast(({ data }) => data.t === EPOCH_MS + 40_000 + minute * 60_000)
      assert.equal(lastOf(10)?.data.c, '15')
      assert.equal(lastOf(11)?.data.c, '30')
      assert.ok(heard.publications.length < 30, `${heard.publications.length} publications`)
    })

    test('history: top, newest first, and everything since a position', async () => {
      const client = await connect()
      await hear(client, TRADES)
      await commitTrades(501, 503)
      const newest = await until(async () => {
        const found = await client.centrifuge.history(TRADES, { limit: 3, reverse: true })
        return found.publications[0]?.data.t === EPOCH_MS + 503 * 12_000 ? found : undefined
      })
      assert.equal(newest.publications.length, 3)
      const [, , oldest] = newest.publications
      const since = { offset: oldest?.offset ?? 0, epoch: newest.epoch }
      const forward = await client.centrifuge.history(TRADES, { limit: -1, since })
      assert.deepEqual(
        forward.publications.map(({ data }) => (data.t - EPOCH_MS) / 12_000),
        [502, 503],
      )
      const none = await client.centrifuge.history(TRADES, { limit: 0 })
      assert.deepEqual([none.publications, none.epoch], [[], newest.epoch])
      await assert.rejects(
        client.centrifuge.history(TRADES, { limit: 1, since: { offset: 5, epoch: 'other' } }),
        { code: 112 },
      )
    })

    test('a centrifuge client with a wrong key is closed for good with 3500 [7]', async () => {
      const client = new Centrifuge(address(), {
        websocket: WebSocket,
        token: 'wrong',
      })
      clients.push(client)
      const ended = new Promise<{ code: number; reason: string }>((resolve) =>
        client.once('disconnected', resolve),
      )
      client.connect()
      assert.deepEqual(await ended, { code: 3500, reason: 'invalid token' })
    })

    test('a revoked key is closed with 3500 within 2 s', async () => {
      const key = await stack.organizations.createKey({ name: 'short-lived', plan: 'selfhost' })
      const client = await connect('', { token: key.apiKey })
      const ended = new Promise<{ code: number }>((resolve) =>
        client.centrifuge.once('disconnected', resolve),
      )
      const startMs = Date.now()
      await stack.organizations.revokeKey(key.keyId)
      assert.equal((await ended).code, 3500)
      assert.ok(Date.now() - startMs < 2_000)
    })

    test('recovery after a restart: code 3001, then the next server continues from the last position [60]', async () => {
      const client = await connect()
      const heard = await hear(client, TRADES)
      await commitTrades(601, 601)
      await until(() => heard.publications.length === 1)
      const connecting = new Promise<{ code: number; reason: string }>((resolve) =>
        client.centrifuge.once('connecting', resolve),
      )
      await server.stop()
      assert.deepEqual(await connecting, { code: 3001, reason: 'shutdown' })
      await commitTrades(602, 604)
      server = await stack.serve({ transport })
      await until(() => heard.publications.length >= 4)
      await commitTrades(605, 605)
      await until(() => heard.publications.length >= 5)
      assert.deepEqual(indexes(heard), [601, 602, 603, 604, 605])
      assert.equal(heard.subscribed.at(-1)?.recovered, true)
    })
  })
}

test('a subscription from before the first block keeps its position', async () => {
  const stack = await startRealtimeStack()
  const server = await stack.serve()
  const client = new Centrifuge(`ws://127.0.0.1:${server.port}/connection/websocket`, {
    websocket: WebSocket,
    token: stack.key.apiKey,
  })
  const subscription = client.newSubscription(TRADES)
  const subscribed: SubscribedContext[] = []
  const times: number[] = []
  subscription.on('subscribed', (context) => subscribed.push(context))
  subscription.on('publication', ({ data }) => times.push((data.t - EPOCH_MS) / 12_000))
  subscription.subscribe()
  client.connect()
  await subscription.ready(5_000)
  await stack.commit([{ trade: buildTradeEvent(1) }])
  await until(() => times.length === 1)
  client.disconnect()
  await stack.commit([{ trade: buildTradeEvent(2) }])
  client.connect()
  await until(() => times.length === 2)
  assert.deepEqual(times, [1, 2])
  assert.equal(subscribed.at(-1)?.recovered, true)
  assert.notEqual(subscribed.at(-1)?.streamPosition?.epoch, subscribed[0]?.streamPosition?.epoch)
  client.disconnect()
  await stack.close()
})
