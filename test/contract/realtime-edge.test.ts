import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { makeErrorBoundary } from '../../core/ops/error-boundary.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { type Metrics, makeMetrics } from '../../core/ops/metrics.ts'
import type { RealtimeServer } from '../../serving/realtime/server.ts'
import type { SocketEvents, SocketServer } from '../../serving/realtime/socket.ts'
import { startSocketServer, type Transport } from '../../serving/realtime/start-socket-server.ts'
import { buildUpgradeRequest, sendRawRequest, sendSlowRequest } from '../support/raw-http.ts'
import {
  openRawWebSocket,
  type RawWebSocket,
  readRefusedUpgrade,
} from '../support/raw-websocket.ts'
import { type RealtimeStack, startRealtimeStack } from '../support/realtime-stack.ts'
import { until } from '../support/until.ts'
import { TRANSPORTS } from '../support/websocket-transports.ts'

/** Contained errors by kind. */
const contained = async (metrics: Metrics): Promise<Readonly<Record<string, number>>> => {
  const { values } = await metrics.edgeErrors.get()
  return Object.fromEntries(values.map(({ labels, value }) => [String(labels.reason), value]))
}

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0)

for (const transport of TRANSPORTS) {
  describe(`handshakes over ${transport}`, () => {
    let stack: RealtimeStack
    let server: RealtimeServer
    before(async () => {
      stack = await startRealtimeStack()
      server = await stack.serve({ transport })
    })
    after(() => stack.close())

    const refused: readonly (readonly [string, Parameters<typeof buildUpgradeRequest>, number])[] =
      [
        ['a key that is too short', [{ 'sec-websocket-key': 'abc' }], 400],
        ['a key without padding', [{ 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ' }], 400],
        ['a key of 20 bytes', [{ 'sec-websocket-key': `${'A'.repeat(27)}=` }], 400],
        ['a key with other characters', [{ 'sec-websocket-key': 'dGhl*HNhbXBsZSBub25jZQ==' }], 400],
        ['an empty key', [{ 'sec-websocket-key': '' }], 400],
        ['no key', [{ 'sec-websocket-key': undefined }], 400],
        ['no version', [{ 'sec-websocket-version': undefined }], 400],
        ['an older version', [{ 'sec-websocket-version': '8' }], 400],
        ['another upgrade', [{ upgrade: 'h2c' }], 400],
        ['no upgrade', [{ upgrade: undefined }], 400],
        ['a connection that is kept', [{ connection: 'keep-alive' }], 400],
        ['a subprotocol twice', [{ 'sec-websocket-protocol': 'a, a' }], 400],
        ['a subprotocol that is not a token', [{ 'sec-websocket-protocol': 'a b,{}' }], 400],
        ['another method', [{}, 'POST /connection/websocket HTTP/1.1'], 400],
        ['another path', [{}, 'GET //connection/websocket HTTP/1.1'], 404],
        ['a path that is a host', [{}, 'GET // HTTP/1.1'], 404],
      ]
    for (const [what, request, status] of refused) {
      test(`${what}: ${status}`, async () => {
        const answer = await sendRawRequest(server.port, buildUpgradeRequest(...request))
        assert.equal(statusOf(answer), status, answer)
        const tellsVersion = /^sec-websocket-version: 13\r$/im.test(answer)
        assert.equal(tellsVersion, what.includes('version'))
      })
    }

    test('after all refused handshakes a valid one is accepted, and no exception was counted', async () => {
      const answer = await sendRawRequest(server.port, buildUpgradeRequest())
      assert.equal(statusOf(answer), 101, answer)
      assert.match(answer, /^sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r$/im)
      assert.deepEqual(await contained(stack.metrics), {})
    })
  })

  describe(`limits before connect over ${transport}`, () => {
    const open: RealtimeStack[] = []
    after(() => Promise.all(open.map((stack) => stack.close())))

    const serve = async (env: Record<string, string>) => {
      const stack = await startRealtimeStack()
      open.push(stack)
      const server = await stack.serve({ transport, env })
      const url = `ws://127.0.0.1:${server.port}/connection/websocket`
      const connected = async (raw: RawWebSocket): Promise<RawWebSocket> => {
        raw.send(`{"connect":{"token":"${stack.key.apiKey}"},"id":1}`)
        await raw.frame('"connect"')
        return raw
      }
      return { stack, url, connected }
    }

    test('connections of one address that never send connect: 429, until they connect or close', async () => {
      const { url, connected } = await serve({ WS_PENDING_PER_ADDRESS: '2' })
      const first = await openRawWebSocket(url)
      const second = await openRawWebSocket(url)
      const { status, headers } = await readRefusedUpgrade(url)
      assert.equal(status, 429)
      assert.ok(Number(headers['retry-after']) >= 1)
      await connected(first)
      const third = await openRawWebSocket(url)
      assert.equal((await readRefusedUpgrade(url)).status, 429)
      second.ws.close()
      await second.closed()
      await until(() => openRawWebSocket(url).catch(() => false), 'the place of the closed one')
      third.ws.close()
    })

    test('many upgrades at the same time do not get past the limit', async () => {
      const { stack, url } = await serve({ WS_PENDING_PER_ADDRESS: '5' })
      await Promise.allSettled(Array.from({ length: 40 }, () => openRawWebSocket(url)))
      const { values } = await stack.metrics.socketConnections.get()
      assert.equal(values[0]?.value, 5)
    })

    test('behind a trusted proxy each client counts for itself, IPv6 by its /64', async () => {
      const { url } = await serve({
        WS_PENDING_PER_ADDRESS: '1',
        TRUSTED_PROXIES: '127.0.0.0/8',
      })
      const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
      await openRawWebSocket(url, from('198.51.100.1'))
      assert.equal((await readRefusedUpgrade(url, from('198.51.100.1'))).status, 429)
      assert.equal((await readRefusedUpgrade(url, from('203.0.113.7, 198.51.100.1'))).status, 429)
      await openRawWebSocket(url, from('198.51.100.2'))
      await openRawWebSocket(url, from('2001:db8:1:2::1'))
      assert.equal((await readRefusedUpgrade(url, from('2001:db8:1:2:ffff::9'))).status, 429)
      await openRawWebSocket(url, from('2001:db8:1:3::1'))
    })

    test('a proxy that adds a line of its own to X-Forwarded-For is read as one that adds to the line', async () => {
      const { url } = await serve({
        WS_PENDING_PER_ADDRESS: '1',
        TRUSTED_PROXIES: '127.0.0.0/8',
      })
      const from = (client: string) => ({ headers: { 'x-forwarded-for': [client, '127.0.0.9'] } })
      await openRawWebSocket(url, from('198.51.100.1'))
      assert.equal((await readRefusedUpgrade(url, from('198.51.100.1'))).status, 429)
      await openRawWebSocket(url, from('198.51.100.2'))
    })

    test('without a trusted proxy X-Forwarded-For changes nothing', async () => {
      const { url } = await serve({ WS_PENDING_PER_ADDRESS: '1' })
      await openRawWebSocket(url, { headers: { 'x-forwarded-for': '198.51.100.1' } })
      const other = { headers: { 'x-forwarded-for': '198.51.100.2' } }
      assert.equal((await readRefusedUpgrade(url, other)).status, 429)
    })

    test('connections of the process: 503 with Retry-After, and room again after one closes', async () => {
      const { url, connected } = await serve({ WS_CONNECTIONS: '2' })
      const first = await connected(await openRawWebSocket(url))
      await connected(await openRawWebSocket(url))
      const { status, headers, body } = await readRefusedUpgrade(url)
      assert.deepEqual([status, JSON.parse(body).code], [503, 50301])
      assert.ok(Number(headers['retry-after']) >= 1)
      first.ws.close()
      await first.closed()
      await until(() => openRawWebSocket(url).catch(() => false), 'room after one closed')
    })

    test('a flood of WebSocket pings closes its connection with 3013; another connection is answered', async () => {
      const { stack, url, connected } = await serve({})
      const good = await connected(await openRawWebSocket(url))
      const flood = await connected(await openRawWebSocket(url))
      for (let at = 0; at < 1_000; at += 1) flood.ws.ping()
      assert.deepEqual(await flood.closed(), { code: 3013, reason: 'too many requests' })
      for (let at = 0; at < 50; at += 1) good.ws.ping()
      good.send('{"ping":{},"id":2}')
      await good.frame('{"id":2,"ping":{}}')
      assert.deepEqual(await contained(stack.metrics), {})
    })

    test('a client that does not answer the close frame is gone 5 s later', async () => {
      const { stack, url, connected } = await serve({})
      const raw = await connected(await openRawWebSocket(url))
      raw.ws.pause()
      raw.send('not a command')
      stack.advance(4_000)
      const { socketConnections } = stack.metrics
      await until(async () => {
        stack.advance(1_000)
        return (await socketConnections.get()).values[0]?.value === 0
      }, 'the connection to go')
      raw.ws.terminate()
    })

    test('a request that arrives byte by byte, or never: its connection is closed', async () => {
      const { url } = await serve({})
      const { port } = new URL(url)
      const ends = ['', 'GET /connection/websocket HTTP/1.1\r\nhost: x\r\nx: '].map((head) =>
        sendSlowRequest(Number(port), head),
      )
      await Promise.all(ends)
    })

    test('100 subscriptions that are sent without waiting for the connect reply are all answered', async () => {
      const { stack, url } = await serve({})
      const raw = await openRawWebSocket(url)
      raw.send(`{"connect":{"token":"${stack.key.apiKey}"},"id":1}`)
      for (let at = 1; at <= 100; at += 1) {
        const address = `0x${at.toString(16).padStart(40, '0')}`
        raw.send(`{"subscribe":{"channel":"dex-trade:eth_${address}"},"id":${at + 1}}`)
      }
      await raw.frame('{"id":101,"subscribe"')
    })
  })

  describe(`exceptions over ${transport}`, () => {
    /** A server whose handlers throw where the test says so. */
    const failing = async (
      broken: Partial<SocketEvents<null>>,
    ): Promise<{ readonly server: SocketServer; readonly metrics: Metrics; url: string }> => {
      const metrics = makeMetrics()
      const log = makeSilentLogger()
      const server = await startSocketServer<null>(
        { transport: transport as Transport, log },
        {
          host: '127.0.0.1',
          port: 0,
          maxInboundBytes: 1_024,
          maxQueuedBytes: 1_024,
          maxConnections: 100,
          boundary: makeErrorBoundary({ surface: 'streams', metrics, log, nowMs: Date.now }),
        },
        {
          upgrade: async () => ({ accepted: true, protocol: '', context: null }),
          open: () => undefined,
          message: (socket, message) => socket.send(Buffer.from(message).toString()),
          alive: () => undefined,
          overflowed: () => undefined,
          failed: (socket) => socket.close(3004, 'internal server error'),
          closed: () => undefined,
          ...broken,
        },
      )
      return { server, metrics, url: `ws://127.0.0.1:${server.port}/` }
    }
    const bug = (): never => {
      throw new RangeError('Maximum call stack size exceeded')
    }

    test('an exception in a message handler closes that connection with 3004, another one continues', async () => {
      const { server, metrics, url } = await failing({
        message: (socket, message) => {
          const text = Buffer.from(message).toString()
          if (text === 'bad') bug()
          else socket.send(text)
        },
      })
      const [bad, good] = [await openRawWebSocket(url), await openRawWebSocket(url)]
      bad.send('bad')
      assert.deepEqual(await bad.closed(), { code: 3004, reason: 'internal server error' })
      good.send('hello')
      await good.frame('hello')
      assert.deepEqual(await contained(metrics), { message: 1 })
      await server.stop()
    })

    test('an exception while a socket opens closes it with 3004', async () => {
      const { server, metrics, url } = await failing({ open: bug })
      assert.equal((await (await openRawWebSocket(url)).closed()).code, 3004)
      assert.deepEqual(await contained(metrics), { open: 1 })
      await server.stop()
    })

    test('exceptions in ping, pong, close and error handlers are counted, and the server continues', async () => {
      const { server, metrics, url } = await failing({ alive: bug, closed: bug, failed: bug })
      const raw = await openRawWebSocket(url)
      raw.ws.ping()
      await until(async () => (await contained(metrics)).control === 2, 'the ping')
      raw.ws.close()
      await raw.closed()
      await until(async () => ((await contained(metrics)).close ?? 0) >= 1, 'the close')
      const next = await openRawWebSocket(url)
      next.send('hello')
      await next.frame('hello')
      await server.stop()
    })

    test('an upgrade whose decision rejects or throws ends the connection', async () => {
      for (const upgrade of [bug, () => Promise.reject(new Error('no'))]) {
        const { server, metrics } = await failing({ upgrade })
        assert.equal(await sendRawRequest(server.port, buildUpgradeRequest()), '')
        assert.equal(await sendRawRequest(server.port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'), '')
        assert.deepEqual(await contained(metrics), { upgrade: 2 })
        await server.stop()
      }
    })

    test('a plain request that is accepted as an upgrade is not upgraded', async () => {
      const { server } = await failing({})
      const answer = await sendRawRequest(server.port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n')
      assert.notEqual(statusOf(answer), 101)
      assert.equal(statusOf(await sendRawRequest(server.port, buildUpgradeRequest())), 101)
      await server.stop()
    })

    test('TCP connections beyond the limit are closed, and closed connections free the limit', async () => {
      const { server, url } = await failing({})
      const opened = await Promise.allSettled(
        Array.from({ length: 130 }, () => openRawWebSocket(url)),
      )
      const good = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
      assert.ok(good.length <= 100, `${good.length} connections`)
      assert.ok(good.length >= 90, `${good.length} connections`)
      for (const raw of good) raw.ws.terminate()
      await until(() => openRawWebSocket(url).catch(() => false), 'room after all closed')
      await server.stop()
    })
  })
}
