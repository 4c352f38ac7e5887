import assert from 'node:assert/strict'
import { request as rawRequest } from 'node:http'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { FastifyPluginAsync } from 'fastify'
import { openWarehouse } from '../../core/clickhouse/client.ts'
import { ROUTE_MILLI_UNITS } from '../../schemas/plans.ts'
import { SCOPES } from '../../schemas/scopes.ts'
import { generateApiKey } from '../../serving/auth/api-keys.ts'
import { NOT_IMPLEMENTED_ROUTES } from '../../serving/http/not-implemented.ts'
import { type ApiResponse, callApi, startApi, type TestApi } from '../support/api-stack.ts'
import {
  addressFromNumber,
  type MarketTrade,
  marketTradeRows,
} from '../support/builders/market-trade.ts'
import { until } from '../support/until.ts'

const HEAD_MS = Date.UTC(2026, 10, 20, 12)
const SINCE_MS = HEAD_MS - 86_400_000
const USDC = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'

const token = (number: number, symbol: string, name: string, more: object = {}): object => ({
  token_address: addressFromNumber(number),
  symbol,
  name,
  decimals: 18,
  total_supply: (1_000n * 10n ** 18n).toString(),
  _ver: 1,
  ...more,
})
const pool = (number: number, token_a: string, liquidity_usd: string | null): object => ({
  pool_address: addressFromNumber(number),
  token_a,
  token_b: USDC,
  base_is_a: 1,
  protocol_family: 'uniswap_v2',
  liquidity_usd,
  liquidity_native: liquidity_usd,
  _ver: 1,
})

const document = (description: string, fetchedMs: number): object => ({
  token_address: addressFromNumber(1),
  uri: 'ipfs://frog',
  description,
  image_url: 'https://gate.example/ipfs/frog',
  social: { twitter: 'https://x.example/pepe' },
  fetched_at: new Date(fetchedMs).toISOString(),
})

const TOKENS = [
  token(1, 'PEPE', 'Pepe', {
    uri: 'ipfs://frog',
    creators: [{ address: addressFromNumber(77), verified: 1, share: 100 }],
    created_at: new Date(SINCE_MS).toISOString(),
    created_slot: 7,
    created_tx: '0xfeed',
    standard: 'erc20',
  }),
  token(2, 'PEPE', 'Pepe the second'),
  token(3, 'PEPE2', 'Next'),
  token(4, 'OLD', 'Pepe'),
  token(5, 'XPEPE', 'Cross'),
  token(6, '100%', 'Per_cent'),
  token(7, '1000', 'Perxcent'),
  token(8, 'GONE', 'Pepe gone'),
  token(9, '', '', { decimals: null, total_supply: null }),
]
const MANY = Array.from({ length: 45 }, (_, index) =>
  token(1_000 + index, `MANY${index}`, 'Bulk', {
    created_at:
      index % 3 === 0
        ? '1970-01-01 00:00:00'
        : new Date(SINCE_MS + Math.floor(index / 2)).toISOString(),
  }),
)

const trade = (slot: number, timeMs: number, more: Partial<MarketTrade>): object =>
  marketTradeRows({
    timeMs,
    slot,
    index: 0,
    token: addressFromNumber(1),
    quote: USDC,
    pool: addressFromNumber(101),
    side: 'BUY',
    amountRaw: 10n ** 18n,
    priceUsd: 0.5,
    priceNative: 0.0001,
    valueUsd: '0.5',
    valueNative: '0.0001',
    suspect: false,
    ...more,
  })

