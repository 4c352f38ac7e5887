/** Protobuf frames and Fossil deltas, as stock clients read them. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Centrifuge, type PublicationContext, type SubscribedContext } from 'centrifuge'
import { Centrifuge as ProtobufCentrifuge } from 'centrifuge/build/protobuf'
import { WebSocket } from 'ws'
import type { RealtimeServer } from '../../serving/realtime/server.ts'
import { tryStart } from '../support/optional-dependency.ts'
import { fetchCentrifugeClient, listenWithPython } from '../support/python-clients.ts'
import { openRawWebSocket } from '../support/raw-websocket.ts'
import {
  buildCandleEvent,
  buildTradeEvent,
  type RealtimeStack,
  startRealtimeStack,
  TOKEN,
} from '../support/realtime-stack.ts'
import { until } from '../support/until.ts'
import { TRANSPORTS } from '../support/websocket-transports.ts'

const TRADES = `dex-trade:eth_${TOKEN}`
const CANDLES = `dex-candle:eth_${TOKEN}_1m`
const STATS = `dex-token-general-stat-num:eth_${TOKEN}`
const TOKENS = 'dex-new-token:eth'

const python = await tryStart('centrifuge-python', async () => {
  await fetchCentrifugeClient()
  return listenWithPython
})

/** Data of a publication of either encoding. */
const jsonOf = (data: unknown): Record<string, unknown> =>
  JSON.parse(data instanceof Uint8Array ? Buffer.from(data).toString() : JSON.stringify(data))

