import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Fastify, { type FastifyInstance } from 'fastify'
import { Webhook } from 'standardwebhooks'
import { openWarehouse, type Warehouse } from '../../core/clickhouse/client.ts'
import { migrate } from '../../core/clickhouse/migrate.ts'
import { Fault } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { WEBHOOK_KIND_NAMES } from '../../schemas/webhooks.ts'
import { webhookStatsRoutes } from '../../serving/http/webhook-stats.ts'
import { webhookTaskRoutes } from '../../serving/http/webhook-tasks.ts'
import type { Principal } from '../../serving/interfaces.ts'
import { createLimitedReader, installQueryCaller } from '../../serving/queries/query-limiter.ts'
import { startDeliveryLog } from '../../serving/webhooks/delivery-log.ts'
import { startTaskRunner } from '../../serving/webhooks/task-runner.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import {
  buildTokenEvent,
  buildTokenRecord,
  startWebhookStack,
  TEST_OWNER,
  type WebhookStack,
} from '../support/webhook-stack.ts'

const CREATED = 'sol.token.created'
const PRINCIPAL = {
  kind: 'api-key',
  ...TEST_OWNER,
  credentialId: 'key_1',
  plan: 'selfhost',
  scopes: [],
  expiresAtMs: null,
} as const satisfies Principal
const WAIT_MS = 30_000

const folder = mkdtempSync(join(tmpdir(), 'sluice-webhook-tasks-'))
let warehouse: Warehouse
let receiver: WebhookReceiver
let stack: WebhookStack
let app: FastifyInstance
let recorder: { stop(): Promise<void> }
/** True: the warehouse refuses rows of attempts. */
let isBehind = false
let runner: { stop(): Promise<void> }

const startRunner = () => {
  const { bus, codec, config, webhookContext } = stack
  const log = makeSilentLogger()
  return startTaskRunner({
    bus,
    codec,
    config,
    log,
    warehouse,
    store: webhookContext.store,
    nowMs: Date.now,
  })
}

before(async () => {
  warehouse = await openWarehouse({ kind: 'embedded', path: join(folder, 'warehouse') })
  await migrate(warehouse, [])
  receiver = await startWebhookReceiver()
  stack = await startWebhookStack({ scheduleMs: [0, 10], config: { webhookEndpoints: 100 } })
  const { bus, codec, config, webhookContext } = stack
  const log = makeSilentLogger()
  const insert: Warehouse['insert'] = async (table, rows) => {
    if (isBehind && table === 'webhook_attempts') throw new Error('too many parts')
    return warehouse.insert(table, rows)
  }
  recorder = await startDeliveryLog({
    bus,
    codec,
    warehouse: { insert },
    config,
    metrics: makeMetrics(),
    log,
  })
  await stack.startMatcher()
  await stack.startSender()
  runner = await startRunner()
  app = Fastify()
  app.decorateRequest('principal', null)
  app.setErrorHandler((error, _request, reply) => {
    if (error instanceof Fault) return reply.status(error.status).send({ code: error.code })
    return reply.status(400).send({ text: String(error) })
  })
  app.addHook('onRequest', async (request) => {
    request.principal = PRINCIPAL
  })
  app.decorateRequest('work', null)
  installQueryCaller(app, ({ orgId }) => orgId)
  const nowMs = Date.now
  await app.register(webhookTaskRoutes({ ...webhookContext, codec, nowMs }))
  const reader = createLimitedReader(warehouse, makeMetrics())
  const activityOf = () => ({ filtered: 2, filterErrors: 1, sending: 0 })
  await app.register(webhookStatsRoutes({ ...webhookContext, reader, activityOf, nowMs }))
})
after(async () => {
  await app.close()
  await runner.stop()
  await recorder.stop()
  await stack.stop()
  await receiver.stop()
  await warehouse.close()
  rmSync(folder, { recursive: true, force: true })
})

const call = async (method: 'GET' | 'POST', url: string, payload?: object) => {
  const answer = await app.inject({ method, url, ...(payload && { payload }) })
  return { status: answer.statusCode, body: answer.json() }
}

const publish = (names: readonly string[]): Promise<void> =>
  stack.publish(CREATED, buildTokenRecord(names.map((name) => buildTokenEvent(name))))

const ended = (id: string, taskId: string) =>
  until(
    async () => {
      const { body } = await call('GET', `/webhook/endpoint/${id}/task/${taskId}`)
      return body.status !== 'running' && body
    },
    'the task ended',
    WAIT_MS,
  )

