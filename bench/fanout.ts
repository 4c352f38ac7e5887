import uws from 'uWebSockets.js'
import { setImmediate as turn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Codec } from '../core/codec/contract.ts'
import { localCodec } from '../core/codec/local-codec.ts'
import { makeErrorBoundary } from '../core/ops/error-boundary.ts'
import { makeSilentLogger } from '../core/ops/logger.ts'
import { makeMetrics } from '../core/ops/metrics.ts'
import { topicName } from '../schemas/topics.ts'
import { type Channel, parseChannel } from '../serving/realtime/channel-name.ts'
import type { Frame } from '../serving/realtime/frame-codec.ts'
import { Hub } from '../serving/realtime/hub.ts'
import type { Socket, SocketServer } from '../serving/realtime/socket.ts'
import { PLAIN_VIEW } from '../serving/realtime/subscription-view.ts'
import { serveUws } from '../serving/realtime/uws-server.ts'
import { buildTradeEvent, TOKEN, USDC } from '../test/support/realtime-stack.ts'
import { quantile } from './quantile.ts'

const SOCKETS = 500
/** Publications of one sample: a busy block of one token. */
const BATCH = 50
const ROUNDS = 60
const WARMUP = 10
const WARM_RECORDS = 20_000
const CHANNEL = `dex-trade:eth_${TOKEN}`

/** Plain TCP readers in another thread: they shake hands, then only count bytes. */
const READERS = `
const { workerData, parentPort } = require('node:worker_threads')
const { connect } = require('node:net')
const { port, sockets, shared } = workerData
const counter = new BigInt64Array(shared)
const request = 'GET /connection/websocket HTTP/1.1\\r\\nHost: x\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\nSec-WebSocket-Version: 13\\r\\n\\r\\n'
let open = 0
for (let at = 0; at < sockets; at += 1) {
  const socket = connect(port, '127.0.0.1', () => socket.write(request))
  let shaken = false
  socket.on('data', (chunk) => {
    if (shaken) Atomics.add(counter, 0, BigInt(chunk.length))
    else {
      shaken = true
      open += 1
      if (open === sockets) parentPort.postMessage('open')
    }
  })
}
`

interface Readers {
  received(): number
  stop(): Promise<number>
}

const startReaders = async (port: number): Promise<Readers> => {
  const shared = new SharedArrayBuffer(8)
  const counter = new BigInt64Array(shared)
  const worker = new Worker(READERS, { eval: true, workerData: { port, sockets: SOCKETS, shared } })
  await new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  return { received: () => Number(Atomics.load(counter, 0)), stop: () => worker.terminate() }
}

/** Bytes of a text message on the wire: header of 2, 4 or 10 bytes, then the text. */
const frameBytes = (text: string): number => {
  const bytes = Buffer.byteLength(text)
  return bytes + (bytes < 126 ? 2 : bytes < 65_536 ? 4 : 10)
}

interface Side {
  /** Publishes one batch; returns the bytes that all readers get of it. */
  batch(): number
  readonly readers: Readers
  stop(): Promise<unknown>
}

const records = () => {
  const codec = localCodec()
  let seq = 0
  return {
    codec,
    next: () => {
      seq += 1
      const meta = { chain: 'eth', op: 'OP_APPLY', seq, part: 0 } as const
      return {
        topic: topicName('tradesProcessed', 'eth'),
        partition: 0,
        offset: seq,
        key: TOKEN,
        value: codec.encode('dex.trade.TradeEvents', { meta, events: [buildTradeEvent(seq)] }),
        headers: {},
        timestampMs: 0,
      }
    },
  }
}

const channel = (): Channel => {
  const found = parseChannel(CHANNEL, new Set(['eth']))
  if ('code' in found) throw new Error(`${CHANNEL} is not a channel`)
  return found
}

/** A hub with one recoverable lane, ready for records. */
const liveHub = (codec: Codec, publish: (name: string, frame: Frame) => void): Hub => {
  const hub = new Hub({
    codec,
    quotes: new Map([['eth', new Set([USDC])]]),
    numbers: 'string',
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    nowMs: () => 0,
    publish,
  })
  const topic = topicName('tradesProcessed', 'eth')
  hub.openLane({ topic, partition: 0, partitions: 1, startOffset: 0, origin: 'bench' })
  hub.goLive()
  return hub
}

const joinTo = (hub: Hub, socket: Socket): void =>
  hub.join(
    { socket, orgId: 'bench', congested: false, deliver: () => undefined, bill: () => undefined },
    channel(),
    { view: PLAIN_VIEW, after: 0 },
  )

