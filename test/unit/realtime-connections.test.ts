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
import { parseChannel } from '../../serving/realtime/channel-name.ts'
import { ConnectionRegistry } from '../../serving/realtime/connections.ts'
import { Hub } from '../../serving/realtime/hub.ts'
import { CLOSE_FRAMES } from '../../serving/realtime/protocol.ts'
import type { Subscription } from '../../serving/realtime/session.ts'
import type { Socket } from '../../serving/realtime/socket.ts'
import { SubscriptionLimits } from '../../serving/realtime/subscription-limits.ts'
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

const openConnections = (guard: Partial<Guard> = {}, connectionsPerOrg = 1) => {
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
      connections: 100,
      pendingPerAddress: PENDING_PER_ADDRESS,
      connectionsPerOrg,
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

const countOf = (codes: readonly unknown[], wanted: number): number =>
  codes.filter((code) => code === wanted).length

/** Opens a connection of an organization, and subscribes on it with each filter; returns the codes of the errors, 0 = none. */
const subscribeWith = async (
  connections: ConnectionRegistry,
  {
    token,
    channel,
    filters,
  }: { token: string; channel: (at: number) => string; filters: readonly string[] },
) => {
  const { done, socket } = recordedSocket()
  connections.open(socket, OPENING)
  connections.message(socket, Buffer.from(JSON.stringify({ connect: { token }, id: 1 })))
  const subscribe = (id: number, at: number): string =>
    JSON.stringify({ subscribe: { channel: channel(at), filter: filters[at] }, id })
  connections.message(socket, Buffer.from(filters.map((_, at) => subscribe(at + 2, at)).join('\n')))
  const codeOf = (id: number): number | undefined => {
    const reply = done.find((text) => text.startsWith(`{"id":${id},`))
    return reply === undefined ? undefined : (JSON.parse(reply).error?.code ?? 0)
  }
  const lastId = filters.length + 1
  await until(() => codeOf(lastId) !== undefined)
  return { socket, subscribe, codeOf, codes: filters.map((_, at) => codeOf(at + 2)) }
}
const byToken: Partial<Guard> = {
  authenticate: ({ token = '' }) => ({ ...PRINCIPAL, orgId: token }),
}
const NAMES = ['eth', 'ethereum'].flatMap((chain) =>
  [TOKEN, TOKEN.replace('a1', 'A1')].map((address) => `dex-trade:${chain}_${address}`),
)
const nameOf = (at: number): string => NAMES[at % NAMES.length] ?? ''
const numbered = (from: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `meta.sa == ${from + at}`)

test('an organization has 100 different filters on one stream, over all of its connections', async () => {
  const connections = openConnections(byToken, 50)
  const open = (token: string, filters: readonly string[]) =>
    subscribeWith(connections, { token, channel: nameOf, filters })
  const first = await open('one', numbered(0, 4))
  for (let at = 1; at < 25; at += 1)
    assert.deepEqual((await open('one', numbered(4 * at, 4))).codes, [0, 0, 0, 0])
  assert.deepEqual((await open('one', numbered(100, 4))).codes, [106, 106, 106, 106])
  assert.deepEqual((await open('two', numbered(100, 4))).codes, [0, 0, 0, 0])
  const last = await open('one', ['meta.sa == 7', '', 'meta.sa == 100'])
  assert.deepEqual(last.codes, [0, 0, 106], 'an equal filter and none cost nothing more')
  const leave = JSON.stringify({ unsubscribe: { channel: nameOf(0) }, id: 90 })
  connections.message(first.socket, Buffer.from(`${leave}\n${first.subscribe(91, 0)}`))
  assert.equal(first.codeOf(91), 0)
  connections.message(first.socket, Buffer.from(leave))
  assert.deepEqual((await open('one', numbered(100, 2))).codes, [0, 106])
  connections.closed(first.socket)
  assert.deepEqual((await open('one', numbered(101, 4))).codes, [0, 0, 0, 106])
})

test('an organization has 500 different filters of a family, and counts them until the last subscription ends', () => {
  const limits = new SubscriptionLimits()
  const subscriptions = Array.from({ length: 500 }, (_, at): Subscription => {
    const channel = parseChannel(
      `dex-trade:eth_0x${String(at % 50).padStart(40, '0')}`,
      new Set(['eth']),
    )
    assert.ok(!('code' in channel))
    return { ...channel, filter: { text: `meta.sa == ${at}`, steps: 1, matches: () => true } }
  })
  const [first] = subscriptions
  assert.ok(first)
  for (const one of subscriptions) {
    assert.ok(limits.hasRoomFor('one', one, one.filter?.text ?? ''))
    limits.add('one', one)
  }
  assert.equal(limits.hasRoomFor('one', first, 'v == 1'), false)
  assert.equal(limits.hasRoomFor('one', first, 'meta.sa == 3'), true)
  assert.equal(limits.hasRoomFor('one', first, ''), true)
  assert.equal(limits.hasRoomFor('two', first, 'v == 1'), true)
  assert.equal(limits.filterOf('one', first.row, 'meta.sa == 3'), subscriptions[3]?.filter)
  assert.equal(limits.filterOf('two', first.row, 'meta.sa == 3'), undefined)
  limits.add('one', first)
  limits.remove('one', first)
  assert.equal(limits.hasRoomFor('one', first, 'v == 1'), false)
  for (const one of subscriptions) limits.remove('one', one)
  assert.equal(limits.hasRoomFor('one', first, 'v == 1'), true)
  assert.equal(limits.organizations, 0)
})

test('an organization has 100 lists that are read for it; families of one ranking share theirs', async () => {
  const connections = openConnections(byToken, 50)
  const wallet = (at: number): string => `dex-wallet-pnl-list:eth_0x${String(at).padStart(40, '0')}`
  const open = (token: string, names: readonly string[]) =>
    subscribeWith(connections, {
      token,
      channel: (at) => names[at] ?? '',
      filters: names.map(() => ''),
    })
  const wallets = Array.from({ length: 99 }, (_, at) => wallet(at))
  const first = await open('one', wallets)
  assert.equal(countOf(first.codes, 0), 99)
  const rankings = ['dex-ranking-list:eth_new', 'dex-ranking-token-stats-list:eth_new']
  const more = [...rankings, wallet(99), wallet(3), 'dex-ranking-list:eth_trending', nameOf(0)]
  assert.deepEqual((await open('one', more)).codes, [0, 0, 106, 0, 106, 0])
  assert.deepEqual((await open('two', more)).codes, [0, 0, 0, 0, 0, 0])
  connections.closed(first.socket)
  assert.deepEqual((await open('one', [wallet(99)])).codes, [0])
})
