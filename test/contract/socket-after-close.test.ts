/** A client that continues sending after it was closed, and never answers the close frame. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { makeErrorBoundary } from '../../core/ops/error-boundary.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import type { SocketEvents } from '../../serving/realtime/socket.ts'
import { startSocketServer } from '../../serving/realtime/start-socket-server.ts'
import { TRANSPORTS } from '../support/websocket-transports.ts'

const REQUEST = [
  ...['GET / HTTP/1.1', 'Host: x', 'Upgrade: websocket', 'Connection: Upgrade'],
  ...['Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==', 'Sec-WebSocket-Version: 13', '', ''],
].join('\r\n')
const MASK = [0, 0, 0, 0]
const TEXT = Buffer.from([0x81, 0x82, ...MASK, 0x7b, 0x7d])
const PING = Buffer.from([0x89, 0x80, ...MASK])

for (const transport of TRANSPORTS) {
  test(`nothing is read of a closed socket, and it is dropped when it continues sending: ${transport}`, async () => {
    const metrics = makeMetrics()
    const log = makeSilentLogger()
    const boundary = makeErrorBoundary({ surface: 'streams', metrics, log, nowMs: Date.now })
    const seen = { messages: 0, pings: 0, closed: 0 }
    const events: SocketEvents<undefined> = {
      upgrade: async () => ({ accepted: true, protocol: '', context: undefined }),
      open: () => undefined,
      message: (socket) => {
        seen.messages += 1
        socket.close(4429, 'Too many messages')
      },
      alive: () => {
        seen.pings += 1
      },
      overflowed: () => undefined,
      failed: (socket) => socket.drop(),
      closed: () => {
        seen.closed += 1
      },
    }
    const bounds = { maxInboundBytes: 1_024, maxQueuedBytes: 65_536, maxConnections: 10 }
    const server = await startSocketServer(
      { transport, log },
      { host: '127.0.0.1', port: 0, ...bounds, boundary },
      events,
    )
    const client = connect(server.port, '127.0.0.1')
    client.on('error', () => undefined)
    client.write(REQUEST)
    await once(client, 'data')
    client.on('data', () => undefined)
    const over = once(client, 'close')
    client.write(Buffer.concat(Array.from({ length: 3_000 }, () => [TEXT, PING]).flat()))
    await over
    await server.stop()
    assert.deepEqual(seen, { messages: 1, pings: 0, closed: 1 })
  })
}
