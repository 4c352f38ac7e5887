import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import { addressRules } from '../../core/http/guarded-client.ts'
import { createWebhookClient } from '../../serving/webhooks/http-client.ts'
import { until } from '../support/until.ts'

const RULES = addressRules(['127.0.0.0/8'])
/** Enough for what answers, on a busy machine too. */
const AMPLE_MS = 10_000

const answers: Record<string, (response: ServerResponse) => void> = {
  '/early-hints': (response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' })
    response.writeHead(200, { 'retry-after': '7' }).end('fine')
  },
  '/many-hints': (response) => {
    const timer = setInterval(() => {
      for (let n = 0; n < 100; n += 1) response.writeEarlyHints({ link: '</a.css>; rel=preload' })
    }, 1)
    response.on('close', () => clearInterval(timer))
  },
  '/split': (response) => {
    response.writeHead(503)
    response.write('first ')
    setImmediate(() => response.end('second'))
  },
  '/stall': (response) => {
    response.writeHead(200, { 'webhook-delivery': 'abort-message' })
    response.write('half')
  },
}
const asked: string[] = []
const server = createServer((request, response) => {
  asked.push(request.url ?? '')
  request.resume().on('end', () => answers[request.url ?? '']?.(response))
})
const port = (): number => {
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

before(() => new Promise<void>((done) => server.listen(0, '127.0.0.1', done)))
after(() => {
  server.closeAllConnections()
  server.close()
})

const post = (path: string, host = '127.0.0.1') => ({
  url: `http://${host}:${port()}${path}`,
  headers: { 'x-one': '1' },
  body: '{}',
  timeoutMs: AMPLE_MS,
  orgId: 'org_1',
})

test('the webhook client returns the final response, complete or as far as it was received', async () => {
  const client = createWebhookClient({ rulesOf: () => RULES, nowMs: Date.now })
  const good = await client.post(post('/early-hints'))
  assert.deepEqual([good.status, good.errorKind, good.response], [200, null, 'fine'])
  assert.equal(good.retryAfterMs, 7_000)
  const down = await client.post(post('/split'))
  assert.deepEqual([down.status, down.errorKind, down.error], [503, 'status', 'HTTP status 503'])
  assert.equal(down.response, 'first second')
  const stalled = await client.post({ ...post('/stall'), timeoutMs: 2_000 })
  assert.deepEqual([stalled.status, stalled.errorKind], [200, 'timeout'])
  assert.deepEqual(
    [stalled.directive, stalled.error],
    ['abort-message', 'no response within the timeout'],
  )
  const refused = await client.post({ ...post('/never'), headers: { 'x-one': 'a\nb' } })
  assert.deepEqual([refused.status, refused.errorKind], [0, 'connect'])
  const flooded = await client.post(post('/many-hints'))
  assert.deepEqual([flooded.status, flooded.errorKind], [0, 'connect'])
  await client.close()
  assert.deepEqual((await client.post(post('/never'))).errorKind, 'connect')
  assert.ok(!asked.includes('/never'))
})

test('the time limit of a webhook call includes the connection, and no request is sent after it', async () => {
  let answer: (addresses: readonly string[]) => void = () => undefined
  const slow = new Promise<readonly string[]>((resolve) => {
    answer = resolve
  })
  const client = createWebhookClient({ rulesOf: () => RULES, resolve: () => slow, nowMs: Date.now })
  const late = await client.post({ ...post('/late', 'slow.example'), timeoutMs: 50 })
  assert.deepEqual([late.status, late.errorKind], [0, 'timeout'])
  answer(['127.0.0.1'])
  const second = await client.post(post('/early-hints', 'slow.example'))
  assert.equal(second.status, 200)
  await until(() => asked.includes('/early-hints'))
  assert.ok(!asked.includes('/late'))
  await client.close()
})