for (const transport of TRANSPORTS) {
  describe(`encodings of streams over ${transport}`, () => {
    let stack: RealtimeStack
    let server: RealtimeServer
    const clients: Centrifuge[] = []
    before(async () => {
      stack = await startRealtimeStack()
      await stack.commit([{ token: { address: TOKEN, name: 'Ålpha 🚀 日本', symbol: 'ÅLP' } }])
      server = await stack.serve({
        transport,
        env: { WS_DELTA: 'auto', WS_CONNECTIONS_PER_ACCOUNT: '100' },
      })
    })
    after(async () => {
      for (const client of clients) client.disconnect()
      await stack.close()
    })
    const url = (at = server): string => `ws://127.0.0.1:${at.port}/connection/websocket`

    /** A stock client, with the sizes of what came in, and a way to cut its connection without a close frame. */
    const connect = async (Kind: typeof Centrifuge | typeof ProtobufCentrifuge, at = server) => {
      const sockets: WebSocket[] = []
      const sizes: number[] = []
      class Recorded extends WebSocket {
        constructor(...words: ConstructorParameters<typeof WebSocket>) {
          super(...words)
          sockets.push(this)
          this.on('message', (data: Buffer | ArrayBuffer, isBinary: boolean) => {
            assert.equal(isBinary, Kind === ProtobufCentrifuge)
            sizes.push(data.byteLength)
          })
        }
      }
      const centrifuge = new Kind(url(at), {
        websocket: Recorded,
        token: stack.key.apiKey,
        minReconnectDelay: 50,
        maxReconnectDelay: 200,
      }) as Centrifuge
      clients.push(centrifuge)
      const errors: unknown[] = []
      centrifuge.on('error', (context) => errors.push(context))
      centrifuge.connect()
      await centrifuge.ready(5_000)
      return { centrifuge, errors, sizes, sockets }
    }
    type Client = Awaited<ReturnType<typeof connect>>
    const hear = async ({ centrifuge }: Client, channel: string, options: object = {}) => {
      const subscription = centrifuge.newSubscription(channel, options)
      const publications: PublicationContext[] = []
      const subscribed: SubscribedContext[] = []
      subscription.on('publication', (context) => publications.push(context))
      subscription.on('subscribed', (context) => subscribed.push(context))
      subscription.subscribe()
      await subscription.ready(5_000)
      return { subscription, publications, subscribed }
    }
    const values = ({ publications }: Awaited<ReturnType<typeof hear>>) =>
      publications.map(({ data }) => jsonOf(data))

    test('a Protobuf client receives the same publications and offsets as a JSON client', async () => {
      const binary = await connect(ProtobufCentrifuge)
      const text = await connect(Centrifuge)
      assert.equal(binary.sockets[0]?.protocol, 'centrifuge-protobuf')
      const heard = await Promise.all(
        [binary, text].map(async (client) => ({
          trades: await hear(client, TRADES),
          candles: await hear(client, CANDLES),
        })),
      )
      const [ofBinary, ofText] = heard
      assert.ok(ofBinary && ofText)
      for (let index = 1; index <= 3; index += 1) {
        await stack.commit([
          { trade: buildTradeEvent(index) },
          { candle: buildCandleEvent(index, '2') },
        ])
      }
      await until(() => heard.every(({ trades }) => trades.publications.length === 3))
      await until(() => heard.every(({ candles }) => candles.publications.length >= 1))
      assert.deepEqual(values(ofBinary.trades), values(ofText.trades))
      assert.equal(values(ofBinary.trades)[0]?.stn, 'Ålpha 🚀 日本')
      assert.deepEqual(
        ofBinary.trades.publications.map(({ offset }) => offset),
        ofText.trades.publications.map(({ offset }) => offset),
      )
      assert.equal(ofBinary.trades.subscribed[0]?.recoverable, true)
      assert.deepEqual(jsonOf(ofBinary.candles.publications.at(-1)?.data).c, '2')
      const page = await binary.centrifuge.history(TRADES, { limit: 2 })
      assert.deepEqual(
        page.publications.map(({ offset }) => offset),
        ofText.trades.publications.slice(0, 2).map(({ offset }) => offset),
      )
      await assert.rejects(binary.centrifuge.rpc('x', new Uint8Array()), { code: 108 })
      await assert.rejects(binary.centrifuge.presence(TRADES), { code: 108 })
      await assert.rejects(binary.centrifuge.presenceStats(TRADES), { code: 108 })
      await assert.rejects(binary.centrifuge.publish(TRADES, new Uint8Array()), { code: 103 })
      assert.equal(binary.sockets.length, 1, 'the connection stays')
      await assert.rejects(hear(binary, 'nope:eth'), /./)
      assert.deepEqual(text.errors, [])
    })

    test('a Protobuf client that was cut recovers what it missed', async () => {
      const client = await connect(ProtobufCentrifuge)
      const trades = await hear(client, TRADES)
      await stack.commit([{ trade: buildTradeEvent(11) }])
      await until(() => trades.publications.length === 1)
      client.sockets.at(-1)?.terminate()
      for (let index = 12; index <= 15; index += 1) {
        await stack.commit([{ trade: buildTradeEvent(index) }])
      }
      await until(() => trades.publications.length === 5)
      assert.equal(trades.subscribed.at(-1)?.recovered, true)
      assert.deepEqual(
        values(trades).map(({ t }) => t),
        [11, 12, 13, 14, 15].map((index) => buildTradeEvent(index).block?.timestamp),
      )
    })

    test('a client of either encoding learns that there is a hole', async () => {
      for (const Kind of [ProtobufCentrifuge, Centrifuge]) {
        const since = { epoch: 'another', offset: 5 }
        const { subscribed } = await hear(await connect(Kind), TRADES, { since })
        const told = subscribed.map(({ wasRecovering, recovered }) => ({
          wasRecovering,
          recovered,
        }))
        assert.deepEqual(told, [{ wasRecovering: true, recovered: false }])
      }
    })

    test('filters of either kind work in Protobuf: as text, in the data, and as tags', async () => {
      const client = await connect(ProtobufCentrifuge)
      const other = await connect(ProtobufCentrifuge)
      const data = Buffer.from(JSON.stringify({ filter: 'meta.k == "buy"' }))
      const byData = await hear(client, TRADES, { data })
      const byTags = await hear(other, TRADES, {
        tagsFilter: { key: 'k', cmp: 'eq', val: 'sell' },
      })
      await stack.commit([{ trade: buildTradeEvent(21) }])
      await until(() => byTags.publications.length === 1)
      assert.equal(byData.publications.length, 0)
      const wrong = other.centrifuge.newSubscription(CANDLES, {
        tagsFilter: { key: 'k', cmp: 'nonsense' as 'eq', val: 'sell' },
      })
      const ended = new Promise<{ code: number }>((resolve) => {
        wrong.once('unsubscribed', resolve)
      })
      wrong.subscribe()
      assert.equal((await ended).code, 107)
    })

    for (const [encoding, Kind] of [
      ['JSON', Centrifuge],
      ['Protobuf', ProtobufCentrifuge],
    ] as const) {
      test(`deltas in ${encoding}: the same values in fewer bytes, whoever joins when [43]`, async () => {
        const plain = await connect(Kind)
        const saving = await connect(Kind)
        const late = await connect(Kind)
        const expected = await hear(plain, TRADES)
        const early = await hear(saving, TRADES, { delta: 'fossil' })
        const before = [plain.sizes.length, saving.sizes.length] as const
        for (let index = 31; index <= 40; index += 1) {
          await stack.commit([{ trade: buildTradeEvent(index) }])
        }
        await until(() => early.publications.length === 10 && expected.publications.length === 10)
        const joined = await hear(late, TRADES, { delta: 'fossil' })
        for (let index = 41; index <= 45; index += 1) {
          await stack.commit([{ trade: buildTradeEvent(index) }])
        }
        await until(() => early.publications.length === 15 && joined.publications.length === 5)
        await until(() => expected.publications.length === 15)
        assert.deepEqual(values(early), values(expected))
        assert.deepEqual(values(joined), values(expected).slice(10))
        const sum = (sizes: readonly number[]): number => sizes.reduce((a, b) => a + b, 0)
        assert.ok(sum(saving.sizes.slice(before[1])) < 0.5 * sum(plain.sizes.slice(before[0])))
        saving.sockets.at(-1)?.terminate()
        await stack.commit([{ trade: buildTradeEvent(46) }, { trade: buildTradeEvent(47) }])
        await until(() => early.publications.length === 17 && joined.publications.length === 7)
        await stack.commit([{ trade: buildTradeEvent(48) }])
        await until(() => early.publications.length === 18 && joined.publications.length === 8)
        await until(() => expected.publications.length === 18)
        assert.equal(early.subscribed.at(-1)?.recovered, true)
        assert.deepEqual(values(early), values(expected))
        assert.deepEqual(values(joined), values(expected).slice(10))
      })
    }

    test('delta is not granted with a filter, on lists, for clients without a name, or unless it is turned on [50]', async () => {
      const subscribe = async (
        channel: string,
        more: object,
        { name, at }: { readonly name?: string; readonly at?: RealtimeServer } = {},
      ) => {
        const raw = await openRawWebSocket(url(at))
        const token = stack.key.apiKey
        raw.send(JSON.stringify({ connect: { token, ...(name && { name }) }, id: 1 }))
        await raw.frame('"id":1')
        raw.send(JSON.stringify({ subscribe: { channel, delta: 'fossil', ...more }, id: 2 }))
        const reply = JSON.parse(await raw.frame('"id":2'))
        raw.ws.close()
        return reply.subscribe.delta
      }
      const js = { name: 'js' }
      assert.equal(await subscribe(TRADES, {}, js), true)
      assert.equal(await subscribe(STATS, {}, js), true)
      assert.equal(await subscribe(TRADES, { filter: 'meta.k == "buy"' }, js), undefined)
      assert.equal(await subscribe('dex-new-tokens:eth', {}, js), undefined)
      assert.equal(await subscribe(TOKENS, {}, js), true)
      assert.equal(await subscribe(TRADES, {}), undefined)
      const plain = await stack.serve({ transport })
      assert.equal(await subscribe(TRADES, {}, { ...js, at: plain }), undefined)
    })

    test('charges do not depend on encoding or deltas [61]', async () => {
      const bytesOf = async (client: Client, options: object): Promise<number> => {
        const read = async (): Promise<number> =>
          (await stack.metrics.socketBytes.get()).values[0]?.value ?? 0
        const trades = await hear(client, TRADES, options)
        const before = await read()
        await stack.commit([{ trade: buildTradeEvent(61) }])
        await until(() => trades.publications.length === 1)
        await stack.commit([{ trade: buildTradeEvent(62) }])
        await until(() => trades.publications.length === 2)
        client.centrifuge.disconnect()
        await until(async () => (await read()) > before)
        return (await read()) - before
      }
      const plain = await bytesOf(await connect(Centrifuge), {})
      assert.equal(await bytesOf(await connect(ProtobufCentrifuge), {}), plain)
      assert.equal(await bytesOf(await connect(Centrifuge), { delta: 'fossil' }), plain)
    })

    test('bytes that are not commands close with 3501', async () => {
      const hostile = [
        [],
        [0x05, 0x08],
        [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        [0x02, 0x08, 0x01],
        [0x04, 0x08, 0x01, 0x22, 0x7f],
      ]
      for (const bytes of hostile) {
        const raw = await openRawWebSocket(`${url()}?format=protobuf`)
        raw.send(Buffer.from(bytes))
        assert.deepEqual(await raw.closed(), { code: 3501, reason: 'bad request' })
      }
    })

    if (python) {
      for (const encoding of ['json', 'protobuf'] as const) {
        test(`the Python client of Centrifuge, ${encoding}, with deltas and without`, async () => {
          const plain = await connect(Centrifuge)
          const expected = await hear(plain, TRADES)
          for (const delta of ['none', 'fossil'] as const) {
            const before = expected.publications.length
            const {
              connect: data,
              heard,
              errors,
            } = await python(
              {
                url: url(),
                token: stack.key.apiKey,
                encoding,
                delta,
                wanted: 3,
                channels: [TRADES],
              },
              async () => {
                for (let index = 71; index <= 73; index += 1) {
                  await stack.commit([{ trade: buildTradeEvent(index) }])
                }
              },
            )
            await until(() => expected.publications.length === before + 3)
            assert.deepEqual(errors ?? [], [])
            assert.deepEqual(heard[TRADES], values(expected).slice(before))
            assert.equal((data as { chains: { eth: { head: number } } }).chains.eth.head, 120)
          }
        })
      }
    }
  })
}
