import assert from 'node:assert/strict'
import { request as rawRequest } from 'node:http'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { FastifyPluginAsync } from 'fastify'
import { openWarehouse } from '../../core/clickhouse/client.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { addressFromNumber } from '../support/builders/market-trade.ts'
import {
  assertProblem,
  type ExpectedProblem,
  record,
  startTokenApi,
  USDC,
} from '../support/token-api.ts'

let api: TestApi
before(async () => {
  api = await startTokenApi()
})
after(() => api.stop())

test('invalid parameters answer 400 with the name of the parameter', async () => {
  const candles = `/v2/token/eth/${addressFromNumber(1)}/candles`
  const cases: readonly (readonly [string, ExpectedProblem])[] = [
    [
      '/v2/token/search?limit=0',
      { status: 400, code: 40002, details: { parameter: 'limit', value: 0 } },
    ],
    ['/v2/token/search?limit=101', { status: 400, code: 40002 }],
    ['/v2/token/search?limit=ten', { status: 400, code: 40002 }],
    ['/v2/token/search?limit=1&limit=2', { status: 400, code: 40002 }],
    [
      '/v2/token/search?direction=up',
      {
        status: 400,
        code: 40002,
        details: { parameter: 'direction', value: 'up', allowed_values: ['next', 'prev'] },
      },
    ],
    ['/v2/token/search?sortBy=beauty', { status: 400, code: 40002 }],
    [`/v2/token/search?keyword=${'x'.repeat(129)}`, { status: 400, code: 40002 }],
    ['/v2/token/search?limit=0&direction=up', { status: 400, code: 40001 }],
    ['/v2/token/search?chain=ETH', { status: 404, code: 40405 }],
    ['/v2/token/search?chains=eth,tron', { status: 404, code: 40405 }],
    [`/v2/token/tron/${addressFromNumber(1)}`, { status: 404, code: 40405 }],
    [`/v2/token/__proto__/${addressFromNumber(1)}`, { status: 404, code: 40405 }],
    [
      '/v2/token/eth/0x12',
      { status: 400, code: 40009, details: { parameter: 'tokenAddress', value: '0x12' } },
    ],
    [`/v2/token/sol/${addressFromNumber(1)}`, { status: 400, code: 40009 }],
    [`/v2/token/eth/${addressFromNumber(404)}`, { status: 404, code: 404 }],
    [`/v2/token/sol/${'1'.repeat(40)}`, { status: 404, code: 404 }],
    [candles, { status: 400, code: 40004, details: { parameter: 'resolution' } }],
    [`${candles}?resolution=7m`, { status: 400, code: 40032 }],
    [`${candles}?resolution=1D`, { status: 400, code: 40032 }],
    [`${candles}?resolution=1m&from=yesterday`, { status: 400, code: 40031 }],
    [`${candles}?resolution=1m&to=-1`, { status: 400, code: 40031 }],
    [`${candles}?resolution=1m&from=1e400`, { status: 400, code: 40031 }],
    [`${candles}?resolution=1m&limit=1001`, { status: 400, code: 40002 }],
    [`${candles}?resolution=1m&priceType=eur`, { status: 400, code: 40002 }],
    [`${candles}?resolution=1m&fillGaps=perhaps`, { status: 400, code: 40002 }],
    [
      `/v2/token/eth/pair/${addressFromNumber(1)}/candles?resolution=1m`,
      { status: 400, code: 40009 },
    ],
    [
      `/v2/token/eth/pair/${addressFromNumber(1)}-${addressFromNumber(2)}-${addressFromNumber(3)}/candles?resolution=1m`,
      { status: 400, code: 40009 },
    ],
    ['/v3/token/search', { status: 404, code: 404 }],
    ['/', { status: 404, code: 404 }],
    ['/v2/token/%ff%zz', { status: 400, code: 400 }],
  ]
  for (const [path, expectation] of cases) assertProblem(await callApi(api, path), expectation)
})

test('unknown parameters are ignored', async () => {
  assert.equal(
    (await callApi(api, '/v2/token/search?keyword=pepe&offset=5&utm=x&__proto__=1&constructor[]=2'))
      .status,
    200,
  )
})

test('an unsupported method answers 405 with the allowed methods, whatever the body', async () => {
  for (const body of ['{', '{}', 'x'.repeat(10_000)]) {
    const answer = await callApi(api, '/v2/token/search', {
      method: 'POST',
      headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
      body,
    })
    assertProblem(answer, { status: 405, code: 405 })
    assert.equal(answer.headers.get('allow'), 'GET, HEAD')
  }
})

test('a valid x-request-id is returned, and an invalid one is replaced', async () => {
  const idOf = async (id: string) =>
    (await callApi(api, '/nope', { headers: { 'x-request-id': id } })).headers.get('x-request-id')
  assert.equal(await idOf('abcdEFGH-_12'), 'abcdEFGH-_12')
  for (const id of ['short', 'x'.repeat(65), 'with space here']) {
    assert.match((await idOf(id)) ?? '', /^[0-9A-HJKMNP-TV-Z]{26}$/)
  }
})

test('a client that accepts application/json only gets the same error body under that type', async () => {
  const { headers, body } = await callApi(api, '/nope', { headers: { accept: 'application/json' } })
  assert.match(headers.get('content-type') ?? '', /^application\/json/)
  assert.equal(record(body).code, 404)
})