const attemptsIn = async (id: string, status: string): Promise<number> => {
  const { rows } = await warehouse.query<{ readonly n: string }>({
    sql: 'SELECT toString(count()) AS n FROM webhook_attempts FINAL WHERE endpoint_id = {id:String} AND status = {status:String}',
    params: { id, status },
  })
  return Number(rows[0]?.n)
}

const idsAt = (path: string): readonly string[] =>
  receiver.at(path).map(({ headers }) => headers['webhook-id'] ?? '')

test('recovery sends exactly the failed messages, with their ids; statistics and messages show it', async () => {
  const since = new Date().toISOString()
  const { endpoint_id: id } = await stack.endpoint({ url: `${receiver.base}/r` })
  const names = Array.from({ length: 130 }, (_, index) => `Recover${index}`)
  await publish(['Fine'])
  await until(() => receiver.at('/r').length === 1)
  receiver.answer('/r', (response) => response.writeHead(302, { location: '/x' }).end())
  await publish(names)
  await until(async () => (await attemptsIn(id, 'fail')) === names.length, 'all failed', WAIT_MS)
  const failed = new Set(idsAt('/r').slice(1))
  assert.equal(failed.size, names.length)
  const bad = (await call('GET', `/webhook/endpoint/${id}/stats`)).body
  assert.deepEqual(
    [bad.success, bad.fail, bad.pending, bad.filtered, bad.filterErrors, bad.health.state],
    [1, 130, 0, 2, 1, 'failing'],
  )
  assert.equal(bad.health.failuresInRow, 260)
  assert.ok(bad.p50Ms >= 0 && bad.p95Ms >= bad.p50Ms)
  const page = (await call('GET', `/webhook/endpoint/${id}/message?status=fail&limit=100`)).body
  assert.deepEqual([page.data.length, page.hasMore, page.data[0].attempts], [100, true, 2])
  assert.equal(page.data[0].lastAttempt.responseStatusCode, 302)
  const rest = await call(
    'GET',
    `/webhook/endpoint/${id}/message?status=fail&limit=100&cursor=${page.nextCursor}`,
  )
  assert.equal(rest.body.data.length, 30)
  receiver.answer('/r', (response) => response.writeHead(200).end())
  const before = receiver.at('/r').length
  const task = (await call('POST', `/webhook/endpoint/${id}/recover`, { since })).body
  assert.deepEqual([task.kind, task.status, task.queued], ['recover', 'running', 0])
  const again = await call('POST', `/webhook/endpoint/${id}/recover`, { since })
  assert.deepEqual([again.status, again.body.code], [409, 409], 'one task at a time')
  const seen = new Set<number>()
  await until(
    async () => {
      const { body } = await call('GET', `/webhook/endpoint/${id}/task/${task.id}`)
      seen.add(body.queued)
      return body.status === 'done'
    },
    'the recovery is done',
    WAIT_MS,
  )
  assert.ok(seen.has(100) && seen.has(130), `progress: ${[...seen]}`)
  await until(async () => (await attemptsIn(id, 'success')) === 131, 'all arrived', WAIT_MS)
  const sent = idsAt('/r').slice(before)
  assert.equal(sent.length, 130)
  assert.deepEqual(new Set(sent), failed)
  const good = (await call('GET', `/webhook/endpoint/${id}/stats`)).body
  assert.deepEqual([good.success, good.fail, good.health.state], [131, 0, 'healthy'])
  const none = (await call('POST', `/webhook/endpoint/${id}/recover`, { since })).body
  assert.equal((await ended(id, none.id)).queued, 0, 'nothing is left to recover')
  const { data } = (await call('GET', `/webhook/endpoint/${id}/task`)).body
  assert.deepEqual(
    data.map((each: { id: string }) => each.id),
    [none.id, task.id],
  )
  await stack.webhookContext.endpoints.remove(TEST_OWNER, id)
})

