import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ANONYMOUS_REQUESTS_PER_SECOND } from '../../schemas/plans.ts'
import type { RealtimeServer } from '../../serving/realtime/server.ts'
import {
  openRawWebSocket,
  type RawWebSocket,
  readRefusedUpgrade,
} from '../support/raw-websocket.ts'
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

const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`

for (const transport of TRANSPORTS) {
  describe(`raw frames over ${transport}`, () => {
    let stack: RealtimeStack
    let server: RealtimeServer

    before(async () => {
      stack = await startRealtimeStack()
      server = await stack.serve({ transport })
    })
    after(() => stack.close())

    const url = (query = ''): string => `ws://127.0.0.1:${server.port}/connection/websocket${query}`
    const connect = (id = 1, more: object = {}): string =>
      JSON.stringify({ connect: { token: stack.key.apiKey, ...more }, id })
    const subscribe = (id: number, channel: string, more: object = {}): string =>
      JSON.stringify({ subscribe: { channel, delta: 'fossil', ...more }, id })
    const connected = async (query = '', more: object = {}): Promise<RawWebSocket> => {
      const raw = await openRawWebSocket(url(query))
      raw.send(connect(1, more))
      await raw.frame('"connect"')
      return raw
    }
    /** Subscriptions are in order, so an answered ping means that everything before it was handled. */
    const settled = async (raw: RawWebSocket, id: number): Promise<void> => {
      raw.send(`{"ping":{},"id":${id}}`)
      await raw.frame(`{"id":${id},"ping":{}}`)
    }

    test('transcript: connect and subscribe in one message, a publication, unsubscribe [17]', async () => {
      const raw = await openRawWebSocket(url(`?token=${stack.key.apiKey}`))
      raw.send(`${connect(1, { name: 'rust-like' })}\n${subscribe(2, CANDLES)}\n`)
      await raw.frame('"id":2')
      assert.match(
        raw.frames[0] ?? '',
        /^\{"id":1,"connect":\{"client":"[0-9a-f-]{36}","version":"1\.0\.0","data":\{"chains":\{"eth":.*"ping":25,"pong":true\}\}$/,
      )
      assert.equal(raw.frames[1], '{"id":2,"subscribe":{}}')
      await stack.commit([{ candle: buildCandleEvent(1, '1.75') }])
      assert.equal(
        await raw.frame('"push"'),
        `{"push":{"channel":"${CANDLES}","pub":{"data":{"a":"${TOKEN}","o":"1.5","c":"1.75","h":"3","l":"1.25","v":"55.5","r":"1m","t":1760000100000,"n":12}}}}`,
      )
      raw.send(
        `{"unsubscribe":{"channel":"${CANDLES}"},"id":3}\n{"unsubscribe":{"channel":"x"},"id":4}`,
      )
      await raw.frame('"id":4')
      assert.deepEqual(raw.frames.slice(-2), [
        '{"id":3,"unsubscribe":{}}',
        '{"id":4,"unsubscribe":{}}',
      ])
    })

    test('replies share a frame only for clients that split frames [20]', async () => {
      const raw = await openRawWebSocket(url())
      raw.send(`${connect(1, { name: 'js' })}\n${subscribe(2, CANDLES)}`)
      const first = await raw.frame('"id":2')
      assert.equal(first.split('\n').length, 2)
    })

    test('transcript: every refusal has its code [24]', async () => {
      const raw = await connected()
      const answers: readonly (readonly [string, string])[] = [
        [
          subscribe(4, `nope:eth_${TOKEN}`),
          '{"id":4,"error":{"code":102,"message":"unknown channel"}}',
        ],
        [
          subscribe(5, `dex-candle:eth_${TOKEN}_7m`),
          '{"id":5,"error":{"code":107,"message":"bad request"}}',
        ],
        [
          subscribe(6, TRADES, { filter: 'meta.ba >' }),
          '{"id":6,"error":{"code":107,"message":"bad request"}}',
        ],
        [
          '{"subscribe":{"channel":7},"id":7}',
          '{"id":7,"error":{"code":107,"message":"bad request"}}',
        ],
        [
          '{"publish":{"channel":"x","data":{}},"id":8}',
          '{"id":8,"error":{"code":103,"message":"permission denied"}}',
        ],
        [
          '{"rpc":{"method":"x"},"id":9}',
          '{"id":9,"error":{"code":108,"message":"not available"}}',
        ],
        [
          '{"sub_refresh":{"channel":"x"},"id":10}',
          '{"id":10,"error":{"code":108,"message":"not available"}}',
        ],
        ['{"ping":{},"id":11,"flag":1,"profile":"x"}', '{"id":11,"ping":{}}'],
        ['{"method":"ping"}', '{"channel":"pong"}'],
      ]
      for (const [sent, expected] of answers) {
        const from = raw.frames.length
        raw.send(sent)
        await until(() => raw.frames.length > from)
        assert.equal(raw.frames.at(-1), expected)
      }
      raw.send('{"send":{"data":1}}\n{}\n{"ping":{}}\n{"send":{"data":1},"id":12}')
      const before = raw.frames.length
      await settled(raw, 13)
      assert.equal(raw.frames.length, before + 1)
    })

    test('a second subscribe to one channel is refused with 105; unsubscribe and subscribe in one message succeed [33]', async () => {
      const raw = await connected()
      raw.send(`${subscribe(2, TRADES)}\n${subscribe(3, TRADES)}`)
      assert.match(await raw.frame('"id":3'), /"code":105/)
      raw.send(`{"unsubscribe":{"channel":"${TRADES}"},"id":4}\n${subscribe(5, TRADES)}`)
      assert.match(await raw.frame('"id":5'), /"recoverable":true/)
    })

    test('the 101st subscription is refused with 106, and succeeds after another one is unsubscribed [32]', async () => {
      const raw = await connected()
      const name = (at: number) => `dex-trade:eth_0x${at.toString(16).padStart(40, '0')}`
      for (let at = 1; at <= 100; at += 1) raw.send(subscribe(at + 1, name(at)))
      raw.send(subscribe(102, name(101)))
      assert.match(await raw.frame('{"id":102,'), /"code":106,"message":"limit exceeded"/)
      raw.send(`{"unsubscribe":{"channel":"${name(1)}"},"id":103}\n${subscribe(104, name(101))}`)
      assert.match(await raw.frame('{"id":104,'), /"subscribe"/)
    })

    const violations: readonly (readonly [string, string | Buffer])[] = [
      ['no JSON', 'hello'],
      ['an empty message', ''],
      ['an array', '[1]'],
      ['a line that is not an object', '{"ping":{},"id":2}\n7'],
      ['an id that is not a number', '{"ping":{},"id":"2"}'],
      ['a negative id', '{"ping":{},"id":-1}'],
      ['an id without a method', '{"id":2}'],
      ['an unknown method', '{"drop":{},"id":2}'],
      ['a body that is not an object', '{"subscribe":"x","id":2}'],
      ['a second connect', '{"connect":{},"id":2}'],
      ['an unknown delta', `{"subscribe":{"channel":"${TRADES}","delta":"zip"},"id":2}`],
      ['deep nesting', `{"ping":${'['.repeat(50_000)}`],
      ['deep nesting in a field', `{"subscribe":{"channel":"x","data":${nested(40_000)}},"id":2}`],
      [
        'a flag of nested lists',
        `{"subscribe":{"channel":"${TRADES}","recover":true,"flag":${nested(49_000)}},"id":2}`,
      ],
      ['a refresh token that is a list', '{"refresh":{"token":["x"]},"id":2}'],
      ['binary rubbish', Buffer.from([0xff, 0xfe, 0x00, 0x80, 0xc3])],
    ]
    for (const [what, frame] of violations) {
      test(`${what}: 3501 [10]`, async () => {
        const raw = await connected()
        raw.send(frame)
        assert.deepEqual(await raw.closed(), { code: 3501, reason: 'bad request' })
      })
    }

    test('hostile values inside well-formed commands get error replies, and the connection stays', async () => {
      const raw = await connected()
      raw.send('{"subscribe":{"channel":"__proto__:constructor","data":{"__proto__":1}},"id":2}')
      assert.match(await raw.frame('{"id":2,'), /"code":102/)
      raw.send('{"subscribe":{"channel":"dex-trade:__proto___x"},"id":3}')
      assert.match(await raw.frame('{"id":3,'), /"code":107/)
      raw.send('{"subscribe":{"channel":"dex-trade:constructor_x","__proto__":{"a":1}},"id":4}')
      assert.match(await raw.frame('{"id":4,'), /"code":107/)
      raw.send(`{"history":{"channel":"${TRADES}","limit":1e300,"since":{"offset":-5}},"id":5}`)
      await raw.frame('{"id":5,')
      raw.send(Buffer.from('{"ping":{},"id":6}'))
      await raw.frame('{"id":6,"ping":{}}')
    })

    test('a message above 100 KiB drops the connection without 1009 [58]', async () => {
      const raw = await connected()
      raw.send(`{"ping":{},"id":2,"x":"${'x'.repeat(150_000)}"}`)
      assert.equal((await raw.closed()).code, 1006)
    })

    test('commands before connect: 3501; no credential: 3501 [8]', async () => {
      const early = await openRawWebSocket(url())
      early.send(subscribe(1, TRADES))
      assert.equal((await early.closed()).code, 3501)
      const anonymous = await openRawWebSocket(url())
      anonymous.send('{"connect":{},"id":1}')
      assert.equal((await anonymous.closed()).code, 3501)
    })

    test('a flood of commands gets 111 while it lasts, then the connection is closed with 3013', async () => {
      const raw = await connected()
      raw.send(Array.from({ length: 500 }, (_, at) => `{"ping":{},"id":${at + 2}}`).join('\n'))
      assert.deepEqual(await raw.closed(), { code: 3013, reason: 'too many requests' })
      assert.ok(
        raw.frames.some((text) => text.includes('"code":111') && text.includes('"temporary":true')),
      )
    })

    test('a flood of messages before the connect reply: closed with 3013, or all answered in order', async () => {
      const raw = await openRawWebSocket(url())
      for (let at = 1; at <= 200; at += 1)
        raw.send(at === 1 ? connect(1) : `{"ping":{},"id":${at}}`)
      const outcome = await until(
        () => raw.frames.some((text) => text.includes('"id":200,')) || raw.ws.readyState === 3,
      )
      assert.ok(outcome)
    })

    test('credentials by header, by connect.headers, by URL [3]', async () => {
      const byHeader = await openRawWebSocket(url(), { headers: { 'x-api-key': stack.key.apiKey } })
      byHeader.send('{"connect":{},"id":1}')
      await byHeader.frame('"connect"')
      const byBearer = await openRawWebSocket(url(), {
        headers: { authorization: `Bearer ${stack.key.apiKey}` },
      })
      byBearer.send('{"connect":{},"id":1}')
      await byBearer.frame('"connect"')
      const inside = await openRawWebSocket(url())
      inside.send(connect(1, { token: '', headers: { 'X-Api-Key': stack.key.apiKey } }))
      await inside.frame('"connect"')
    })

    test('refused upgrades answer with a problem body that has the reason [4]', async () => {
      const refused = async (query: string, options: object = {}, path = url(query)) => {
        const { status, body, headers } = await readRefusedUpgrade(path, options)
        assert.match(String(headers['content-type']), /^application\/problem\+json/)
        const { code, message, timestamp } = JSON.parse(body)
        assert.equal(typeof message, 'string')
        assert.ok(!Number.isNaN(Date.parse(timestamp)))
        return { status, code }
      }
      assert.deepEqual(await refused('?token=garbage'), { status: 401, code: 401 })
      assert.deepEqual(await refused('', { headers: { 'x-api-key': 'no' } }), {
        status: 401,
        code: 401,
      })
      const elsewhere = `ws://127.0.0.1:${server.port}/other`
      assert.deepEqual(await refused('', {}, elsewhere), { status: 404, code: 404 })
      const plain = await fetch(url().replace('ws:', 'http:'))
      assert.equal(plain.status, 400)
    })

    test('a used up quota: 403 at the upgrade, 4503 at connect, 4503 for the live connection [12]', async () => {
      const own = await startRealtimeStack()
      const alone = await own.serve({ transport })
      const here = `ws://127.0.0.1:${alone.port}/connection/websocket`
      const key = await own.organizations.createKey({ name: 'poor', plan: 'free' })
      const principal = own.organizations.guard.authenticate({ apiKey: key.apiKey })
      assert.ok(principal !== undefined && !(principal instanceof Error))
      const live = await openRawWebSocket(`${here}?token=${key.apiKey}`)
      live.send(`{"connect":{},"id":1}\n${subscribe(2, TRADES)}`)
      await live.frame('"id":2')
      const { remaining } = own.meter.quota(principal)
      own.meter
        .reserve(principal, Math.floor((remaining ?? 0) * 1_000))
        .settle((remaining ?? 0) * 1_000)
      const { status, body } = await readRefusedUpgrade(`${here}?token=${key.apiKey}`)
      assert.deepEqual([status, JSON.parse(body).details.reason], [403, 'quota_exhausted'])
      const late = await openRawWebSocket(here)
      late.send(`{"connect":{"token":"${key.apiKey}"},"id":1}`)
      assert.deepEqual(await late.closed(), { code: 4503, reason: 'quota exceeded' })
      await own.commit([{ trade: buildTradeEvent(1) }])
      await live.frame('"push"')
      assert.deepEqual(await until(() => live.closed(), 'the charge', 15_000), {
        code: 4503,
        reason: 'quota exceeded',
      })
      await own.close()
    })

    test('guessing keys is limited by address: 429 with Retry-After', async () => {
      const guess = () => readRefusedUpgrade(url('?token=guess'))
      let limited: Awaited<ReturnType<typeof guess>> | undefined
      // A busy machine may take the first of them no faster than the limit allows.
      for (let round = 0; round < 10 && limited === undefined; round += 1) {
        const length = 2 * ANONYMOUS_REQUESTS_PER_SECOND + 20
        const answers = await Promise.all(Array.from({ length }, guess))
        limited = answers.find(({ status }) => status === 429)
      }
      assert.ok(limited, 'all guesses were answered')
      assert.ok(Number(limited.headers['retry-after']) >= 1)
      assert.equal(JSON.parse(limited.body).details.remaining, 0)
    })

    test('the JSON subprotocol is echoed, and nothing where nothing was offered [11]', async () => {
      const offered = await openRawWebSocket(url(`?token=${stack.key.apiKey}`), {
        protocols: ['other', 'centrifuge-json'],
      })
      assert.equal(offered.ws.protocol, 'centrifuge-json')
      const bare = await openRawWebSocket(url(`?token=${stack.key.apiKey}`))
      assert.equal(bare.ws.protocol, '')
    })

    test('a stream is charged by the bytes of its payloads; replies and heartbeats are free [61]', async () => {
      const key = await stack.organizations.createKey({ name: 'billed', plan: 'selfhost' })
      const principal = stack.organizations.guard.authenticate({ apiKey: key.apiKey })
      assert.ok(principal !== undefined && !(principal instanceof Error))
      const raw = await openRawWebSocket(url(`?token=${key.apiKey}`))
      raw.send(`{"connect":{},"id":1}\n${subscribe(2, TRADES)}`)
      await raw.frame('"id":2')
      await stack.commit([{ trade: buildTradeEvent(7_001) }, { trade: buildTradeEvent(7_002) }])
      const pushes = await until(() => {
        const found = raw.frames.filter((text) => text.includes('"push"'))
        return found.length === 2 ? found : undefined
      })
      raw.ws.close()
      const bytes = pushes.reduce(
        (sum, text) => sum + Buffer.byteLength(JSON.stringify(JSON.parse(text).push.pub.data)),
        0,
      )
      await until(
        () => Math.round(stack.meter.quota(principal).used * 1_000) === bytes * 5,
        'the charge',
      )
    })
  })

  describe(`time and limits over ${transport}`, () => {
    const connected = async (
      stack: RealtimeStack,
      server: RealtimeServer,
      query = '',
    ): Promise<RawWebSocket> => {
      const raw = await openRawWebSocket(
        `ws://127.0.0.1:${server.port}/connection/websocket${query}`,
      )
      raw.send(`{"connect":{"token":"${stack.key.apiKey}"},"id":1}`)
      await raw.frame('"connect"')
      return raw
    }

    test('stale, pinged, silent: 3502, {} and 3012 [9] [22]', async () => {
      const stack = await startRealtimeStack()
      const server = await stack.serve({ transport })
      const stale = await openRawWebSocket(`ws://127.0.0.1:${server.port}/connection/websocket`)
      const live = await connected(stack, server)
      const framed = await connected(stack, server, '?cf_ws_frame_ping_pong=true')
      assert.ok(!framed.frames[0]?.includes('"ping"'))
      let framePings = 0
      framed.ws.on('ping', () => {
        framePings += 1
      })
      live.ws.pong = () => undefined
      stack.advance(12_000)
      assert.deepEqual(await stale.closed(), { code: 3502, reason: 'stale' })
      assert.ok(!live.frames.includes('{}'))
      stack.advance(13_100)
      await live.frame('{}')
      await until(() => framePings === 1)
      assert.ok(!framed.frames.includes('{}'))
      stack.advance(25_000)
      await until(() => live.frames.filter((text) => text === '{}').length === 2)
      stack.advance(61_000)
      assert.deepEqual(await live.closed(), { code: 3012, reason: 'no pong' })
      await stack.close()
    })

    test('an API key that expires: its ttl in the replies, then 3005 after the grace', async () => {
      const stack = await startRealtimeStack()
      const server = await stack.serve({ transport })
      const key = await stack.organizations.createKey({
        name: 'short',
        plan: 'selfhost',
        expiresAtMs: Date.now() + 20_000,
      })
      const raw = await openRawWebSocket(
        `ws://127.0.0.1:${server.port}/connection/websocket?token=${key.apiKey}`,
      )
      raw.send('{"connect":{},"id":1}')
      assert.match(await raw.frame('"connect"'), /"expires":true,"ttl":(19|20),/)
      raw.send(`{"refresh":{"token":"${key.apiKey}"},"id":2}`)
      assert.match(
        await raw.frame('"id":2'),
        /"refresh":\{"client":.*"expires":true,"ttl":(19|20)\}/,
      )
      stack.advance(44_000)
      raw.send('{}')
      stack.advance(2_000)
      assert.deepEqual(await raw.closed(), { code: 3005, reason: 'connection expired' })
      await stack.close()
    })

    test('connections of one account: then 3504; origins: only the listed ones', async () => {
      const stack = await startRealtimeStack()
      const server = await stack.serve({
        transport,
        env: { WS_CONNECTIONS_PER_ACCOUNT: '2', WS_ALLOWED_ORIGINS: 'https://ours.example' },
      })
      const url = `ws://127.0.0.1:${server.port}/connection/websocket`
      const [first] = [await connected(stack, server), await connected(stack, server)]
      const third = await openRawWebSocket(url)
      third.send(`{"connect":{"token":"${stack.key.apiKey}"},"id":1}`)
      assert.deepEqual(await third.closed(), { code: 3504, reason: 'connection limit' })
      first.ws.close()
      await first.closed()
      await until(async () => (await connected(stack, server)).frames.length > 0)
      assert.equal((await readRefusedUpgrade(url, { origin: 'https://other.example' })).status, 403)
      await openRawWebSocket(url, { origin: 'https://ours.example' })
      await stack.close()
    })

    test('a stalled reader of an event channel is closed; a quick reader gets every frame', async () => {
      const stack = await startRealtimeStack()
      const long = '長'.repeat(250)
      await stack.commit([{ token: { address: TOKEN, name: long, symbol: long } }])
      const server = await stack.serve({ transport })
      const stalled = await connected(stack, server)
      const slow = await connected(stack, server)
      const quick = await connected(stack, server)
      const joined = [stalled, slow, quick].map((raw) => {
        raw.send(`{"subscribe":{"channel":"${TRADES}"},"id":2}`)
        return raw.frame('"id":2')
      })
      await Promise.all(joined)
      stalled.ws.pause()
      slow.ws.pause()
      const total = 8_000
      const before = quick.frames.length
      for (let at = 0; at < total; at += 200) {
        const trades = Array.from({ length: 200 }, (_, part) => buildTradeEvent(at + part))
        await stack.commit([{ trades }])
        // The quick one keeps up by being waited for, however busy the machine is.
        await until(() => quick.frames.length >= before + at + 200, `${at + 200} frames`, 20_000)
      }
      const pushes = (raw: RawWebSocket) => raw.frames.filter((text) => text.includes('"push"'))
      await until(() => pushes(quick).length === total, 'everything at the quick one', 20_000)
      slow.ws.resume()
      const end = await slow.closed()
      assert.ok([3008, 1006].includes(end.code), `closed with ${end.code}`)
      const seen = pushes(slow).map((text) => JSON.parse(text).push.pub.offset)
      assert.ok(seen.length < total)
      const all = pushes(quick).map((text) => JSON.parse(text).push.pub.offset)
      assert.deepEqual(seen, all.slice(0, seen.length), 'no hole before the close')
      stack.advance(6_000)
      await until(async () => {
        const text = await stack.metrics.registry.getSingleMetricAsString(
          'sluice_socket_connections',
        )
        return text.includes('sluice_socket_connections 1')
      }, 'the stalled one to go')
      assert.equal(quick.ws.readyState, 1)
      await stack.close()
    })
  })
}