let api: TestApi
before(async () => {
  api = await startApi()
  const { warehouse } = api
  await warehouse.insert('eth_blocks', [
    ...[1, 2].map((_ver) => ({
      block_time: new Date(HEAD_MS + 12_000).toISOString(),
      block_slot: 101,
      block_height: 101,
      block_hash: 'orphan',
      _ver,
      _del: _ver - 1,
    })),
    ...[1, 50, 100].map((height) => ({
      block_time: new Date(SINCE_MS + ((height - 1) / 99) * 86_400_000).toISOString(),
      block_slot: height,
      block_height: height,
      block_hash: `0x${height}`,
      _ver: 1,
    })),
  ])
  await warehouse.insert('eth_tokens', [...TOKENS, ...MANY])
  await warehouse.insert('eth_tokens', [token(8, 'GONE', 'Pepe gone', { _ver: 2, _del: 1 })])
  await warehouse.insert('eth_token_documents', [
    document('A frog', SINCE_MS + 1),
    document('A tadpole', SINCE_MS),
  ])
  await warehouse.insert('eth_dex_pools', [
    pool(101, addressFromNumber(1), '2000.5'),
    pool(102, addressFromNumber(1), '1000'),
    pool(103, addressFromNumber(2), '9'),
    { ...pool(104, addressFromNumber(3), '5'), protocol_family: 'uniswap_v3' },
  ])
  await warehouse.insert('eth_dex_trades', [
    trade(10, HEAD_MS - 2 * 86_400_000, { priceUsd: 0.1, valueUsd: '1000' }),
    trade(60, HEAD_MS - 3_600_000, { priceUsd: 0.25, priceNative: 0.00005, valueUsd: '250.5' }),
    trade(70, HEAD_MS - 1_800_000, { priceUsd: 999, suspect: true, valueUsd: '1' }),
    trade(71, HEAD_MS - 1_700_000, { priceUsd: null, valueUsd: null }),
  ])
})
after(() => api.stop())

const record = (value: unknown): Record<string, unknown> => {
  assert.ok(typeof value === 'object' && value !== null)
  return value as Record<string, unknown>
}
const list = (answer: ApiResponse): readonly Record<string, unknown>[] => {
  assert.equal(answer.status, 200, answer.text)
  const { data } = record(answer.body)
  assert.ok(Array.isArray(data))
  return data.map(record)
}
const search = (query: string): Promise<ApiResponse> => callApi(api, `/v2/token/search?${query}`)
const symbols = async (query: string): Promise<unknown[]> =>
  list(await search(query)).map(({ symbol }) => symbol)

interface Expectation {
  readonly status: number
  readonly code: number
  readonly details?: unknown
}
const refused = (answer: ApiResponse, { status, code, details }: Expectation): void => {
  const body = record(answer.body)
  assert.deepEqual([answer.status, body.code, body.status], [status, code, status], answer.text)
  assert.match(
    answer.headers.get('content-type') ?? '',
    /^application\/problem\+json; charset=utf-8/,
  )
  assert.equal(answer.headers.get('x-request-id'), body.requestId)
  for (const name of ['type', 'title', 'detail', 'instance', 'name', 'message', 'timestamp']) {
    assert.equal(typeof body[name], 'string', name)
  }
  if (details !== undefined) assert.deepEqual(body.details, details)
}

test('a token comes with everything that is known, and null elsewhere', async () => {
  const answer = await callApi(api, `/v1/token/eth/${addressFromNumber(1)}`)
  assert.equal(answer.status, 200, answer.text)
  const { marketData, extra, extension, socialMedias, ...rest } = record(answer.body)
  assert.deepEqual(rest, {
    address: addressFromNumber(1),
    chain: 'eth',
    name: 'Pepe',
    symbol: 'PEPE',
    decimals: 18,
    description: 'A frog',
    imageUrl: 'https://gate.example/ipfs/frog',
    uri: 'ipfs://frog',
    metadataAddress: null,
    coingeckoCoinId: null,
    tokenCreatedAt: SINCE_MS,
    tokenCreatedBlockHeight: '7',
    tokenCreatedSlot: '7',
    tokenCreatedTxSignature: '0xfeed',
    tokenCreators: [{ address: addressFromNumber(77), share: 100, isVerified: true }],
    devTotalTokens: null,
    devLastTokenCreatedAt: null,
    market: null,
    stats: null,
    security: null,
    score: null,
    scoreBreakdown: null,
    tier: null,
    warningBadge: null,
  })
  assert.deepEqual(extra, extension)
  assert.equal(record(extra).tokenStandard, 'erc20')
  assert.equal(record(socialMedias).twitter, 'https://x.example/pepe')
  const known = Object.entries(record(marketData)).filter(([, value]) => value !== null)
  assert.deepEqual(Object.fromEntries(known), {
    priceInUsd: '0.25',
    priceInNative: '0.00005',
    priceInSol: '0.00005',
    totalSupply: '1000',
    circulatingSupply: '1000',
    marketCapInUsd: '250',
    marketCapInSol: '0.05',
    fdvInUsd: '250',
    fdvInSol: '0.05',
    totalTvlInUsd: '3000.5',
    totalTvlInSol: '3000.5',
    maxPoolTvlInUsd: '2000.5',
    maxPoolTvlInSol: '2000.5',
  })
})