test('a replay sends the messages that an endpoint missed while it was off and its filter accepts; a stopped runner continues', async () => {
  const since = Date.now()
  const { endpoint_id: id } = await stack.endpoint({
    url: `${receiver.base}/p`,
    filter: 'name != "Name Unwanted"',
  })
  const { endpoints: endpointApi } = stack.webhookContext
  await publish(['Seen'])
  await until(() => receiver.at('/p').length === 1)
  await endpointApi.update(TEST_OWNER, id, { disabled: true })
  const off = await call('POST', `/webhook/endpoint/${id}/replay`, { since })
  assert.deepEqual([off.status, off.body.code], [409, 409])
  const missed = Array.from({ length: 150 }, (_, index) => `Missed${index}`)
  await publish([...missed, 'Unwanted'])
  await until(
    async () => {
      const { rows } = await warehouse.query<{ readonly n: string }>({
        sql: `SELECT toString(count()) AS n FROM webhook_messages FINAL WHERE startsWith(token_address, 'Missed')`,
        params: {},
      })
      return Number(rows[0]?.n) === missed.length
    },
    'the messages are stored',
    WAIT_MS,
  )
  await endpointApi.update(TEST_OWNER, id, { disabled: false })
  const task = (await call('POST', `/webhook/endpoint/${id}/replay`, { since })).body
  await until(
    async () => {
      const { body } = await call('GET', `/webhook/endpoint/${id}/task/${task.id}`)
      return body.queued > 0
    },
    'the replay began',
    WAIT_MS,
  )
  await runner.stop()
  runner = await startRunner()
  const done = await ended(id, task.id)
  assert.equal(done.status, 'done')
  assert.equal(done.queued, missed.length)
  await until(() => receiver.at('/p').length === 1 + missed.length, 'all arrived', WAIT_MS)
  const names = receiver.at('/p').map(({ body }) => JSON.parse(body).data.a)
  assert.deepEqual(names.toSorted(), [...missed, 'Seen'].toSorted())
  await endpointApi.remove(TEST_OWNER, id)
})

test('a recovery right after a fast disable and enable sends the messages that waited for their next attempt', async () => {
  const since = Date.now()
  const { endpoint_id: id } = await stack.endpoint({ url: `${receiver.base}/toggled` })
  // The attempt after a 429 is a minute away.
  receiver.answer('/toggled', (response) => response.writeHead(429).end())
  await publish(['Toggled0', 'Toggled1', 'Toggled2'])
  await until(async () => (await attemptsIn(id, 'pending')) === 3, 'all refused', WAIT_MS)
  const { endpoints: endpointApi } = stack.webhookContext
  await endpointApi.update(TEST_OWNER, id, { disabled: true })
  await endpointApi.update(TEST_OWNER, id, { disabled: false })
  receiver.answer('/toggled', (response) => response.writeHead(200).end())
  const task = (await call('POST', `/webhook/endpoint/${id}/recover`, { since })).body
  const { status, queued } = await ended(id, task.id)
  assert.deepEqual([status, queued], ['done', 3])
  await until(async () => (await attemptsIn(id, 'success')) === 3, 'all arrived', WAIT_MS)
  assert.equal(receiver.at('/toggled').length, 6)
  await endpointApi.remove(TEST_OWNER, id)
})

test('a recovery and a replay wait until the attempts before them are in the warehouse', async () => {
  const since = Date.now()
  const paths = ['/refused', '/accepted']
  receiver.answer('/refused', (response) => response.writeHead(500).end())
  isBehind = true
  const [refused = '', accepted = ''] = await Promise.all(
    paths.map(async (path) => (await stack.endpoint({ url: receiver.base + path })).endpoint_id),
  )
  await publish(['Behind0', 'Behind1'])
  await until(() => receiver.at('/refused').length === 4 && receiver.at('/accepted').length === 2)
  await until(async () => {
    const ends = (await stack.attempts()).filter(({ endpoint_id }) => endpoint_id === refused)
    return ends.filter(({ status }) => status === 'fail').length === 2
  })
  receiver.answer('/refused', (response) => response.writeHead(200).end())
  const recovery = (await call('POST', `/webhook/endpoint/${refused}/recover`, { since })).body
  const replay = (await call('POST', `/webhook/endpoint/${accepted}/replay`, { since })).body
  const startedMs = Date.now()
  await until(() => Date.now() > startedMs + 5_500, 'the time in which tasks begin')
  for (const [id, task] of [
    [refused, recovery],
    [accepted, replay],
  ]) {
    const { body } = await call('GET', `/webhook/endpoint/${id}/task/${task.id}`)
    assert.deepEqual([body.status, body.lookedAt], ['running', 0], task.kind)
  }
  isBehind = false
  assert.equal((await ended(refused, recovery.id)).queued, 2)
  assert.equal((await ended(accepted, replay.id)).queued, 0)
  await until(async () => (await attemptsIn(refused, 'success')) === 2, 'all recovered', WAIT_MS)
  assert.deepEqual([receiver.at('/refused').length, receiver.at('/accepted').length], [6, 2])
  for (const id of [refused, accepted]) await stack.webhookContext.endpoints.remove(TEST_OWNER, id)
})

