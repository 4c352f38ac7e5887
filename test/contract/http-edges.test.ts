import assert from 'node:assert/strict'
import { Agent, createServer, get, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { loadConfig } from '../../core/config/load.ts'
import { guardServer, limitConnectionsPerAddress } from '../../core/ops/http-server-guard.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { type OpsServer, openOpsServer } from '../../core/ops/server.ts'
import { ANONYMOUS_REQUESTS_PER_SECOND } from '../../schemas/plans.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import { createAdminServer } from '../../serving/http/admin.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { exchangeRawBytes } from '../support/raw-http.ts'
import { until, withTimeout } from '../support/until.ts'

const ADMIN_TOKEN = 'the admin token of this test'

let api: TestApi
let admin: FastifyInstance
let ops: OpsServer
const metrics = makeMetrics()
const ports: Record<'public' | 'admin' | 'ops', number> = { public: 0, admin: 0, ops: 0 }

before(async () => {
  api = await startApi()
  const log = makeSilentLogger()
  admin = await createAdminServer({
    organizations: api.organizations,
    endpoints: api.endpoints,
    meter: createMeter(),
    config: loadConfig({ ADMIN_TOKEN }),
    metrics,
    log,
    nowMs: Date.now,
  })
  await admin.listen({ host: '127.0.0.1', port: 0 })
  ops = await openOpsServer({ host: '127.0.0.1', port: 0, metrics, checks: [], handlers: {}, log })
  ports.public = Number(new URL(api.base).port)
  ports.admin = (admin.server.address() as AddressInfo).port
  ports.ops = Number(new URL(ops.url).port)
})
after(async () => {
  await ops.stop()
  await admin.close()
  await api.stop()
})

const TAIL = ' HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
/** What a listener answers with a status below 500, or closes; nothing of it is served. */
const LINES = [
  `GET //${TAIL}`,
  `GET ///${TAIL}`,
  `GET http://${TAIL}`,
  `GET http://[${TAIL}`,
  `GET http://a:b:c/${TAIL}`,
  `GET \\\\${TAIL}`,
  `GET *${TAIL}`,
  `OPTIONS *${TAIL}`,
  `GET ?${TAIL}`,
  `GET /%${TAIL}`,
  `GET /%00%ff${TAIL}`,
  `GET /?__proto__=1&constructor=2${TAIL}`,
  `GET //evil.example/..%2f${TAIL}`,
  `CONNECT evil.example:443${TAIL}`,
  `TRACE /${TAIL}`,
  `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`,
  `GET / HTTP/9.9\r\n\r\n`,
  `GET /\r\n\r\n`,
  `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03`,
  `GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: abc\r\nSec-WebSocket-Version: 13\r\n\r\n`,
  `GET / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMA\r\n\r\n`,
  `GET / HTTP/1.1\r\nHost: x\r\nExpect: the-unexpected\r\nConnection: close\r\n\r\n`,
  `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`,
  `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n`,
  `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
  `POST /oauth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a":`,
  'GET / HT',
  '',
]

test('the API document is rendered before the plane listens: no request renders it', async () => {
  admin.swagger = () => {
    throw new Error('printed for a request')
  }
  const { status, text } = await exchangeRawBytes(ports.admin, `GET /openapi.json${TAIL}`)
  assert.equal(status, 200)
  assert.ok(text.includes('"Sluice administration"'))
})

test('no request line stops a listener: each is refused or closed, and the next request is served', async () => {
  for (const [surface, port] of Object.entries(ports)) {
    for (const line of LINES) {
      const { status } = await exchangeRawBytes(port, Buffer.from(line, 'latin1'))
      assert.ok(status < 500, `${surface} ${line.slice(0, 60)}: ${status}`)
      if (line.startsWith('GET /') && line.endsWith(TAIL)) assert.notEqual(status, 0, line)
      const { status: next } = await exchangeRawBytes(port, `GET /openapi.json${TAIL}`, {
        half: false,
        limitMs: 10_000,
      })
      assert.equal(next, surface === 'ops' ? 404 : 200, `${surface} after ${line.slice(0, 60)}`)
    }
  }
})

test('bytes that are not HTTP are counted by surface; a method that is not served answers 405 with the allowed methods', async () => {
  const counted = async (surface: string): Promise<number> => {
    const { values } = await metrics.edgeErrors.get()
    const own = values.filter(({ labels }) => labels.surface === surface)
    return own.reduce((sum, { value }) => sum + value, 0)
  }
  for (const surface of ['admin', 'ops'] as const) {
    const earlier = await counted(surface)
    const { status } = await exchangeRawBytes(ports[surface], 'nothing like HTTP\r\n\r\n')
    assert.equal(status, 400)
    assert.equal(await counted(surface), earlier + 1, surface)
  }
  const posted = await exchangeRawBytes(ports.ops, `POST /health${TAIL}`)
  assert.match(posted.text, /^HTTP\/1\.1 405[\s\S]*allow: GET, HEAD/i)
  assert.match((await exchangeRawBytes(ports.ops, `GET http://any/health?x${TAIL}`)).text, /"ok"/)
})

/** Statuses of the answers on one connection, and the bytes of all; the connection is closed or nothing more came. */
const pipelined = async (port: number, path: string, count: number) => {
  const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
  const { text } = await exchangeRawBytes(port, request.repeat(count), {
    half: false,
    limitMs: 2_000,
  })
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
}

test('requests behind each other are answered up to eight, then refused; the process does not fall behind', async () => {
  for (const [surface, port] of Object.entries(ports)) {
    const found = surface === 'ops' ? 404 : 200
    assert.deepEqual(await pipelined(port, '/openapi.json', 5), Array(5).fill(found), surface)
    const many = await pipelined(port, '/openapi.json', 1_500)
    assert.deepEqual(many, [...Array(8).fill(found), 429], surface)
  }
})

test('a client that reads no answer holds eight at most, and its connection is closed', async () => {
  const refused = async () =>
    (await api.metrics.edgeErrors.get()).values.find(({ labels }) => labels.reason === 'pipelined')
      ?.value ?? 0
  const earlier = await refused()
  const socket = connect(ports.public, '127.0.0.1')
  socket.pause()
  const closed = new Promise<void>((resolve) => {
    socket.on('error', () => undefined)
    socket.once('close', () => resolve())
  })
  socket.write('GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_500))
  await until(async () => (await refused()) > earlier, 'the client is refused')
  let answered = ''
  socket.on('data', (chunk: Buffer) => {
    answered += chunk.toString('latin1')
  })
  socket.resume()
  await withTimeout(closed, 'the close of a refused connection', 15_000)
  assert.ok(answered.split('HTTP/1.1 ').length - 1 <= 9)
})

test('a request behind 1 MiB of answers that are not sent is refused, and its connection is closed', async () => {
  const body = Buffer.alloc(16 * 1_048_576, 'x')
  let asked = 0
  const server = createServer((_request, response) => {
    asked += 1
    response.end(body)
  })
  guardServer(server, { surface: 'ops', metrics: makeMetrics(), log: makeSilentLogger() })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  assert.deepEqual(await pipelined(port, '/', 4), [200, 429])
  assert.equal(asked, 1)
  server.close()
})

test('open paths are rate limited by address', async () => {
  for (const surface of ['public', 'admin'] as const) {
    const paths = surface === 'public' ? ['/openapi.json', '/docs'] : ['/openapi.json']
    for (const path of paths) {
      const url = `http://127.0.0.1:${ports[surface]}${path}`
      const answers = await Promise.all(
        Array.from({ length: 4 * ANONYMOUS_REQUESTS_PER_SECOND }, async () => {
          const answer = await fetch(url, { headers: { 'if-none-match': '*' } })
          await answer.arrayBuffer()
          return answer
        }),
      )
      const limited = answers.filter(({ status }) => status === 429)
      assert.ok(limited.length > 0, `${surface} ${path}`)
      assert.ok(limited.every(({ headers }) => Number(headers.get('retry-after')) >= 1))
    }
  }
})

test('operations are not for web pages, nor for names that were made to mean this machine', async () => {
  const asked = async (head: string): Promise<number> =>
    (
      await exchangeRawBytes(
        ports.ops,
        `GET /metrics HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
        {
          half: false,
        },
      )
    ).status
  for (const host of ['localhost', '127.0.0.1:9100', '[::1]:9100']) {
    assert.equal(await asked(`Host: ${host}\r\n`), 200, host)
  }
  assert.equal(await asked('Host: localhost\r\nSec-Fetch-Site: same-origin\r\n'), 200)
  assert.equal(await asked('Host: rebound.example\r\n'), 403)
  assert.equal(await asked('Host: localhost\r\nOrigin: https://page.example\r\n'), 403)
  assert.equal(await asked('Host: localhost\r\nSec-Fetch-Site: cross-site\r\n'), 403)
})

test('an IP address may hold a share of the connections of a plane, and closed connections free it', async () => {
  const server: Server = createServer((_request, response) => response.end())
  const trusted = ['127.0.0.2/32']
  limitConnectionsPerAddress(server, { surface: 'public', metrics }, { most: 1_200, trusted })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const open = (localAddress: string) =>
    new Promise<Socket | undefined>((resolve) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress })
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
      socket.once('data', () => resolve(socket))
      socket.once('error', () => resolve(undefined))
      socket.once('close', () => resolve(undefined))
    })
  const held = await Promise.all(Array.from({ length: 300 }, () => open('127.0.0.1')))
  try {
    assert.ok(held.every((socket) => socket !== undefined))
    assert.equal(await open('127.0.0.1'), undefined, 'a quarter of 1,200 is held')
    const others = [await open('127.0.0.3'), await open('127.0.0.2')]
    assert.ok(others.every((socket) => socket !== undefined))
    for (const socket of others) socket?.destroy()
    held.pop()?.destroy()
    await until(async () => {
      const socket = await open('127.0.0.1')
      if (socket !== undefined) held.push(socket)
      return socket
    }, 'room for another one')
  } finally {
    for (const socket of held) socket?.destroy()
    server.close()
  }
})

test('an HTTP connection serves any number of consecutive requests', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    for (let turn = 0; turn < 40; turn += 1) {
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const asked = get(`${api.base}/health`, { agent }, (response) => {
          response.resume()
          response.once('end', () => resolve(response.statusCode))
        })
        asked.once('error', reject)
      })
      assert.equal(status, 200)
    }
  } finally {
    agent.destroy()
  }
})

test('a connection on which nothing moves for two minutes is closed', async () => {
  const server: Server = createServer((_request, response) => response.end())
  guardServer(server, { surface: 'ops', metrics: makeMetrics(), log: makeSilentLogger() })
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const closed = new Promise<void>((resolve) => client.once('close', () => resolve()))
  client.resume()
  try {
    const socket = await accepted
    assert.equal(socket.timeout, 120_000)
    socket.emit('timeout')
    await withTimeout(closed, 'the close of an idle connection', 5_000)
  } finally {
    client.destroy()
    server.closeAllConnections()
    server.close()
  }
})

test('an exception of a listener closes its own connection and is counted', async () => {
  const server: Server = createServer(() => {
    throw new Error('a bug behind this request')
  })
  server.on('upgrade', () => {
    throw new Error('a bug behind this upgrade')
  })
  const own = makeMetrics()
  guardServer(server, { surface: 'ops', metrics: own, log: makeSilentLogger() })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const upgrade = 'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: y\r\nConnection: Upgrade\r\n\r\n'
  for (const bytes of [`GET /${TAIL}`, upgrade]) {
    assert.deepEqual(await exchangeRawBytes(port, bytes, { half: false }), { text: '', status: 0 })
  }
  const { values } = await own.edgeErrors.get()
  assert.deepEqual(
    values.map(({ labels, value }) => ({ ...labels, value })),
    [{ surface: 'ops', reason: 'exception', value: 2 }],
  )
  await new Promise((resolve) => server.close(resolve))
})

const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`
const post = (path: string, body: string, type = 'application/json') =>
  callApi(api, path, {
    method: 'POST',
    headers: { 'x-api-key': api.apiKey, 'content-type': type },
    body,
  })

test('bodies are not coerced, have a bounded depth, and reach no prototype', async () => {
  const credentials = {
    grant_type: 'client_credentials',
    client_id: api.clientId,
    audience: 'https://api.sluice.invalid',
  }
  const listed = { ...credentials, client_secret: [api.clientSecret] }
  for (const body of [
    listed,
    { ...credentials, client_secret: { toString: api.clientSecret } },
    { ...credentials, client_secret: api.clientSecret, scope: 5 },
    { ...credentials, client_secret: api.clientSecret, audience: [credentials.audience] },
  ]) {
    const answer = await post('/oauth/token', JSON.stringify(body))
    assert.equal(answer.status, 400, JSON.stringify(body))
    assert.equal((answer.body as { error: string }).error, 'invalid_request')
  }
  const good = { ...credentials, client_secret: api.clientSecret }
  assert.equal((await post('/oauth/token', JSON.stringify(good))).status, 200)
  const deep = `{"grant_type":${nested(4_000)}}`
  assert.equal((await post('/oauth/token', deep)).status, 400)
  const url = 'https://receiver.example.com/'
  for (const [body, code] of [
    [`{"url":"${url}","metadata":{"a":${nested(4_000)}}}`, 400],
    [`{"url":"${url}","__proto__":{"disabled":true}}`, 400],
    [`{"url":"${url}","disabled":"true"}`, 40002],
    [`{"url":"${url}","rateLimit":"5"}`, 40002],
    [`{"url":"${url}","channels":"sol.token.created"}`, 40002],
    [`{"url":["${url}"]}`, 52010],
  ] as const) {
    const answer = await post('/v2/webhook/endpoint', body)
    const { code: said } = answer.body as { code: number }
    assert.deepEqual([answer.status, said], [400, code], body.slice(0, 80))
  }
})

test('a number in a query string has one notation, and a single value is given once', async () => {
  for (const limit of [
    ...['1e1', '%2020', '20%20', '+20', '%2B20', '0x14', '20.0', '020', '2_0', '-0', '', 'null'],
    ...['٢٠', '20n', 'Infinity', '9007199254740993', '1&limit=1', '[]'],
  ]) {
    const { status, body } = await callApi(api, `/v2/token/search?limit=${limit}`)
    const { code, details } = body as { code: number; details: { parameter: string } }
    assert.deepEqual([status, code, details.parameter], [400, 40002, 'limit'], limit)
  }
  const candles = `/v2/token/eth/0x${'1'.repeat(40)}/candles?resolution=1m`
  for (const [query, code] of [
    ['from=1e9', 40031],
    ['from=1&from=2', 40031],
    ['to=0x10', 40031],
    ['fillGaps=1', 40002],
    ['fillGaps=TRUE', 40002],
    ['fillGaps=true&fillGaps=true', 40002],
    ['priceType=usd&priceType=usd', 40002],
    ['resolution=1m', 40032],
    ['limit[]=5', 40002],
  ] as const) {
    const { status, body } = await callApi(api, `${candles}&${query}`)
    assert.deepEqual([status, (body as { code: number }).code], [400, code], query)
  }
  for (const query of ['limit=20&from=0&to=1700000000', 'fillGaps=true', 'anything=1e1']) {
    assert.equal((await callApi(api, `${candles}&${query}`)).status, 200, query)
  }
  for (const chains of ['chains=eth', 'chains[]=eth', 'chains=eth&chains=sol', 'chains=eth,sol']) {
    assert.equal((await callApi(api, `/v2/token/search?${chains}`)).status, 200, chains)
  }
})

test('thousands of invalid items are reported in a few lines', async () => {
  const channels = Array.from({ length: 20_000 }, (_, index) => `c${index}`)
  const body = JSON.stringify({ url: 'https://receiver.example.com/', channels })
  const answer = await post('/v2/webhook/endpoint', body)
  assert.equal(answer.status, 400)
  assert.ok(answer.text.length < 8_192, `${answer.text.length}`)
})