test('a search shows what the document says', async () => {
  const [found, other] = list(await search('keyword=PEPE&chain=eth'))
  assert.deepEqual(
    [found?.address, found?.description, found?.imageUrl],
    [addressFromNumber(1), 'A frog', 'https://gate.example/ipfs/frog'],
  )
  assert.deepEqual([other?.description, other?.imageUrl], [null, null])
})

test('what is not known of a token is null, but for the decimals that clients require', async () => {
  const { body } = await callApi(api, `/v2/token/eth/${addressFromNumber(9)}`)
  const { symbol, name, decimals, marketData, tokenCreatedAt, description } = record(body)
  assert.deepEqual([symbol, name, decimals, tokenCreatedAt, description], ['', '', 0, null, null])
  assert.ok(Object.values(record(marketData)).every((value) => value === null))
})

test('both prefixes answer, addresses ignore case, the chain is echoed as it was written', async () => {
  const upper = `0x${addressFromNumber(0xabc).slice(2).toUpperCase()}`
  await api.warehouse.insert('eth_tokens', [token(0xabc, 'CASE', 'Case')])
  const answers = await Promise.all(
    ['/v1/token/eth', '/v2/token/eth', '/v2/token/ethereum'].map((path) =>
      callApi(api, `${path}/${upper}`),
    ),
  )
  const bodies = answers.map(({ body }) => record(body))
  assert.deepEqual(
    bodies.map(({ address, chain }) => [address, chain]),
    [
      [addressFromNumber(0xabc), 'eth'],
      [addressFromNumber(0xabc), 'eth'],
      [addressFromNumber(0xabc), 'ethereum'],
    ],
  )
})

test('search ranks address, symbol, name, beginning, anywhere; liquidity decides between equals', async () => {
  assert.deepEqual(
    list(await search('keyword=pepe')).map(({ address, score }) => [address, score]),
    [
      [addressFromNumber(1), 4],
      [addressFromNumber(2), 4],
      [addressFromNumber(4), 3],
      [addressFromNumber(3), 2],
      [addressFromNumber(5), 1],
    ],
  )
  assert.deepEqual(
    await symbols(`keyword=${addressFromNumber(5).toUpperCase().replace('X', 'x')}`),
    ['XPEPE'],
  )
  assert.deepEqual(await symbols('q=XPEPE'), ['XPEPE'])
  assert.deepEqual(await symbols('keyword=old&q=PEPE'), ['OLD'])
})

test('signs of a pattern are plain text', async () => {
  assert.deepEqual(await symbols('keyword=100%25'), ['100%'])
  assert.deepEqual(await symbols('keyword=per_cent'), ['100%'])
  assert.deepEqual(
    await symbols(`keyword=${encodeURIComponent("'; DROP TABLE eth_tokens --\\")}`),
    [],
  )
})

test('chains and protocols narrow a search; a chain without data is empty', async () => {
  assert.deepEqual(await symbols('chain=sol&keyword=pepe'), [])
  assert.equal((await symbols('chain=ethereum&keyword=pepe')).length, 5)
  for (const chains of ['chains=sol,eth', 'chains=sol&chains=eth', 'chains[]=sol&chains[]=eth']) {
    assert.equal((await symbols(`${chains}&keyword=pepe`)).length, 5, chains)
  }
  assert.equal(list(await search('chain=ethereum&keyword=old'))[0]?.chain, 'ethereum')
  assert.deepEqual(await symbols('protocols=UniswapV3'), ['PEPE2'])
  assert.deepEqual((await symbols('protocols=uniswap_v2,Uniswap_V3&keyword=pepe')).length, 3)
  assert.deepEqual(await symbols('protocols=unheard_of'), [])
})

