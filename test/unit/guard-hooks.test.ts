import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify, { type FastifyInstance } from 'fastify'
import { loadConfig } from '../../core/config/load.ts'
import { Fault } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { createMeter, type QuotaMeter } from '../../serving/billing/meter.ts'
import { installGuard } from '../../serving/http/guard-hooks.ts'
import { installPlane } from '../../serving/http/plane.ts'
import type { Guard, Principal } from '../../serving/interfaces.ts'
import { type QueryWork, queryWorkMilliUnits } from '../../serving/queries/limited-reads.ts'
import { until } from '../support/until.ts'

const PRINCIPAL: Principal = {
  kind: 'api-key',
  orgId: 'org_1',
  appId: 'app_1',
  credentialId: 'key_1',
  plan: 'free',
  scopes: ['kyt.read'],
  expiresAtMs: null,
}
const answering = (answer: Principal | Fault | undefined): Guard => ({
  identify: async () => answer,
  authenticate: () => answer,
  onRevoked: () => () => undefined,
})

/** What the engine has done for a request whose caller leaves. */
const WORK: QueryWork = { statements: 1, elapsedMs: 10 }

const serverOf = (guard: Guard, meter: QuotaMeter = createMeter()): FastifyInstance => {
  const app = Fastify()
  installPlane(app, { config: loadConfig({}) })
  app.setErrorHandler((error, _request, reply) => {
    const fault = error instanceof Fault ? error : new Fault('INTERNAL_SERVER_ERROR')
    return reply.status(fault.status).send({ code: fault.code, details: fault.details })
  })
  installGuard(app, { guard, meter, metrics: makeMetrics(), log: makeSilentLogger() }, 'rest')
  const config = { milliUnits: 500, scopes: ['kyt.read'] }
  app.get('/ok', { config }, () => 'ok')
  app.post('/write', { config: { ...config, scopes: ['kyt.write'] } }, () => 'ok')
  app.get('/endless', { config }, (request) => {
    request.work = WORK
    return new Promise(() => undefined)
  })
  app.get('/missing', { config }, () => {
    throw new Fault('NOT_FOUND')
  })
  app.get('/bug', { config }, () => {
    throw new Error('bug')
  })
  app.get('/redirect', { config }, (_request, reply) => reply.redirect('/ok'))
  return app
}

test('a missing scope answers 40301 before the body is parsed', async () => {
  const app = serverOf(answering(PRINCIPAL))
  const answer = await app.inject({
    method: 'POST',
    url: '/write',
    headers: { 'content-type': 'application/json' },
    payload: '{',
  })
  assert.equal(answer.statusCode, 403)
  assert.deepEqual(answer.json(), {
    code: 40301,
    details: { required_scope: 'kyt.write', current_scopes: ['kyt.read'] },
  })
  assert.equal(
    answer.headers['www-authenticate'],
    'Bearer error="insufficient_scope", scope="kyt.write"',
  )
})

test('only successful calls are charged, and no hold stays open', async () => {
  const meter = createMeter()
  const app = serverOf(answering(PRINCIPAL), meter)
  const costs: Record<string, unknown> = {}
  for (const url of ['/missing', '/bug', '/redirect', '/ok']) {
    const { headers } = await app.inject(url)
    costs[url] = headers['x-cu-cost']
  }
  assert.deepEqual(costs, { '/missing': '0', '/bug': '0', '/redirect': '0', '/ok': '0.5' })
  const { used, remaining } = meter.quota(PRINCIPAL)
  assert.deepEqual([used, remaining], [0.5, 29_999.5])
})

test('addresses without a valid credential are rate limited, organizations are not', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const meter = createMeter()
  const anonymous = serverOf(answering(undefined), meter)
  const wrong = serverOf(answering(new Fault('UNAUTHORIZED')), meter)
  const statuses: number[] = []
  for (let call = 0; call < 110; call += 1) {
    statuses.push((await (call % 2 === 0 ? anonymous : wrong).inject('/ok')).statusCode)
  }
  assert.equal(statuses.filter((status) => status === 401).length, 100)
  assert.ok(statuses.slice(-10).every((status) => status === 429))
  assert.equal((await serverOf(answering(PRINCIPAL), meter).inject('/ok')).statusCode, 200)
})

test('accounts that cannot be checked answer 503, not 401', async () => {
  const answer = await serverOf(answering(new Fault('DATABASE_ERROR'))).inject('/ok')
  assert.equal(answer.statusCode, 503)
  assert.equal(answer.headers['www-authenticate'], undefined)
})

test('a request that its caller leaves costs what the engine has done for it', async () => {
  const meter = createMeter()
  const app = serverOf(answering(PRINCIPAL), meter)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const leaving = new AbortController()
  const left = fetch(`${url}/endless`, { signal: leaving.signal })
  await until(() => meter.quota(PRINCIPAL).remaining !== meter.quota(PRINCIPAL).total, 'a hold')
  leaving.abort()
  await assert.rejects(left)
  await until(() => meter.quota(PRINCIPAL).used > 0, 'the charge')
  assert.equal(meter.quota(PRINCIPAL).used, queryWorkMilliUnits(WORK) / 1_000)
  await app.close()
})
