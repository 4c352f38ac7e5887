import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createMeter } from '../../serving/billing/meter.ts'
import { PUBLIC_ROUTES, requiredAccess } from '../support/access-matrix.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'

const meter = createMeter()
let isUsedUp = false
let api: TestApi
before(async () => {
  api = await startApi({
    graphql: true,
    meter: {
      ...meter,
      take: async () => ({
        allowed: !isUsedUp,
        limit: 50,
        remaining: isUsedUp ? 0 : 49,
        resetAt: Math.ceil(Date.now() / 1_000) + 2,
        retryAfterSeconds: 2,
      }),
    },
  })
})
after(() => api.stop())

/** Every route behind the guard, with something in the place of its parameters. */
const guarded = () =>
  api.routes.filter(({ method, url }) => {
    const route = `${method} ${url.replace(/^\/v\d+(?=\/)/, '')}`
    return requiredAccess(PUBLIC_ROUTES, route) !== 'open'
  })
const call = (method: string, url: string) =>
  callApi(api, url.replace(/:\w+/g, 'x'), { method, headers: { 'x-api-key': api.apiKey } })

test('every metered route returns the rate limit in its headers', async () => {
  isUsedUp = false
  assert.ok(guarded().length > 200, `${guarded().length} routes`)
  for (const { method, url } of guarded()) {
    const { headers, status } = await call(method, url)
    const what = `${method} ${url}: ${status}`
    assert.equal(headers.get('x-ratelimit-limit'), '50', what)
    assert.equal(headers.get('x-ratelimit-remaining'), '49', what)
    assert.ok(Number(headers.get('x-ratelimit-reset')) > Date.now() / 1_000, what)
    assert.equal(headers.get('ratelimit-policy'), '"plan";q=50;w=1', what)
    assert.equal(headers.get('retry-after'), null, what)
  }
})

test('every metered route answers 429 with Retry-After before its handler runs', async () => {
  isUsedUp = true
  for (const { method, url } of guarded()) {
    const { headers, status, body } = await call(method, url)
    const what = `${method} ${url}`
    assert.equal(status, 429, what)
    assert.equal(headers.get('retry-after'), '2', what)
    assert.equal(headers.get('x-ratelimit-remaining'), '0', what)
    if (method === 'HEAD') continue
    const { code, details } = body as { code: number; details: Readonly<Record<string, unknown>> }
    assert.equal(code, 429, what)
    assert.deepEqual([details.limit, details.remaining], [50, 0], what)
    assert.equal(String(details.reset_at), headers.get('x-ratelimit-reset'), what)
  }
})