test('a search can be sorted; unknown values are last in both orders', async () => {
  assert.deepEqual((await symbols('sortBy=liquidityInUsd&limit=3')).slice(0, 3), [
    'PEPE',
    'PEPE',
    'PEPE2',
  ])
  assert.deepEqual((await symbols('sortBy=liquidityInUsd&sort=ASC&limit=3')).slice(0, 3), [
    'PEPE2',
    'PEPE',
    'PEPE',
  ])
  for (const sortBy of ['priceInUsd', 'marketCapInUsd', 'h24VolumeInUsd', 'h24Transactions']) {
    assert.deepEqual((await symbols(`sortBy=${sortBy}&limit=1`))[0], 'PEPE', sortBy)
  }
  const created = list(await search('sortBy=tokenCreatedAt&sort=asc&limit=100&keyword=bulk'))
  const times = created.map(({ tokenCreatedAt }) => tokenCreatedAt)
  assert.equal(times.length, 45)
  const known = times.filter((time) => time !== null).map(Number)
  assert.deepEqual(
    known,
    known.toSorted((left, right) => left - right),
  )
  assert.ok(times.slice(0, known.length).every((time) => time !== null))
})

for (const query of [
  'keyword=bulk',
  'keyword=bulk&sortBy=tokenCreatedAt',
  'keyword=many&sortBy=tokenCreatedAt&sort=asc',
  'keyword=bulk&sortBy=holderCount',
]) {
  test(`pages of ${query} show every token once, forwards and backwards`, async () => {
    const whole = list(await search(`${query}&limit=100`)).map(({ address }) => address)
    assert.equal(new Set(whole).size, 45)
    const forwards: unknown[] = []
    const pages: Record<string, unknown>[] = []
    for (let cursor = ''; ; ) {
      const answer = await search(`${query}&limit=7${cursor && `&cursor=${cursor}`}`)
      const page = record(answer.body)
      forwards.push(...list(answer).map(({ address }) => address))
      assert.deepEqual(page.data, page.items)
      assert.equal(page.hasPrev, pages.length > 0)
      assert.equal(page.hasMore, page.hasNext)
      assert.equal(page.nextCursor, page.hasNext ? page.endCursor : '')
      pages.push(page)
      assert.ok(pages.length <= 7, 'the pages do not end')
      if (!page.hasMore) break
      cursor = String(page.nextCursor)
    }
    assert.deepEqual(forwards, whole)
    assert.equal(pages.length, 7)
    const backwards: unknown[] = [
      ...list(await search(`${query}&limit=7&cursor=${pages[5]?.endCursor}`)),
    ].map(({ address }) => address)
    for (let cursor = String(pages[6]?.startCursor); ; ) {
      const answer = await search(`${query}&limit=7&direction=prev&cursor=${cursor}`)
      const page = record(answer.body)
      backwards.unshift(...list(answer).map(({ address }) => address))
      assert.equal(page.hasNext, true)
      assert.ok(backwards.length <= 45, 'the pages do not end')
      if (!page.hasPrev) break
      cursor = String(page.startCursor)
    }
    assert.deepEqual(backwards, whole)
  })
}

test('a cursor of another search or an invalid cursor answers 400', async () => {
  const { endCursor } = record((await search('keyword=bulk&limit=1')).body)
  assert.equal((await search(`keyword=bulk&limit=1&cursor=${endCursor}`)).status, 200)
  const wrong = [
    `keyword=many&cursor=${endCursor}`,
    `keyword=bulk&sortBy=priceInUsd&cursor=${endCursor}`,
    'keyword=bulk&cursor=nonsense',
    'keyword=bulk&cursor=',
    `keyword=bulk&cursor=${'A'.repeat(1_025)}`,
    `keyword=bulk&cursor=${String(endCursor).slice(0, -4)}`,
  ]
  for (const query of wrong) refused(await search(query), { status: 400, code: 40027 })
})

