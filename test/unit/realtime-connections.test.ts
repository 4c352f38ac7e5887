import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localCodec } from '../../core/codec/local-codec.ts'
import { Fault } from '../../core/errors.ts'
import { makeErrorBoundary } from '../../core/ops/error-boundary.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import type { Credentials, Guard, Principal } from '../../serving/interfaces.ts'
import { AdmissionControl } from '../../serving/realtime/admission.ts'
import { ConnectionRegistry } from '../../serving/realtime/connections.ts'
import { Hub } from '../../serving/realtime/hub.ts'
import { CLOSE_FRAMES } from '../../serving/realtime/protocol.ts'
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

const PENDING_PER_ADDRESS = 3

const OPENING = {
  credentials: {},
  encoding: 'json',
  framePings: false,
  address: '203.0.113.9',
} as const

/** A socket over a queue whose length the test sets; it remembers what was asked of it. */
const recordedSocket = () => {
  const done: string[] = []
  const state = { queued: 0 }
  const socket: Socket = {
    send: (frame) => done.push(String(frame)),
    ping: () => undefined,
    buffered: () => state.queued,
    join: (topic) => done.push(`join ${topic}`),
    leave: (topic) => done.push(`leave ${topic}`),
    close: (code) => done.push(`close ${code}`),
    drop: () => done.push('drop'),
  }
  return { done, state, socket }
}

const openConnections = (guard: Partial<Guard> = {}) => {
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
      ...guard,
    },
    meter: createMeter({ nowMs }),
    freshness: async () => ({}),
    chains: new Set(['eth']),
    admission: new AdmissionControl({
      connections: 10,
      pendingPerAddress: PENDING_PER_ADDRESS,
      connectionsPerOrg: 1,
    }),
    longNames: true,
    deltas: false,
    boundary: makeErrorBoundary({ surface: 'streams', metrics, log, nowMs }),
    metrics,
    log,
    nowMs,
    random: () => 0,
  })
}

const CHANNEL = `dex-candle:eth_${TOKEN}_1m`
const HELLO = Buffer.from(
  `{"connect":{"token":"T"},"id":1}\n{"subscribe":{"channel":"${CHANNEL}"},"id":2}`,
)

test('a connection joins its topic after the reply, leaves it when congested, and joins again when relieved', async () => {
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

test('a full queue removes the connection from its topics before the next publication', async () => {
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

test('a connection that closes during connect frees its slot', async () => {
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

test('a rate limited token gets the temporary code 111, by the address of its upgrade', async () => {
  const seen: Credentials[] = []
  const connections = openConnections({
    identify: async (credentials) => {
      seen.push(credentials)
      return new Fault('RATE_LIMIT')
    },
    authenticate: () => new Fault('UNAUTHORIZED', undefined, { reason: 'invalid_token' }),
  })
  const { done, socket } = recordedSocket()
  const { address } = OPENING
  connections.open(socket, { ...OPENING, credentials: { address } })
  connections.message(socket, Buffer.from('{"connect":{"token":"T"},"id":1}'))
  await until(() => done.length === 1)
  const error = { code: 111, message: 'too many requests', temporary: true }
  assert.deepEqual(done, [JSON.stringify({ id: 1, error })])
  assert.deepEqual(seen, [{ token: 'T', address }])
})

test('concurrent upgrades meet the limit of their address when they open', async () => {
  const connections = openConnections()
  const sockets = Array.from({ length: PENDING_PER_ADDRESS + 1 }, recordedSocket)
  assert.equal(connections.refusal(OPENING.address), undefined)
  for (const { socket } of sockets) connections.open(socket, OPENING)
  assert.deepEqual(sockets.at(-1)?.done, [`close ${CLOSE_FRAMES.tooManyRequests.code}`])
  assert.equal(connections.size, PENDING_PER_ADDRESS)
  const other = recordedSocket()
  connections.open(other.socket, { ...OPENING, address: '203.0.113.10' })
  assert.deepEqual(other.done, [])
})
