import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'

let api: TestApi
let isReady = true
before(async () => {
  const run = () => (isReady ? { ok: true } : { ok: false, detail: 'catching up' })
  api = await startApi({ checks: [{ name: 'of the test', run }] })
})
after(() => api.stop())

const open = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  callApi(api, path, { headers, method })

test('the reference page loads every file from this server, under its own content security policy', async () => {
  for (const path of ['/docs', '/docs/']) {
    const page = await open(path)
    assert.equal(page.status, 200)
    const named = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, to]) => to ?? '')
    const loaded = named.filter((to) => !to.startsWith('data:'))
    assert.ok(loaded.length >= 3)
    for (const to of loaded) {
      assert.match(to, /^\/(docs\/|openapi\.json$)/, 'an address of this server')
      assert.equal((await open(to)).status, 200, to)
    }
    const policy = page.headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'.*script-src 'self'.*connect-src 'self'/)
    assert.doesNotMatch(page.text, /<script>|<style/, 'no inline code, which the policy refuses')
  }
})

test('the style sheet and the start of the reference page name no other server', async () => {
  for (const path of ['/docs/swagger-ui.css', '/docs/start.js']) {
    const { text } = await open(path)
    assert.doesNotMatch(
      text.replaceAll('http://www.w3.org/', ''),
      /(?:url\(|@import|['"])["']?https?:/,
    )
  }
  assert.match((await open('/docs/start.js')).text, /validatorUrl: null/)
})

test('below the reference page the errors are those of every path', async () => {
  const missing = await open('/docs/../docs/none.js')
  assert.equal(missing.status, 404)
  assert.match(missing.headers.get('content-type') ?? '', /^application\/problem\+json/)
  for (const path of ['/docs/%2e%2e/package.json', '/docs/..%2fpackage.json']) {
    assert.equal((await open(path)).status, 404, path)
  }
  const posted = await open('/docs', {}, 'POST')
  assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD'])
})

test('an open path answers 304 without a body when If-None-Match has its tag', async () => {
  for (const path of ['/openapi.json', '/docs', '/docs/swagger-ui-bundle.js']) {
    const { headers } = await open(path)
    const etag = headers.get('etag') ?? ''
    assert.match(etag, /^W\/"[\w-]{22}"$/, path)
    const again = await open(path, { 'if-none-match': `"x", ${etag}` })
    assert.deepEqual([again.status, again.text], [304, ''], path)
    assert.equal((await open(path, { 'if-none-match': '"x"' })).status, 200, path)
  }
})

test('a metered route answers 304 at the same price when If-None-Match has its tag; another route has another tag', async () => {
  const key = { 'x-api-key': api.apiKey }
  const first = await open('/v2/blockchain', key)
  const etag = first.headers.get('etag') ?? ''
  assert.equal(first.status, 200, first.text)
  const again = await open('/v2/blockchain', { ...key, 'if-none-match': etag })
  assert.deepEqual([again.status, again.text], [304, ''])
  assert.equal(again.headers.get('x-cu-cost'), first.headers.get('x-cu-cost'))
  assert.equal(again.headers.get('etag'), etag)
  assert.ok(again.headers.get('x-ratelimit-limit'))
  const other = await open('/v2/dex', { ...key, 'if-none-match': etag })
  assert.equal(other.status, 200)
  assert.notEqual(other.headers.get('etag'), etag)
})

test('errors, unauthorized calls and routes behind a scope have no tag', async () => {
  const key = { 'x-api-key': api.apiKey, 'if-none-match': '*' }
  assert.equal((await open('/v2/blockchain', { 'if-none-match': '*' })).status, 401)
  const missing = await open('/v2/blockchain/nowhere/latest_block', key)
  assert.deepEqual([missing.status, missing.headers.get('etag')], [404, null])
  const scoped = await open('/v2/webhook/endpoint', key)
  assert.deepEqual([scoped.status, scoped.headers.get('etag')], [200, null])
})

test('the documents are served while a process is not ready; /ready answers 503 without the reason', async () => {
  isReady = false
  try {
    const ready = await open('/ready')
    assert.deepEqual([ready.status, ready.body], [503, { status: 'not ready' }])
    assert.equal(ready.headers.get('cache-control'), 'no-store')
    for (const path of ['/health', '/openapi.json', '/docs', '/docs/start.js']) {
      assert.equal((await open(path)).status, 200, path)
    }
  } finally {
    isReady = true
  }
  assert.equal((await open('/ready')).status, 200)
})