test('wrong parameters are named', async () => {
  const candles = `/v2/token/eth/${addressFromNumber(1)}/candles`
  const cases: readonly (readonly [string, Expectation])[] = [
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
  for (const [path, expectation] of cases) refused(await callApi(api, path), expectation)
})

test('unknown parameters are ignored', async () => {
  assert.equal(
    (await search('keyword=pepe&offset=5&utm=x&__proto__=1&constructor[]=2')).status,
    200,
  )
})

test('a wrong method names the right ones, whatever the body', async () => {
  for (const body of ['{', '{}', 'x'.repeat(10_000)]) {
    const answer = await callApi(api, '/v2/token/search', {
      method: 'POST',
      headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
      body,
    })
    refused(answer, { status: 405, code: 405 })
    assert.equal(answer.headers.get('allow'), 'GET, HEAD')
  }
})

test('credentials: none, wrong, of a typo, revoked, in two places', async () => {
  const path = '/v2/token/search?keyword=pepe'
  const withHeaders = (headers: Record<string, string>) => callApi(api, path, { headers })
  const none = await withHeaders({})
  refused(none, { status: 401, code: 401, details: { reason: 'missing_credential' } })
  assert.equal(none.headers.get('www-authenticate'), 'Bearer realm="api"')
  const unknown = await withHeaders({ 'x-api-key': generateApiKey('sluice', 'live') })
  refused(unknown, { status: 401, code: 401, details: { reason: 'invalid_api_key' } })
  assert.match(unknown.headers.get('www-authenticate') ?? '', /error="invalid_token"/)
  refused(await withHeaders({ authorization: 'Bearer a.b.c' }), { status: 401, code: 401 })
  refused(await withHeaders({ authorization: `Bearer ${api.apiKey}`, 'x-api-key': 'x' }), {
    status: 401,
    code: 401,
  })
  assert.equal((await withHeaders({ authorization: `Bearer ${api.apiKey}` })).status, 200)
  const made = await api.accounts.createKey({ name: 'short', plan: 'pro' })
  assert.equal((await withHeaders({ 'x-api-key': made.apiKey })).status, 200)
  await api.accounts.setSuspended(made.orgId, true)
  refused(await withHeaders({ 'x-api-key': made.apiKey }), {
    status: 403,
    code: 403,
    details: { reason: 'suspended' },
  })
  await api.accounts.setSuspended(made.orgId, false)
  await api.accounts.revokeKey(made.keyId)
  refused(await withHeaders({ 'x-api-key': made.apiKey }), { status: 401, code: 401 })
})

test('a request id is taken over when it is one, and made when not', async () => {
  const idOf = async (id: string) =>
    (await callApi(api, '/nope', { headers: { 'x-request-id': id } })).headers.get('x-request-id')
  assert.equal(await idOf('abcdEFGH-_12'), 'abcdEFGH-_12')
  for (const id of ['short', 'x'.repeat(65), 'with space here']) {
    assert.match((await idOf(id)) ?? '', /^[0-9A-HJKMNP-TV-Z]{26}$/)
  }
})

test('who accepts plain JSON only gets the same body as that', async () => {
  const { headers, body } = await callApi(api, '/nope', { headers: { accept: 'application/json' } })
  assert.match(headers.get('content-type') ?? '', /^application\/json/)
  assert.equal(record(body).code, 404)
})

test('answers say what they cost, how fresh they are and how fast the caller may be', async () => {
  const { headers } = await search('keyword=pepe')
  assert.equal(headers.get('x-chain-head'), `100;time=${HEAD_MS}`)
  assert.equal(headers.get('x-chain-since'), `1;time=${SINCE_MS}`)
  assert.equal(headers.get('x-cu-cost'), '0.25')
  assert.equal(headers.get('x-quota-remaining'), '-1')
  const limit = Number(headers.get('x-ratelimit-limit'))
  const remaining = Number(headers.get('x-ratelimit-remaining'))
  assert.ok(remaining >= 0 && remaining < 2 * limit)
  const aheadSeconds = Number(headers.get('x-ratelimit-reset')) - Date.now() / 1_000
  assert.ok(aheadSeconds > -1 && aheadSeconds < 12)
  assert.equal(headers.get('ratelimit-policy'), `"plan";q=${limit};w=1`)
  assert.match(headers.get('ratelimit') ?? '', /^"plan";r=\d+;t=\d+$/)
  const exposed = (headers.get('access-control-expose-headers') ?? '').toLowerCase()
  for (const name of headers.keys()) {
    if (name === 'x-content-type-options') continue // for the browser, not for its scripts
    if (name.startsWith('x-') || name.startsWith('ratelimit'))
      assert.ok(exposed.includes(name), name)
  }
  assert.equal(
    (await callApi(api, `/v2/token/eth/${addressFromNumber(1)}`)).headers.get('x-cu-cost'),
    '1',
  )
  assert.equal(
    (await callApi(api, `/v2/token/eth/${addressFromNumber(404)}`)).headers.get('x-cu-cost'),
    '0.1',
  )
})

test('a browser may ask from anywhere', async () => {
  const answer = await callApi(api, '/v2/token/search', {
    method: 'OPTIONS',
    headers: {
      origin: 'https://app.example',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'x-api-key',
    },
  })
  assert.equal(answer.status, 204)
  assert.equal(answer.headers.get('access-control-allow-origin'), '*')
  assert.equal(answer.headers.get('access-control-allow-headers'), 'x-api-key')
})

test('one unit: four calls of a quarter, then the quota; wrong requests cost nothing', async () => {
  const { apiKey } = await api.accounts.createKey({ name: 'poor', plan: 'free' })
  const headers = { 'x-api-key': apiKey }
  refused(await callApi(api, '/v2/token/eth/0x12', { headers }), { status: 400, code: 40009 })
  refused(await callApi(api, '/v2/token/search?limit=0', { headers }), { status: 400, code: 40002 })
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => callApi(api, '/v2/token/search?keyword=pepe', { headers })),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 4)
  const refusal = answers.find(({ status }) => status === 403)
  assert.ok(refusal)
  assert.equal(record(record(refusal.body).details).reason, 'quota_exhausted')
  assert.equal(refusal.headers.get('x-quota-remaining'), '0')
  refused(await callApi(api, '/v2/token/search?limit=0', { headers }), { status: 400, code: 40002 })
})

