import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { RotateWebhook } from '../../schemas/api/webhook.ts'
import { createBaseApp } from '../../serving/http/base-app.ts'

const opened = async () => {
  const app = await createBaseApp(
    { metrics: makeMetrics(), log: makeSilentLogger(), config: loadConfig({}), nowMs: () => 0 },
    { title: 'test', description: 'test', securitySchemes: {} },
  )
  const said = { schema: { body: RotateWebhook } }
  app.delete('/bare', async ({ body }) => ({ body: body ?? null }))
  app.post('/bare', async ({ body }) => ({ body: body ?? null }))
  app.post('/optional', said, async ({ body }) => ({ body: body ?? null }))
  app.post('/needed', { schema: { body: { type: 'object' } } }, async ({ body }) => ({ body }))
  return app
}

const JSON_TYPE = { 'content-type': 'application/json' }

test('a request with a JSON content type and an empty body is handled without a body', async () => {
  const app = await opened()
  for (const [method, url] of [
    ['DELETE', '/bare'],
    ['POST', '/bare'],
    ['POST', '/optional'],
  ] as const) {
    const answer = await app.inject({ method, url, headers: JSON_TYPE })
    assert.deepEqual([answer.statusCode, answer.json()], [200, { body: null }], `${method} ${url}`)
  }
  const needed = await app.inject({ method: 'POST', url: '/needed', headers: JSON_TYPE })
  assert.equal(needed.statusCode, 400)
  await app.close()
})

test('a JSON body is parsed; invalid and prototype-polluting ones are rejected', async () => {
  const app = await opened()
  const sent = async (payload: string) => {
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    const { statusCode, body } = await app.inject({
      method: 'POST',
      url: '/bare',
      headers,
      payload,
    })
    return [statusCode, statusCode === 200 ? JSON.parse(body) : undefined]
  }
  assert.deepEqual(await sent('{"a":1}'), [200, { body: { a: 1 } }])
  for (const wrong of ['{', ' ', '{"__proto__":{"a":1}}']) {
    assert.deepEqual(await sent(wrong), [400, undefined], wrong)
  }
  await app.close()
})
