import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:net'
import { after, test } from 'node:test'
import { ListenError, listenAt } from '../../core/http/listening.ts'
import { makeErrorBoundary } from '../../core/ops/error-boundary.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { startSocketServer, type Transport } from '../../serving/realtime/start-socket-server.ts'

const HOST = '127.0.0.1'
const servers: Server[] = []
after(() => {
  for (const server of servers) server.close()
})

const listen = (server: Server, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, HOST, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : 0)
    })
  })

const takePort = async (): Promise<number> => {
  const server = createServer()
  servers.push(server)
  return listen(server, 0)
}

test('the error of a port in use names its setting', async () => {
  const port = await takePort()
  const place = { setting: 'OPS_PORT', host: HOST, port }
  await assert.rejects(
    listenAt(place, () => listen(createServer(), port)),
    (error) =>
      error instanceof ListenError &&
      error.message.startsWith(`cannot listen on ${HOST}:${port} (OPS_PORT): another process`),
  )
})

test('an address that the machine does not have is a listen error, and other errors stay as they are', async () => {
  // 192.0.2.0/24 is for documentation. Source: RFC 5737.
  const place = { setting: 'HOST', host: '192.0.2.1', port: 0 }
  const listenElsewhere = () =>
    new Promise<void>((resolve, reject) => {
      createServer().once('error', reject).listen(0, '192.0.2.1', resolve)
    })
  await assert.rejects(
    listenAt(place, listenElsewhere),
    /\(HOST\): the machine has no such address/,
  )
  const bug = new TypeError('x')
  await assert.rejects(
    listenAt(place, () => Promise.reject(bug)),
    (error) => error === bug,
  )
})

const startStreams = (transport: Transport, port: number) => {
  const log = makeSilentLogger()
  const boundary = makeErrorBoundary({
    surface: 'streams',
    metrics: makeMetrics(),
    log,
    nowMs: Date.now,
  })
  return startSocketServer(
    { transport, log },
    {
      host: HOST,
      port,
      maxInboundBytes: 1_024,
      maxQueuedBytes: 1_024,
      maxConnections: 10,
      boundary,
    },
    {
      upgrade: async () => ({ accepted: true, protocol: '', context: undefined }),
      open: () => undefined,
      message: () => undefined,
      alive: () => undefined,
      overflowed: () => undefined,
      failed: () => undefined,
      closed: () => undefined,
    },
  )
}

for (const transport of ['uws', 'ws'] as const) {
  test(`streams do not share a port with another server (${transport})`, async () => {
    const first = await startStreams('uws', 0)
    try {
      await assert.rejects(
        startStreams(transport, first.port),
        (error) => error instanceof ListenError && error.message.includes(`${HOST}:${first.port}`),
      )
    } finally {
      await first.stop()
    }
  })
}