test('too fast is 429 with the same numbers in body and headers, and ends after Retry-After', async () => {
  const { apiKey } = await api.accounts.createKey({ name: 'fast', plan: 'free' })
  const headers = { 'x-api-key': apiKey }
  const flood = () =>
    Promise.all(
      Array.from({ length: 40 }, () => callApi(api, '/v2/token/search?limit=0', { headers })),
    )
  const slowed = await until(
    async () => (await flood()).find(({ status }) => status === 429),
    'a refusal',
  )
  refused(slowed, {
    status: 429,
    code: 429,
    details: {
      limit: Number(slowed.headers.get('x-ratelimit-limit')),
      remaining: Number(slowed.headers.get('x-ratelimit-remaining')),
      reset_at: Number(slowed.headers.get('x-ratelimit-reset')),
    },
  })
  const waitMs = Number(slowed.headers.get('retry-after')) * 1_000
  assert.ok(waitMs >= 1_000 && waitMs <= 2_000)
  const startedMs = Date.now()
  await until(async () => {
    await callApi(api, '/health')
    return Date.now() - startedMs >= waitMs
  }, 'the pause')
  assert.equal((await callApi(api, '/v2/token/search?limit=0', { headers })).status, 400)
})

test('the probes and the document need no credential; the rest of operations is not here', async () => {
  const open = (path: string) => callApi(api, path, { headers: {} })
  assert.deepEqual((await open('/health')).body, { status: 'ok' })
  const ready = await open('/ready')
  assert.deepEqual([ready.status, ready.body], [200, { status: 'ready' }])
  for (const path of ['/metrics', '/status', '/checksum']) {
    assert.equal((await open(path)).status, 404, path)
  }
  assert.equal((await open('/openapi.json')).status, 200)
})