/** The product's way: a record of the log in, decoded, mapped, written once, published to the channel's topic. */
const ourSide = async (): Promise<Side> => {
  const { codec, next } = records()
  const holder: { server?: SocketServer } = {}
  let bytes = 0
  const hub = liveHub(codec, (name, frame) => {
    bytes += frameBytes(String(frame))
    holder.server?.publish(name, frame)
  })
  const server = await serveUws(
    uws,
    {
      host: '127.0.0.1',
      port: 0,
      maxInboundBytes: 1_024,
      maxQueuedBytes: 2 ** 24,
      maxConnections: 2 * SOCKETS,
      boundary: makeErrorBoundary({
        surface: 'streams',
        metrics: makeMetrics(),
        log: makeSilentLogger(),
        nowMs: Date.now,
      }),
    },
    {
      upgrade: async () => ({ accepted: true, protocol: '', context: undefined }),
      open: (socket) => joinTo(hub, socket),
      message: () => undefined,
      alive: () => undefined,
      overflowed: () => undefined,
      failed: () => undefined,
      closed: () => undefined,
    },
  )
  holder.server = server
  const readers = await startReaders(server.port)
  const ready = Array.from({ length: BATCH * (ROUNDS + WARMUP) }, next)
  let at = 0
  return {
    readers,
    batch: () => {
      bytes = 0
      for (const record of ready.slice(at, at + BATCH)) hub.accept(record)
      at += BATCH
      return bytes * SOCKETS
    },
    stop: async () => {
      await readers.stop()
      await server.stop()
    },
  }
}

/** The bare way: the same text, made beforehand, given to `app.publish` in a loop. */
const bareSide = async (): Promise<Side> => {
  const texts: string[] = []
  const { codec, next } = records()
  const hub = liveHub(codec, (_, frame) => texts.push(String(frame)))
  joinTo(hub, NO_SOCKET)
  for (let at = 0; at < BATCH * (ROUNDS + WARMUP); at += 1) hub.accept(next())
  const app = uws.App()
  app.ws('/*', { maxBackpressure: 2 ** 24, open: (ws) => void ws.subscribe(CHANNEL) })
  const port = await new Promise<number>((resolve, reject) => {
    app.listen('127.0.0.1', 0, (listening) =>
      listening ? resolve(uws.us_socket_local_port(listening)) : reject(new Error('no port')),
    )
  })
  const readers = await startReaders(port)
  let at = 0
  return {
    readers,
    batch: () => {
      const some = texts.slice(at, at + BATCH)
      for (const text of some) app.publish(CHANNEL, text)
      at += BATCH
      return some.reduce((sum, text) => sum + frameBytes(text), 0) * SOCKETS
    },
    stop: async () => {
      await readers.stop()
      app.close()
    },
  }
}

const NO_SOCKET: Socket = {
  send: () => undefined,
  ping: () => undefined,
  buffered: () => 0,
  join: () => undefined,
  leave: () => undefined,
  close: () => undefined,
  drop: () => undefined,
}

/** A server that has been running: the hub's code is compiled before anything is measured. */
const warmUp = (): void => {
  const { codec, next } = records()
  const hub = liveHub(codec, () => undefined)
  joinTo(hub, NO_SOCKET)
  for (let at = 0; at < WARM_RECORDS; at += 1) hub.accept(next())
}

/** One batch until the last reader has its last byte. */
const sampleMs = async ({ batch, readers }: Side): Promise<number> => {
  const before = readers.received()
  const start = process.hrtime.bigint()
  const expected = before + batch()
  while (readers.received() < expected) await turn()
  return Number(process.hrtime.bigint() - start) / 1e6
}

/**
 * Prints one JSON line: deliveries per second (publications times sockets) from a record of the log to 500 sockets, beside a
 * bare publish loop of the same bytes, in turns. A sample is 50 publications until the last socket has them.
 */
export const fanoutBench = async (): Promise<void> => {
  warmUp()
  const [ours, bare] = [await ourSide(), await bareSide()]
  const oursMs: number[] = []
  const bareMs: number[] = []
  for (let round = -WARMUP; round < ROUNDS; round += 1) {
    const one = await sampleMs(ours)
    const two = await sampleMs(bare)
    if (round < 0) continue
    oursMs.push(one)
    bareMs.push(two)
  }
  await Promise.all([ours.stop(), bare.stop()])
  for (const samples of [oursMs, bareMs]) samples.sort((a, b) => a - b)
  const perSecond = ((BATCH * SOCKETS) / quantile(oursMs, 0.5)) * 1_000
  const barePerSecond = ((BATCH * SOCKETS) / quantile(bareMs, 0.5)) * 1_000
  const line = {
    bench: 'fanout',
    node: process.version,
    perSecond: Math.round(perSecond),
    p50Ms: Number(quantile(oursMs, 0.5).toPrecision(4)),
    p99Ms: Number(quantile(oursMs, 0.99).toPrecision(4)),
    barePerSecond: Math.round(barePerSecond),
    ratio: Number((perSecond / barePerSecond).toPrecision(4)),
    bare: 'uWebSockets.js publish loop of the same texts, made beforehand, to as many sockets',
  }
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