test('a sample of every kind is signed as any message, and its failure is not repeated', async () => {
  const { endpoint_id: id } = await stack.endpoint({ url: `${receiver.base}/s` })
  const verifier = new Webhook(stack.webhookContext.endpoints.secret(TEST_OWNER, id))
  for (const kind of WEBHOOK_KIND_NAMES) {
    const before = receiver.at('/s').length
    const { body } = await call('POST', `/webhook/endpoint/${id}/send-example`, {
      channel: `eth.${kind}`,
    })
    assert.match(body.msgId, /^msg_test_[0-9A-Z]{26}$/)
    const [got] = await until(() => {
      const fresh = receiver.at('/s').slice(before)
      return fresh.length > 0 && fresh
    })
    assert.ok(got)
    const sent = verifier.verify(got.body, got.headers) as Record<string, unknown>
    assert.deepEqual([sent.id, sent.channel], [body.msgId, `eth.${kind}`])
  }
  receiver.answer('/s', (response) => response.writeHead(500).end())
  const { body } = await call('POST', `/webhook/endpoint/${id}/send-example`, { channel: CREATED })
  const attempts = await until(async () => {
    const all = (await stack.attempts()).filter(({ message_id }) => message_id === body.msgId)
    return all.length > 0 && all
  })
  assert.deepEqual(
    attempts.map(({ status, next_at }) => [status, next_at]),
    [['fail', 0]],
  )
  await stack.webhookContext.endpoints.remove(TEST_OWNER, id)
})

test('invalid replay windows and unknown tasks are refused with their code', async () => {
  const { endpoint_id: id } = await stack.endpoint({ url: `${receiver.base}/w` })
  const day = 86_400_000
  const table: readonly (readonly [object, number | undefined])[] = [
    [{ since: 'yesterday' }, 40031],
    [{ since: '2026-11-20' }, 40031],
    [{ since: Date.now() - 15 * day }, 40002],
    [{ since: Date.now(), until: Date.now() - day }, 40002],
    [{}, undefined],
    [{ since: Date.now() - 5, channels: ['sol.token.burned'] }, undefined],
  ]
  for (const [body, code] of table) {
    const answer = await call('POST', `/webhook/endpoint/${id}/replay`, body)
    assert.deepEqual([answer.status, answer.body.code], [400, code], JSON.stringify(body))
  }
  const missing = await call('GET', `/webhook/endpoint/${id}/task/task_none`)
  assert.deepEqual([missing.status, missing.body.code], [404, 404])
  const other = await call('POST', '/webhook/endpoint/ep_none/recover', { since: 1 })
  assert.deepEqual([other.status, other.body.code], [404, 52000])
})

test('a stored filter over the limits is reported as filter-invalid, other endpoints are served; a valid filter clears it', async () => {
  const { endpoint_id: id } = await stack.endpoint({ url: `${receiver.base}/old` })
  await stack.endpoint({ url: `${receiver.base}/beside` })
  const asksTime = 'timestamp(1).getHours("Asia/Tokyo") >= 0'
  // As an older version stored it: ten named zones.
  const filter = Array.from({ length: 10 }, () => asksTime).join(' && ')
  const store = (text: string | null) =>
    stack.webhookContext.store.change(id, (known) =>
      known === undefined
        ? undefined
        : { endpoint: { ...known, filter: text }, event: 'endpoint.updated' },
    )
  const healthOf = async () => (await call('GET', `/webhook/endpoint/${id}/stats`)).body.health
  assert.deepEqual([(await healthOf()).state, (await healthOf()).filterProblem], ['idle', null])
  await store(filter)
  await publish(['Unfiltered'])
  await until(() => receiver.at('/beside').length === 1, 'the endpoint beside it', WAIT_MS)
  assert.deepEqual(
    [(await healthOf()).state, (await healthOf()).filterProblem],
    ['filter-invalid', 'filter exceeds the limit of evaluation steps'],
  )
  assert.equal(receiver.at('/old').length, 0)
  await store(asksTime)
  await publish(['Filtered'])
  await until(() => receiver.at('/old').length === 1, 'the filter of today', WAIT_MS)
  assert.notEqual((await healthOf()).state, 'filter-invalid')
})