/** Keys and wallets of an account are for credentials without limits: a narrower one could make a wider one. */
const OWNER_PATHS = /^\/(?:account\/(?:keys|wallets)|x402\/link-address)\b/

const scopesOf = (method: string, path: string): readonly string[] => {
  if (OWNER_PATHS.test(path)) return SCOPES
  const family = ['webhook', 'kyt'].find((word) => path.startsWith(`/${word}/`))
  return family === undefined ? [] : [`${family}.${method === 'GET' ? 'read' : 'write'}`]
}

/** Statuses of an operation in the document, from what it takes and does. */
const statusesOf = (name: string, scopes: readonly string[]): readonly string[] => {
  const has = (isTrue: boolean, ...statuses: readonly number[]) => (isTrue ? statuses : [])
  const isRead = name.startsWith('GET ')
  const asksNoRows =
    /account|watchlist|ipfs|kyt|GET .jobs?\/|dexscr|calculate|POST .webhook.endpoint|(PATCH|PUT|DELETE)|webhook.endpoint(..id(.secret)?)?$|\/task\b/
  const namesRecord = /^GET .kyt|:chain|:id|:msgId$|search|GET .(dex|redpacket)$|PATCH/
  return [
    ...[200, 400, 401, 403, 408, 429, 431, 500, 503],
    ...has(name.endsWith('/streaming'), 204),
    ...has(isRead && scopes.length === 0, 304),
    ...has(!isRead, 413, 415),
    ...has(namesRecord.test(name), 404),
    ...has(
      /(PATCH|PUT)|POST .webhook.endpoint$|resend|recover|replay|send-example|claim$/.test(name),
      409,
    ),
    ...has(!asksNoRows.test(name), 422),
    ...has(/\/(similar|send)$|^POST \/(dex\/:chain\/route$|kyt\/|redpacket\/)/.test(name), 501),
    ...has(name === 'POST /redpacket/:chain/claim', 410),
    ...has(/POST .(ipfs.presign|redpacket.:chain.send)$/.test(name), 502),
  ]
    .toSorted((one, other) => one - other)
    .map(String)
}

test('the document describes every route, with price, credentials and errors', async () => {
  const document = record((await callApi(api, '/openapi.json', { headers: {} })).body)
  assert.equal(document.openapi, '3.1.0')
  const paths = record(document.paths)
  for (const name of Object.keys(ROUTE_MILLI_UNITS) as (keyof typeof ROUTE_MILLI_UNITS)[]) {
    const [method = '', path = ''] = name.split(' ')
    for (const version of path.startsWith('/x402/') ? [''] : ['/v1', '/v2']) {
      const url = version + path.replace(/:(\w+)/g, '{$1}')
      const operation = record(record(paths[url])[method.toLowerCase()])
      assert.equal(operation['x-cu-cost'], ROUTE_MILLI_UNITS[name] / 1_000, url)
      const scopes = scopesOf(method, path)
      assert.deepEqual(operation.security, [{ bearer_auth: scopes }, { api_key_auth: [] }])
      const responses = record(operation.responses)
      assert.deepEqual(Object.keys(responses), statusesOf(name, scopes), name)
    }
  }
  const ids = Object.values(paths).flatMap((path) =>
    Object.values(record(path)).map((operation) => record(operation).operationId),
  )
  assert.ok(ids.includes('getV2TokenByChainByTokenAddressPrice'))
  assert.ok(ids.every((id) => typeof id === 'string' && /^[a-z]\w+$/.test(id)))
  assert.equal(new Set(ids).size, ids.length)
  const { schemas, responses } = record(document.components)
  const problem = { schema: { $ref: '#/components/schemas/Problem' } }
  assert.deepEqual(record(record(responses).Status404).content, {
    'application/problem+json': problem,
    'application/json': problem,
  })
  assert.deepEqual(Object.keys(record(record(responses).Status431)), ['description'])
  const references = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)
  const named = Object.keys(record(schemas)).toSorted()
  assert.deepEqual([...new Set([...references].map(([, name]) => name))].toSorted(), named)
  for (const name of ['Token', 'TradeDetail', 'WalletPnlStat', 'WebhookEndpoint', 'Problem'])
    assert.ok(named.includes(name), name)
  const known = new Set(Object.keys(paths))
  const versioned = [...known].filter((path) => /^\/v[12]\//.test(path))
  const priced = Object.keys(ROUTE_MILLI_UNITS).map((name) => name.split(' ')[1] ?? '')
  const withVersion = priced.filter((path) => !path.startsWith('/x402/'))
  assert.equal(versioned.length, 2 * new Set(withVersion).size)
})

