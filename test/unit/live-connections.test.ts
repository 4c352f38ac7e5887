/** What one connection of GraphQL subscriptions may send, before and after it was let in. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeErrorBoundary } from '../../core/ops/error-boundary.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { createLiveConnections } from '../../serving/graphql/live/connections.ts'
import { LIVE_CLOSES, LIVE_LIMITS } from '../../serving/graphql/live/limits.ts'
import { AdmissionControl } from '../../serving/realtime/admission.ts'
import type { Socket } from '../../serving/realtime/socket.ts'
import { liveOptions } from '../support/live-options.ts'
import { until } from '../support/until.ts'

/** Connections on a clock that the test moves. */
const startConnections = () => {
  const clock = { nowMs: 1_000 }
  const nowMs = (): number => clock.nowMs
  const metrics = makeMetrics()
  const connections = createLiveConnections({
    ...liveOptions(nowMs),
    limits: LIVE_LIMITS,
    admission: new AdmissionControl({
      connections: 10,
      pendingPerAddress: 5,
      connectionsPerOrg: 5,
    }),
    boundary: makeErrorBoundary({ surface: 'streams', metrics, log: makeSilentLogger(), nowMs }),
    metrics,
    nowMs,
    subscribe: () => Promise.reject(new Error('nothing is subscribed to here')),
    describeError: () => [],
  })
  /** An open connection, and what was asked of its socket. */
  const open = () => {
    const done: string[] = []
    const socket: Socket = {
      send: (frame) => done.push(String(frame)),
      ping: () => undefined,
      buffered: () => 0,
      join: () => undefined,
      leave: () => undefined,
      close: (code, reason) => done.push(`close ${code} ${reason}`),
      drop: () => done.push('drop'),
    }
    connections.events.open(socket, { credentials: {}, address: '203.0.113.9' })
    /** Sends one message after another, each once the one before was handled. */
    const send = async (text: string, count = 1): Promise<void> => {
      for (let sent = 0; sent < count; sent += 1) {
        connections.events.message(socket, Buffer.from(text))
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    const ping = (count: number): void => {
      for (let sent = 0; sent < count; sent += 1) connections.events.alive(socket)
    }
    const overflow = (): void => connections.events.overflowed(socket)
    return { done, send, ping, overflow, close: () => connections.events.closed(socket) }
  }
  return { clock, metrics, open }
}

const PONG = '{"type":"pong"}'
const TOO_MANY = 'close 4429 Too many messages'

test('a connection sends 300 messages at once and 50 a second, also before connection_init', async () => {
  const { clock, open } = startConnections()
  const { done, send, close } = open()
  await send(PONG, 300)
  clock.nowMs += 1_000
  await send(PONG, 50)
  assert.deepEqual(done, [])
  await send(PONG, 3)
  assert.deepEqual(done, [TOO_MANY])
  close()
  const invalid = open()
  await invalid.send('{"type":"connection_init"}')
  await until(() => invalid.done.length === 1)
  await invalid.send(PONG, 300)
  assert.deepEqual(invalid.done, ['{"type":"connection_ack"}', TOO_MANY])
  invalid.close()
})

test('a connection sends 100 WebSocket pings and pongs at once and 10 a second', () => {
  const { clock, open } = startConnections()
  const { done, ping, close } = open()
  ping(100)
  clock.nowMs += 1_000
  ping(10)
  assert.deepEqual(done, [])
  ping(3)
  assert.deepEqual(done, [TOO_MANY])
  close()
})

test('a ping is answered with its payload up to 4 KiB; a larger ping or pong closes with 4400', async () => {
  const { open } = startConnections()
  const message = (type: string, length: number): string =>
    JSON.stringify({ type, payload: { text: 'x'.repeat(length) } })
  const small = open()
  await small.send(message('ping', 4_000))
  assert.deepEqual(small.done, [message('pong', 4_000)])
  await small.send(message('ping', 4_100))
  assert.equal(small.done.at(-1), 'close 4400 Invalid message received')
  const pong = open()
  await pong.send(message('pong', 4_100))
  assert.deepEqual(pong.done, ['close 4400 Invalid message received'])
  for (const connection of [small, pong]) connection.close()
})

test('a slow client without subscriptions is closed, and no subscription counts as ended', async () => {
  const { metrics, open } = startConnections()
  const { done, overflow, close } = open()
  overflow()
  overflow()
  assert.deepEqual(done, [`close ${LIVE_CLOSES.slow.code} ${LIVE_CLOSES.slow.reason}`])
  const { values } = await metrics.graphqlSubscriptionsEnded.get()
  assert.equal(
    values.reduce((sum, { value }) => sum + value, 0),
    0,
  )
  close()
})