/** Sends bytes as they are: fetch would repair them. */
const raw = (path: string, headers: Record<string, string>, body = ''): Promise<number> =>
  new Promise((resolve) => {
    const request = rawRequest(
      { host: '127.0.0.1', port: new URL(api.base).port, path, headers, agent: false },
      (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      },
    )
    request.on('error', () => resolve(0))
    request.end(body)
  })

test('hostile paths and headers never cause a server error', async () => {
  const headers = { 'x-api-key': api.apiKey }
  const paths = [
    '/v2/token/eth/%00',
    '/v2/token/../../etc/passwd',
    '//v2/token/search',
    '/v2/token/search?%',
    '/v2/token/search?keyword=%00%ff%27%5c',
    `/v2/token/search?keyword=${'%F0%9F%90%B8'.repeat(30)}`,
    `/v2/token/eth/${'a'.repeat(600)}`,
    `/v2/token/search?${'a=1&'.repeat(3_000)}`,
    `/v2/token/search?keyword=${'x'.repeat(20_000)}`,
    '/v2/token/search?keyword[a][b]=1&keyword[]=2',
    '/v2/token/eth/pair/-/candles?resolution=1m',
    `/v2/token/search?chains=${'eth,'.repeat(300)}`,
  ]
  for (const path of paths) {
    const status = await raw(path, headers)
    assert.ok(status >= 200 && status < 500, `${status} for ${path.slice(0, 60)}`)
  }
  const wrongHeaders = [
    { 'x-api-key': 'k'.repeat(5_000) },
    { 'x-api-key': 'ü' },
    { authorization: 'Bearer' },
    { ...headers, accept: 'x'.repeat(2_000) },
    { ...headers, 'content-length': '5', 'content-type': 'application/json' },
  ]
  for (const wrong of wrongHeaders) {
    const status = await raw('/v2/token/search?limit=1', wrong, 'xxxxx')
    assert.ok(status >= 200 && status < 500, `${status} for ${JSON.stringify(wrong).slice(0, 60)}`)
  }
})

test('random queries and paths never cause a server error', async () => {
  const words = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.integer().map(String),
    fc.double().map(String),
    fc.constantFrom(
      '1m',
      'usd',
      'next',
      'asc',
      'eth',
      'sol',
      'true',
      '',
      '0',
      '1e308',
      "'",
      '\\',
      '%',
    ),
  )
  const names = fc.constantFrom(
    ...['keyword', 'q', 'chain', 'chains', 'protocols', 'sortBy', 'sort', 'cursor', 'limit'],
    ...['direction', 'resolution', 'priceType', 'from', 'to', 'fillGaps', 'mode'],
  )
  const queries = fc
    .array(fc.tuple(names, words), { maxLength: 6 })
    .map((pairs) => new URLSearchParams(pairs).toString())
  const paths = fc.constantFrom(
    '/v2/token/search?',
    `/v1/token/eth/${addressFromNumber(1)}/candles?resolution=1m&`,
    `/v2/token/eth/pool/${addressFromNumber(101)}/candles?resolution=1w&`,
    `/v2/token/eth/pair/${addressFromNumber(1)}-${USDC}/candles?`,
  )
  const segments = fc
    .tuple(words, words)
    .map((parts) => `/v2/token/${parts.map(encodeURIComponent).join('/')}`)
  const urls = fc.oneof(
    fc.tuple(paths, queries).map((parts) => parts.join('')),
    segments,
  )
  await fc.assert(
    fc.asyncProperty(urls, async (url) => {
      const { status, text } = await callApi(api, url)
      assert.ok(status < 500, `${status} ${text}`)
    }),
    { numRuns: 200 },
  )
})

test('an unreachable store answers 503 without details, and costs nothing', async () => {
  const warehouse = await openWarehouse({
    kind: 'server',
    url: 'http://127.0.0.1:1',
    database: 'default',
  })
  const away = await startApi({ warehouse })
  const answer = await callApi(away, '/v2/token/search')
  assertProblem(answer, { status: 503, code: 50005 })
  assert.doesNotMatch(answer.text, /127\.0|ECONN|warehouse/)
  assert.equal(answer.headers.get('retry-after'), '1')
  assert.equal(answer.headers.get('x-cu-cost'), '0')
  await away.stop()
})

test('bodies: too large, of a foreign type, broken, and a bug behind them', async () => {
  const plugin: FastifyPluginAsync = async (app) => {
    app.post('/echo', async ({ body }) => body)
    app.post('/bug', async () => Buffer.from(null as unknown as string))
  }
  const warehouse = await openWarehouse({
    kind: 'server',
    url: 'http://127.0.0.1:1',
    database: 'default',
  })
  const other = await startApi({ warehouse, plugins: [plugin] })
  const post = (path: string, type: string, body: string) =>
    callApi(other, path, { method: 'POST', headers: { 'content-type': type }, body })
  const cases: readonly (readonly [string, string, string, number])[] = [
    ['/echo', 'application/json', JSON.stringify({ a: 'x'.repeat(300_000) }), 413],
    ['/echo', 'application/xml', '<a/>', 415],
    ['/echo', 'application/json', '{"a":', 400],
    ['/echo', 'application/json', '{"__proto__":{"a":1}}', 400],
    ['/bug', 'application/json', '{}', 500],
  ]
  for (const [path, type, body, code] of cases) {
    assertProblem(await post(path, type, body), { status: code, code })
  }
  assert.deepEqual((await post('/echo', 'application/json', '{"a":1}')).body, { a: 1 })
  await other.stop()
})