test('documented operations that this build does not have answer 501, and cost nothing', async () => {
  for (const [method, path] of NOT_IMPLEMENTED_ROUTES) {
    const at = path.replace(/:chain/, 'eth').replace(/:\w+/g, 'x')
    for (const version of ['/v1', '/v2']) {
      const answer = await callApi(api, version + at, {
        method,
        headers: { 'x-api-key': api.apiKey },
      })
      assert.deepEqual([answer.status, record(answer.body).code], [501, 40024], at)
      assert.equal(answer.headers.get('x-cu-cost'), '0')
      assert.equal((await callApi(api, version + at, { method, headers: {} })).status, 401)
    }
  }
})

test('without a storage for uploads the answer says so, and costs nothing', async () => {
  for (const version of ['/v1', '/v2']) {
    const { status, body, headers } = await callApi(api, `${version}/ipfs/presign`, {
      method: 'POST',
      headers: { 'x-api-key': api.apiKey },
    })
    assert.deepEqual([status, record(body).code], [502, 50025])
    assert.equal(headers.get('x-cu-cost'), '0')
  }
})

test('without prices of plans the paths of purchases say so, in the document too', async () => {
  const document = record((await callApi(api, '/openapi.json', { headers: {} })).body)
  const statuses = (path: string, method: string) => {
    const operation = record(record(record(document.paths)[path])[method])
    assert.equal(operation.security, undefined)
    return Object.keys(record(operation.responses)).join(' ')
  }
  const paid = '200 400 402 403 408 409'
  assert.equal(statuses('/x402/pricing', 'get'), '200 408 429 431 500 501')
  assert.equal(statuses('/x402/status', 'get'), '200 400 408 429 431 500 501')
  assert.equal(statuses('/x402/purchase', 'get'), `${paid} 429 431 500 501 503`)
  assert.equal(statuses('/x402/purchase', 'post'), `${paid} 413 415 429 431 500 501 503`)
  const address = `0x${'12'.repeat(20)}`
  for (const [method, path] of [
    ['GET', '/x402/pricing'],
    ['GET', '/x402/purchase?plan=nano'],
    ['POST', '/x402/purchase?plan=nano'],
    ['GET', `/x402/status?chain=evm&address=${address}`],
  ] as const) {
    const answer = await callApi(api, path, { method, headers: {} })
    assert.deepEqual([answer.status, record(answer.body).code], [501, 40024], path)
  }
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

test('hostile paths and headers are the caller’s fault', async () => {
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

test('no query ever makes it our fault', async () => {
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

test('a store that is away is 503 without a word about it, and costs nothing', async () => {
  const warehouse = await openWarehouse({
    kind: 'server',
    url: 'http://127.0.0.1:1',
    database: 'default',
  })
  const away = await startApi({ warehouse })
  const answer = await callApi(away, '/v2/token/search')
  refused(answer, { status: 503, code: 50005 })
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
    refused(await post(path, type, body), { status: code, code })
  }
  assert.deepEqual((await post('/echo', 'application/json', '{"a":1}')).body, { a: 1 })
  await other.stop()
})
