import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeErrorBoundary } from '../../core/ops/error-boundary.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import type { Principal } from '../../serving/interfaces.ts'
import { ConnectionRegistry } from '../../serving/realtime/connections.ts'
import { Hub } from '../../serving/realtime/hub.ts'
import type { Socket } from '../../serving/realtime/socket.ts'
import { TOKEN } from '../support/realtime-stack.ts'
import { until } from '../support/until.ts'

const PRINCIPAL: Principal = {
  kind: 'api-key',
  orgId: 'org',
  appId: 'app',
  credentialId: 'key',
  plan: 'selfhost',
  scopes: [],
  expiresAtMs: null,
}

const OPENING = { credentials: {}, framePings: false, address: '203.0.113.9' }

/** A socket over a queue whose length the test sets; it remembers what was asked of it. */
const recordedSocket = () => {
  const done: string[] = []
  const state = { queued: 0 }
  const socket: Socket = {
    send: (text) => done.push(text),
    ping: () => undefined,
    buffered: () => state.queued,
    join: (topic) => done.push(`join ${topic}`),
    leave: (topic) => done.push(`leave ${topic}`),
    close: (code) => done.push(`close ${code}`),
    drop: () => done.push('drop'),
  }
  return { done, state, socket }
}

const openConnections = () => {
  const metrics = makeMetrics()
  const log = makeSilentLogger()
  const nowMs = (): number => 0
  const hub = new Hub({
    codec: localCodec(),
    quotes: new Map(),
    numbers: 'string',
    metrics,
    log,
    nowMs,
    publish: () => undefined,
  })
  return new ConnectionRegistry({
    hub,
    guard: {
      identify: async () => PRINCIPAL,
      authenticate: () => PRINCIPAL,
      onRevoked: () => () => undefined,
    },
    meter: createMeter({ nowMs }),
    freshness: async () => ({}),
    chains: new Set(['eth']),
    connectionLimit: 1,
    limits: { connections: 10, pendingPerAddress: 10 },
    longNames: true,
    boundary: makeErrorBoundary({ surface: 'streams', metrics, log, nowMs }),
    metrics,
    log,
    nowMs,
    random: () => 0,
  })
}

const CHANNEL = `dex-candle:eth_${TOKEN}_1m`
const HELLO = `{"connect":{"token":"T"},"id":1}\n{"subscribe":{"channel":"${CHANNEL}"},"id":2}`

test('the topic is joined after the reply, left when congested, joined again when relieved', async () => {
  const connections = openConnections()
  const { done, state, socket } = recordedSocket()
  connections.open(socket, OPENING)
  connections.message(socket, HELLO)
  await until(() => done.length === 3)
  assert.deepEqual(done.slice(1), ['{"id":2,"subscribe":{}}', `join ${CHANNEL}`])
  state.queued = 300 * 1_024
  connections.sweep()
  state.queued = 0
  connections.sweep()
  assert.deepEqual(done.slice(3), [`leave ${CHANNEL}`, `join ${CHANNEL}`])
})

test('a full queue takes the connection off its topics before anything else is published', async () => {
  const connections = openConnections()
  const { done, state, socket } = recordedSocket()
  connections.open(socket, OPENING)
  connections.message(socket, HELLO)
  await until(() => done.length === 3)
  state.queued = 2_000 * 1_024
  connections.overflowed(socket)
  assert.equal(done.at(-1), `leave ${CHANNEL}`)
  state.queued = 0
  connections.sweep()
  assert.equal(done.at(-1), 'close 3008')
})

test('a connection that goes while connect waits leaves nothing behind', async () => {
  const connections = openConnections()
  const gone = recordedSocket()
  connections.open(gone.socket, OPENING)
  connections.message(gone.socket, HELLO)
  connections.closed(gone.socket)
  const next = recordedSocket()
  connections.open(next.socket, OPENING)
  connections.message(next.socket, HELLO)
  await until(() => next.done.length === 3, 'the only allowed connection')
  assert.deepEqual(gone.done, [])
  assert.equal(connections.size, 1)
})
