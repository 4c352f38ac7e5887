/** What stock clients rely on beyond single frames; the numbers are those of `docs/streams.md`. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Centrifuge } from 'centrifuge'
import { WebSocket } from 'ws'
import { CHANNELS, type ChannelRow } from '../../schemas/channels.ts'
import type { RealtimeServer } from '../../serving/realtime/server.ts'
import { openRawWebSocket, type RawWebSocket } from '../support/raw-websocket.ts'
import {
  buildTradeEvent,
  POOL,
  type RealtimeStack,
  startRealtimeStack,
  TOKEN,
  USDC,
  WALLET,
} from '../support/realtime-stack.ts'
import { until } from '../support/until.ts'
import { TRANSPORTS } from '../support/websocket-transports.ts'

const CANDLES = `dex-candle:eth_${TOKEN}_1m`
const TRADES = `dex-trade:eth_${TOKEN}`

const PARAMETER_EXAMPLES: Readonly<Record<ChannelRow['parameters'][number], string>> = {
  token: TOKEN,
  pool: POOL,
  pair: `${TOKEN}-${USDC}`,
  wallet: WALLET,
  resolution: '1h',
  ranking: 'graduated_pump_fun',
  wholeRanking: 'trending',
  newRanking: 'new',
  eventSlug: 'who-wins',
  outcomeToken: '7'.repeat(78),
}
const exampleName = (prefix: string, { parameters }: ChannelRow): string => {
  const words = parameters.map((parameter) => PARAMETER_EXAMPLES[parameter])
  return prefix.startsWith('pred:')
    ? `${prefix}:${words.join()}:act`
    : `${prefix}:${['eth', ...words].join('_')}`
}

for (const transport of TRANSPORTS) {
  describe(`stock clients over ${transport}`, () => {
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

    const connect = (id = 1, more: object = {}): string =>
      JSON.stringify({ connect: { token: stack.key.apiKey, ...more }, id })
    const subscribe = (id: number, channel: string, more: object = {}): string =>
      JSON.stringify({ subscribe: { channel, ...more }, id })
    const open = (at = server, query = ''): Promise<RawWebSocket> =>
      openRawWebSocket(`ws://127.0.0.1:${at.port}/connection/websocket${query}`)
    const connected = async (at = server): Promise<RawWebSocket> => {
      const raw = await open(at)
      raw.send(connect())
      await raw.frame('"connect"')
      return raw
    }
    const publications = (raw: RawWebSocket) =>
      raw.frames.flatMap((text) => {
        const pub = JSON.parse(text).push?.pub
        return pub === undefined ? [] : [pub]
      })

    test('connect and three subscribes in one message: four replies, connect first, each with its result [13] [15]', async () => {
      const raw = await open()
      const names = [CANDLES, TRADES, 'dex-new-token:eth']
      raw.send([connect(), ...names.map((name, at) => subscribe(at + 2, name))].join('\n'))
      await raw.frame('"id":4')
      const replies = raw.frames.map((text) => JSON.parse(text))
      assert.deepEqual(
        replies.map(({ id }) => id),
        [1, 2, 3, 4],
      )
      assert.deepEqual(
        replies.map((reply) => Object.keys(reply)[1]),
        ['connect', 'subscribe', 'subscribe', 'subscribe'],
      )
    })

    test('unknown keys of commands are ignored [16]', async () => {
      const raw = await open()
      raw.send(connect(1, { flag: 1, profile: 'x', dict: 'y' }))
      raw.send(subscribe(2, CANDLES, { flag: 1, type: 2, phase: 'x', asc: true }))
      await raw.frame('{"id":2,"subscribe":{}}')
    })

    test('every channel family can be subscribed to by each of its names [30]', async () => {
      const names = CHANNELS.flatMap((row) =>
        [row.prefix, ...row.aliases].map((prefix) => exampleName(prefix, row)),
      )
      names.push('dex-ranking-list:eth_us_stocks', 'dex-ranking-list:eth_new_boop_fun')
      assert.ok(CHANNELS.length >= 29)
      const raw = await connected()
      for (const [at, name] of names.entries()) raw.send(subscribe(at + 2, name))
      const last = await raw.frame(`{"id":${names.length + 1},`)
      const refused = raw.frames.filter((text) => text.includes('"error"'))
      assert.deepEqual([refused, last.includes('"subscribe"')], [[], true])
    })

    test('subscribe, unsubscribe and subscribe before the first reply end subscribed [34]', async () => {
      const centrifuge = new Centrifuge(`ws://127.0.0.1:${server.port}/connection/websocket`, {
        websocket: WebSocket,
        token: stack.key.apiKey,
      })
      clients.push(centrifuge)
      const errors: unknown[] = []
      const subscription = centrifuge.newSubscription(TRADES)
      subscription.on('error', (context) => errors.push(context))
      centrifuge.connect()
      await centrifuge.ready(5_000)
      subscription.subscribe()
      subscription.unsubscribe()
      subscription.subscribe()
      await subscription.ready(5_000)
      assert.deepEqual([subscription.state, errors], ['subscribed', []])
    })

    test('an address in another case: publications carry the channel name of the subscription [35]', async () => {
      const names = [TOKEN, `0x${TOKEN.slice(2).toUpperCase()}`].map(
        (one) => `dex-trade:eth_${one}`,
      )
      assert.notEqual(names[0], names[1])
      const raws = await Promise.all(names.map(() => connected()))
      for (const [at, raw] of raws.entries()) {
        raw.send(subscribe(2, names[at] ?? ''))
        await raw.frame('{"id":2,')
      }
      await stack.commit([{ trade: buildTradeEvent(1) }])
      for (const [at, raw] of raws.entries()) {
        assert.equal(JSON.parse(await raw.frame('"push"')).push.channel, names[at])
      }
    })

    test('under load no publication arrives before the reply to its subscribe command [38]', async () => {
      let going = true
      const load = (async () => {
        for (let at = 0; going; at += 1) await stack.commit([{ trade: buildTradeEvent(at) }])
      })()
      for (let run = 0; run < 20; run += 1) {
        const raw = await connected()
        raw.send(subscribe(2, TRADES))
        await raw.frame('"push"')
        const [reply, push] = ['{"id":2,', '"push"'].map((part) =>
          raw.frames.findIndex((text) => text.includes(part)),
        )
        assert.ok(reply !== undefined && push !== undefined && reply < push)
        const { offset } = JSON.parse(raw.frames[reply] ?? '').subscribe
        const offsets = publications(raw).map((one) => one.offset)
        assert.ok(offsets.every((one, at) => one > (offsets[at - 1] ?? offset)))
        raw.ws.terminate()
      }
      going = false
      await load
    })

    test('another node recovers the same publications from the same position [52]; another epoch does not recover [54]', async () => {
      const second = await stack.serve({ transport })
      const first = await connected()
      first.send(subscribe(2, TRADES))
      const { epoch, offset } = JSON.parse(await first.frame('{"id":2,')).subscribe
      const trades = Array.from({ length: 20 }, (_, at) => buildTradeEvent(900 + at))
      for (const trade of trades) await stack.commit([{ trade }])
      await until(() => publications(first).length >= 20)
      const recovered = await Promise.all(
        [server, second].map(async (node) => {
          const raw = await connected(node)
          raw.send(subscribe(2, TRADES, { recover: true, epoch, offset }))
          return JSON.parse(await raw.frame('{"id":2,')).subscribe
        }),
      )
      assert.deepEqual(recovered[0], recovered[1])
      assert.deepEqual(recovered[0].publications, publications(first).slice(-20))
      assert.equal(recovered[0].recovered, true)
      const raw = await connected(second)
      raw.send(subscribe(2, TRADES, { recover: true, epoch: 'other', offset }))
      const reply = JSON.parse(await raw.frame('{"id":2,')).subscribe
      assert.deepEqual(
        [reply.was_recovering, reply.recovered, reply.publications],
        [true, false, undefined],
      )
      await second.stop()
    })
  })

  describe(`clock and slow readers over ${transport}`, () => {
    const start = async () => {
      const stack = await startRealtimeStack()
      const server = await stack.serve({ transport })
      const connected = async (query = ''): Promise<RawWebSocket> => {
        const raw = await openRawWebSocket(
          `ws://127.0.0.1:${server.port}/connection/websocket${query}`,
        )
        raw.send(JSON.stringify({ connect: { token: stack.key.apiKey }, id: 1 }))
        await raw.frame('"connect"')
        return raw
      }
      return { stack, connected }
    }

    test('{} pings are sent at their interval while publications flow [21], and extra {} from the client are ignored [23]', async () => {
      const { stack, connected } = await start()
      const raw = await connected()
      raw.send(JSON.stringify({ subscribe: { channel: TRADES }, id: 2 }))
      await raw.frame('{"id":2,')
      const pings = (): number => raw.frames.filter((text) => text === '{}').length
      for (let second = 0; second < 120; second += 1) {
        stack.advance(1_000)
        raw.send('{}')
        await stack.commit([{ trade: buildTradeEvent(second) }])
        if (second % 10 === 9) await until(() => pings() >= Math.floor(second / 30))
      }
      await until(() => pings() >= 4, 'a ping each 25 s')
      assert.ok(pings() <= 5, `${pings()} pings in 120 s`)
      await until(() => raw.frames.filter((text) => text.includes('"pub"')).length === 120)
      await stack.close()
    })

    test('a client that answers WebSocket pings alone stays connected; one that answers neither is closed with 3012 [25] [22]', async () => {
      const { stack, connected } = await start()
      const framed = await connected('?cf_ws_frame_ping_pong=true')
      const silent = await connected()
      silent.ws.pong = () => undefined
      for (let at = 0; at < 12; at += 1) {
        stack.advance(10_000)
        await new Promise((resolve) => setTimeout(resolve, 300))
      }
      assert.deepEqual(await silent.closed(), { code: 3012, reason: 'no pong' })
      framed.send('{"ping":{},"id":2}')
      await framed.frame('{"id":2,"ping":{}}')
      assert.ok(!framed.frames.includes('{}'))
      await stack.close()
    })

    test('a stalled reader of latest values stays connected, and gets the newest of each when it reads again [57]', async () => {
      const { stack, connected } = await start()
      const raw = await connected()
      const tokens = Array.from({ length: 20 }, (_, at) => `0x${at.toString(16).padStart(40, 'a')}`)
      for (const [at, token] of tokens.entries()) {
        const channel = `dex-token-stats:eth_${token}`
        raw.send(JSON.stringify({ subscribe: { channel }, id: at + 2 }))
      }
      await raw.frame('{"id":21,')
      raw.ws.pause()
      const rounds = 60
      const long = '9'.repeat(16_000)
      for (let round = 1; round <= rounds; round += 1) {
        await stack.publish(
          'tradeStats',
          'trade.stat.TradeStatEvents',
          tokens.map((token) => ({
            token_address: token,
            resolution: '1m',
            timestamp: '1760000000000',
            buys: round,
            buy_volume_in_usd: long,
          })),
        )
        // Longer than the pause between two publications of a channel, so that every round is published.
        stack.advance(250)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      const pushes = () =>
        raw.frames.flatMap((text) => {
          const push = JSON.parse(text).push
          return push === undefined
            ? []
            : [push as { channel: string; pub: { data: { b1m: number } } }]
        })
      raw.ws.resume()
      await until(
        () => {
          const newest = new Map(pushes().map(({ channel, pub }) => [channel, pub.data.b1m]))
          return (
            newest.size === tokens.length && [...newest.values()].every((round) => round === rounds)
          )
        },
        'the newest round of every token',
        20_000,
      )
      assert.equal(raw.ws.readyState, 1)
      assert.ok(pushes().length < rounds * tokens.length, 'nothing was conflated')
      for (const token of tokens) {
        const seen = pushes()
          .filter(({ channel }) => channel.endsWith(token))
          .map(({ pub }) => pub.data.b1m)
        assert.deepEqual(
          seen,
          seen.toSorted((one, other) => one - other),
          'an older value came later',
        )
      }
      await stack.close()
    })
  })
}
