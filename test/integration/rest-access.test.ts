import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { generateApiKey } from '../../serving/auth/api-keys.ts'
import { callApi, type TestApi } from '../support/api-stack.ts'
import { addressFromNumber } from '../support/builders/market-trade.ts'
import { assertProblem, HEAD_MS, record, SINCE_MS, startTokenApi } from '../support/token-api.ts'
import { until } from '../support/until.ts'

let api: TestApi
before(async () => {
  api = await startTokenApi()
})
after(() => api.stop())

test('credentials: none, wrong, of a typo, revoked, in two places', async () => {
  const path = '/v2/token/search?keyword=pepe'
  const withHeaders = (headers: Record<string, string>) => callApi(api, path, { headers })
  const none = await withHeaders({})
  assertProblem(none, { status: 401, code: 401, details: { reason: 'missing_credential' } })
  assert.equal(none.headers.get('www-authenticate'), 'Bearer realm="api"')
  const unknown = await withHeaders({ 'x-api-key': generateApiKey('sluice', 'live') })
  assertProblem(unknown, { status: 401, code: 401, details: { reason: 'invalid_api_key' } })
  assert.match(unknown.headers.get('www-authenticate') ?? '', /error="invalid_token"/)
  assertProblem(await withHeaders({ authorization: 'Bearer a.b.c' }), { status: 401, code: 401 })
  assertProblem(await withHeaders({ authorization: `Bearer ${api.apiKey}`, 'x-api-key': 'x' }), {
    status: 401,
    code: 401,
  })
  assert.equal((await withHeaders({ authorization: `Bearer ${api.apiKey}` })).status, 200)
  const made = await api.organizations.createKey({ name: 'short', plan: 'pro' })
  assert.equal((await withHeaders({ 'x-api-key': made.apiKey })).status, 200)
  await api.organizations.setSuspended(made.orgId, true)
  assertProblem(await withHeaders({ 'x-api-key': made.apiKey }), {
    status: 403,
    code: 403,
    details: { reason: 'suspended' },
  })
  await api.organizations.setSuspended(made.orgId, false)
  await api.organizations.revokeKey(made.keyId)
  assertProblem(await withHeaders({ 'x-api-key': made.apiKey }), { status: 401, code: 401 })
})

test('response headers carry the cost, the chain head and the rate limit', async () => {
  const { headers } = await callApi(api, '/v2/token/search?keyword=pepe')
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

test('CORS preflight requests are answered for every origin', async () => {
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
  const methods = answer.headers.get('access-control-allow-methods')?.split(', ')
  assert.deepEqual(methods?.toSorted(), ['DELETE', 'GET', 'HEAD', 'PATCH', 'POST', 'PUT'])
})

test('a plan with one unit serves four calls of a quarter unit, then refuses by quota; invalid requests cost nothing', async () => {
  const { apiKey } = await api.organizations.createKey({ name: 'poor', plan: 'free' })
  const headers = { 'x-api-key': apiKey }
  assertProblem(await callApi(api, '/v2/token/eth/0x12', { headers }), { status: 400, code: 40009 })
  assertProblem(await callApi(api, '/v2/token/search?limit=0', { headers }), {
    status: 400,
    code: 40002,
  })
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => callApi(api, '/v2/token/search?keyword=pepe', { headers })),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 4)
  const refusal = answers.find(({ status }) => status === 403)
  assert.ok(refusal)
  assert.equal(record(record(refusal.body).details).reason, 'quota_exhausted')
  assert.equal(refusal.headers.get('x-quota-remaining'), '0')
  assertProblem(await callApi(api, '/v2/token/search?limit=0', { headers }), {
    status: 400,
    code: 40002,
  })
})

test('too fast is 429 with the same numbers in body and headers, and ends after Retry-After', async () => {
  const { apiKey } = await api.organizations.createKey({ name: 'fast', plan: 'free' })
  const headers = { 'x-api-key': apiKey }
  const flood = () =>
    Promise.all(
      Array.from({ length: 40 }, () => callApi(api, '/v2/token/search?limit=0', { headers })),
    )
  const slowed = await until(
    async () => (await flood()).find(({ status }) => status === 429),
    'a refusal',
  )
  assertProblem(slowed, {
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
