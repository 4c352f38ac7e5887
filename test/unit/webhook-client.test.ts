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

test('the answer that counts, whole or as far as it came', async () => {
  const poster = createWebhookClient({ rulesOf: () => RULES, nowMs: Date.now })
  const good = await poster.post(post('/early-hints'))
  assert.deepEqual([good.status, good.errorKind, good.response], [200, null, 'fine'])
  assert.equal(good.retryAfterMs, 7_000)
  const down = await poster.post(post('/split'))
  assert.deepEqual([down.status, down.errorKind, down.error], [503, 'status', 'answered 503'])
  assert.equal(down.response, 'first second')
  const stalled = await poster.post({ ...post('/stall'), timeoutMs: 2_000 })
  assert.deepEqual([stalled.status, stalled.errorKind], [200, 'timeout'])
  assert.deepEqual([stalled.wish, stalled.error], ['abort-message', 'no answer in time'])
  const refused = await poster.post({ ...post('/never'), headers: { 'x-one': 'a\nb' } })
  assert.deepEqual([refused.status, refused.errorKind], [0, 'connect'])
  await poster.close()
  assert.deepEqual((await poster.post(post('/never'))).errorKind, 'connect')
  assert.ok(!asked.includes('/never'))
})

test('the limit counts the time it takes to connect, and nothing is sent after it', async () => {
  let answer: (addresses: readonly string[]) => void = () => undefined
  const slow = new Promise<readonly string[]>((resolve) => {
    answer = resolve
  })
  const poster = createWebhookClient({ rulesOf: () => RULES, resolve: () => slow, nowMs: Date.now })
  const late = await poster.post({ ...post('/late', 'slow.example'), timeoutMs: 50 })
  assert.deepEqual([late.status, late.errorKind], [0, 'timeout'])
  answer(['127.0.0.1'])
  const second = await poster.post(post('/early-hints', 'slow.example'))
  assert.equal(second.status, 200)
  await until(() => asked.includes('/early-hints'))
  assert.ok(!asked.includes('/late'))
  await poster.close()
})
