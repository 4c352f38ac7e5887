/** Deliveries that are large together, over real sockets: who reads gets all of them, and who does not is told. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import { makeErrorBoundary } from '../../core/ops/error-boundary.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import type { LiveConnection } from '../../serving/graphql/live/connection.ts'
import { createLiveConnections } from '../../serving/graphql/live/connections.ts'
import type { Deliveries } from '../../serving/graphql/live/deliveries.ts'
import { LIVE_LIMITS } from '../../serving/graphql/live/limits.ts'
import { AdmissionControl } from '../../serving/realtime/admission.ts'
import type { Socket } from '../../serving/realtime/socket.ts'
import { startSocketServer, type Transport } from '../../serving/realtime/start-socket-server.ts'
import { liveOptions } from '../support/live-options.ts'
import { until } from '../support/until.ts'
import { TRANSPORTS } from '../support/websocket-transports.ts'

const MIB = 1_024 * 1_024
/** As the server of an installation has it. */
const TRANSPORT_LIMIT = 2 * MIB
const SLOW_TIMEOUT_MS = 1_000

/** Sockets on which each subscription has one delivery; all are made in the turn in which the test says so. */
const startServer = async (t: TestContext, transport: Transport, bodyLength: number) => {
  const nowMs = Date.now
  const metrics = makeMetrics()
  const log = makeSilentLogger()
  const boundary = makeErrorBoundary({ surface: 'streams', metrics, log, nowMs })
  const body = Buffer.from(JSON.stringify({ data: 'x'.repeat(bodyLength) }))
  const waiting: (() => void)[] = []
  const seen: { socket?: Socket; connection?: LiveConnection; most: number } = { most: 0 }
  const subscribe = async (connection: LiveConnection): Promise<Deliveries> => {
    seen.connection = connection
    let steps = 0
    const deliveries: Deliveries = {
      next: async () => {
        steps += 1
        await new Promise<void>((resolve) => waiting.push(resolve))
        return steps === 1 ? { done: false, value: body } : { done: true, value: undefined }
      },
      return: async () => ({ done: true, value: undefined }),
      [Symbol.asyncIterator]() {
        return deliveries
      },
    }
    return deliveries
  }
  const { events } = createLiveConnections({
    ...liveOptions(nowMs),
    limits: { ...LIVE_LIMITS, slowTimeoutMs: SLOW_TIMEOUT_MS },
    admission: new AdmissionControl({
      connections: 10,
      pendingPerAddress: 5,
      connectionsPerOrg: 5,
    }),
    boundary,
    metrics,
    nowMs,
    subscribe,
    describeError: () => [],
  })
  const server = await startSocketServer(
    { transport, log },
    {
      host: '127.0.0.1',
      port: 0,
      maxInboundBytes: MIB,
      maxQueuedBytes: TRANSPORT_LIMIT,
      maxConnections: 10,
      boundary,
    },
    {
      ...events,
      open: (socket, context) => {
        seen.socket = socket
        const { send } = socket
        socket.send = (frame) => {
          send.call(socket, frame)
          seen.most = Math.max(seen.most, socket.buffered())
        }
        events.open(socket, context)
      },
    },
  )
  t.after(() => server.stop())
  const client = new WebSocket(`ws://127.0.0.1:${server.port}/graphql`, 'graphql-transport-ws')
  t.after(() => client.terminate())
  const lengths: number[] = []
  let isReady = false
  client.on('message', (data: Buffer) => {
    if (String(data.subarray(0, 40)).includes('connection_ack')) isReady = true
    else lengths.push(data.length)
  })
  const closed = new Promise<number>((resolve) => client.on('close', resolve))
  await new Promise((resolve) => client.once('open', resolve))
  client.send(JSON.stringify({ type: 'connection_init' }))
  await until(() => isReady)
  /** Subscribes so often; resolves when each waits for its delivery. */
  const begin = async (count: number): Promise<void> => {
    for (let id = 0; id < count; id += 1)
      client.send(
        JSON.stringify({
          id: `${id}`,
          type: 'subscribe',
          payload: { query: 'subscription { a }' },
        }),
      )
    await until(() => waiting.length === count)
  }
  const deliver = (): void => {
    for (const next of waiting.splice(0)) next()
  }
  return { client, closed, lengths, begin, deliver, seen }
}

for (const transport of TRANSPORTS)
  for (const [count, bodyLength] of [
    [32, 200_000],
    [3, 4_000_000],
    [1, LIVE_LIMITS.maxAnswerBytes],
  ] as const)
    test(`${transport}: a client that reads at once gets ${count} deliveries of ${bodyLength} bytes of one turn`, async (t) => {
      const { client, closed, lengths, begin, deliver, seen } = await startServer(
        t,
        transport,
        bodyLength,
      )
      await begin(count)
      deliver()
      const ended = await Promise.race([closed, until(() => lengths.length === count, '', 20_000)])
      assert.equal(ended, true)
      for (const length of lengths) assert.ok(length > bodyLength)
      assert.equal(client.readyState, WebSocket.OPEN)
      assert.ok(
        seen.most < LIVE_LIMITS.maxQueuedBytes + bodyLength + 1_000,
        `${seen.most} bytes queued: one delivery beyond the limit`,
      )
      await until(() => seen.connection?.backlog() === undefined)
    })

for (const transport of TRANSPORTS)
  test(`${transport}: a client that does not read is closed with 1013`, async (t) => {
    const { client, closed, lengths, begin, deliver, seen } = await startServer(
      t,
      transport,
      1_000_000,
    )
    await begin(16)
    client.pause()
    deliver()
    assert.ok(
      await until(() => seen.connection?.backlog() !== undefined, '', 5_000),
      'nothing more is made for it',
    )
    await until(() => seen.connection?.open === false, 'it is closed', 10_000)
    client.resume()
    assert.equal(await closed, 1013)
    assert.ok(lengths.length < 16)
  })
