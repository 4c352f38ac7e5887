import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { activeSecrets } from '../../serving/webhooks/endpoint-credentials.ts'
import { messageId } from '../../serving/webhooks/message.ts'
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
const MIGRATED = 'sol.token.migrated'
const TIMEOUT_MS = 6_000

let receiver: WebhookReceiver
let stack: WebhookStack

before(async () => {
  receiver = await startWebhookReceiver()
  stack = await startWebhookStack({
    config: { webhookTimeoutMs: TIMEOUT_MS, webhookEndpoints: 100, webhookSvixHeaders: true },
  })
  await stack.startMatcher()
  await stack.startSender()
})
after(async () => {
  await stack.stop()
  await receiver.stop()
})

afterEach(async () => {
  const { endpoints: endpointApi } = stack.webhookContext
  for (const { id } of endpointApi.list(TEST_OWNER, { limit: 100 }).data)
    await endpointApi.remove(TEST_OWNER, id)
})

const endpointAt = (path: string, more: object = {}) =>
  stack.endpoint({ url: receiver.base + path, ...more })

const attemptsOf = async (endpointId: string) =>
  (await stack.attempts()).filter(({ endpoint_id }) => endpoint_id === endpointId)

test('a created token arrives once, signed so that the stock verifiers take it', async () => {
  const endpoint = await endpointAt('/signed')
  await stack.publish(CREATED, buildTokenRecord([buildTokenEvent('MintA')]))
  const [got] = await until(() =>
    receiver.at('/signed').length === 1 ? receiver.at('/signed') : null,
  )
  assert.ok(got)
  const [secret = ''] = activeSecrets(endpoint, stack.webhookContext.cipher, Date.now())
  const body = new Webhook(secret).verify(got.body, got.headers) as Record<string, unknown>
  assert.deepEqual(new SvixWebhook(secret).verify(got.body, got.headers), body)
  assert.throws(() => new Webhook(secret).verify(`${got.body} `, got.headers))
  assert.equal(body.channel, CREATED)
  assert.equal(body.id, messageId(CREATED, 'MintA', 'tx-MintA', '2.1'))
  assert.equal(got.headers['webhook-id'], body.id)
  assert.match(String(got.headers['x-webhook-signature']), /^[0-9a-f]{64}$/)
  assert.deepEqual(body.data, {
    a: 'MintA',
    n: 'Name MintA',
    s: 'SYM',
    dec: 6,
    cts: 1_763_640_000_000,
    lf: {
      pa: '6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P',
      pf: 'pump_fun',
      pn: 'Pump.fun',
    },
  })
  assert.deepEqual(body.meta, {
    chain: 'sol',
    slot: 101,
    tx: 'tx-MintA',
    ix: '2.1',
    commitment: 'confirmed',
    ...(body.meta as { lane: number; seq: number }),
  })
})

test('after a reorg, a replay of the topic or a second record of the event nothing is sent again', async () => {
  const endpoint = await endpointAt('/once')
  const event = buildTokenEvent('MintB', { migrated_to: { protocol_family: 'pump_swap' } })
  await stack.publish(MIGRATED, buildTokenRecord([event], { seq: 1 }))
  await until(() => receiver.at('/once').length === 1)
  await stack.publish(MIGRATED, buildTokenRecord([event], { op: 'OP_REVERT', seq: 2 }))
  await stack.publish(MIGRATED, buildTokenRecord([event], { seq: 3 }))
  await stack.publish(MIGRATED, buildTokenRecord([event], { seq: 1 }))
  await stack.publish(
    MIGRATED,
    buildTokenRecord([buildTokenEvent('MintB')], { seq: 4, timeMs: Date.now() - 7_200_000 }),
  )
  await stack.publish(MIGRATED, buildTokenRecord([buildTokenEvent('MintC')], { seq: 5 }))
  await until(async () =>
    (await attemptsOf(endpoint.endpoint_id)).some(
      ({ message_id }) => message_id === messageId(MIGRATED, 'MintC', 'tx-MintC', '2.1'),
    ),
  )
  assert.deepEqual(
    receiver.at('/once').map(({ body }) => JSON.parse(body).data.a),
    ['MintB', 'MintC'],
  )
})

test('an event older than the bound is not delivered', async () => {
  await endpointAt('/stale')
  const old = buildTokenRecord([buildTokenEvent('MintOld')], { timeMs: Date.now() - 3_700_000 })
  await stack.publish(CREATED, old)
  await stack.publish(CREATED, buildTokenRecord([buildTokenEvent('MintOld2')]))
  await until(() => receiver.at('/stale').length === 1)
  assert.equal(JSON.parse(receiver.at('/stale')[0]?.body ?? '').data.a, 'MintOld2')
})

test('three failures, then a success: four attempts with one id and the same bytes', async () => {
  receiver.answer('/third', (response, _request, nth) =>
    response.writeHead(nth < 4 ? 503 : 204).end(),
  )
  const endpoint = await endpointAt('/third')
  await stack.publish(CREATED, buildTokenRecord([buildTokenEvent('MintD')]))
  const attempts = await until(async () => {
    const all = await attemptsOf(endpoint.endpoint_id)
    return all.length === 4 ? all : null
  })
  assert.deepEqual(
    attempts.map(({ status, attempt, response_status }) => [attempt, status, response_status]),
    [
      [1, 'pending', 503],
      [2, 'pending', 503],
      [3, 'pending', 503],
      [4, 'success', 204],
    ],
  )
  const got = receiver.at('/third')
  assert.equal(new Set(got.map(({ headers }) => headers['webhook-id'])).size, 1)
  assert.equal(new Set(got.map(({ body }) => body)).size, 1)
})

test('an endpoint that never gets well: every attempt is recorded, then it ends and its clock starts', async () => {
  receiver.answer('/never', (response) => response.writeHead(500).end('no'))
  const endpoint = await endpointAt('/never')
  await stack.publish(CREATED, buildTokenRecord([buildTokenEvent('MintE')]))
  const last = await until(async () =>
    (await attemptsOf(endpoint.endpoint_id)).find(({ status }) => status === 'fail'),
  )
  assert.equal(last.attempt, 5)
  assert.equal(last.response, 'no')
  await until(
    () => (stack.webhookContext.store.get(endpoint.endpoint_id)?.first_failure_at ?? 0) > 0,
  )
  const operations = await stack.operations()
  assert.ok(operations.includes('message.attempt.failing'))
  assert.ok(operations.includes('message.attempt.exhausted'))
})

test('a 410 response and a webhook-delivery: disable header turn an endpoint off at once', async () => {
  receiver.answer('/gone', (response) => response.writeHead(410).end())
  receiver.answer('/please', (response) =>
    response.writeHead(200, { 'webhook-delivery': 'disable' }).end(),
  )
  const gone = await endpointAt('/gone')
  const please = await endpointAt('/please')
  await stack.publish(CREATED, buildTokenRecord([buildTokenEvent('MintF')]))
  await until(() => stack.webhookContext.store.get(gone.endpoint_id)?.disabled_reason === 'gone')
  await until(
    () => stack.webhookContext.store.get(please.endpoint_id)?.disabled_reason === 'receiver',
  )
  await endpointAt('/witness')
  await stack.publish(CREATED, buildTokenRecord([buildTokenEvent('MintG')]))
  await until(() => receiver.at('/witness').length === 1)
  assert.equal(receiver.at('/gone').length, 1)
  assert.equal(receiver.at('/please').length, 1)
})

test('hanging, early close, 10 MB, internal redirects: bounded, recorded, other endpoints are not delayed', async () => {
  receiver.answer('/hang', () => undefined)
  receiver.answer('/early', (_response, request) => request.socket.destroy())
  receiver.answer('/half', (response) => {
    response.writeHead(200, { 'content-length': '1000' })
    response.write('half', () => response.destroy())
  })
  receiver.answer('/big', (response) => {
    let sent = 0
    response.writeHead(200)
    const chunk = Buffer.alloc(65_536, 'x')
    const more = (): void => {
      while (sent < 10_000_000 && !response.destroyed) {
        sent += chunk.byteLength
        if (!response.write(chunk)) return void response.once('drain', more)
      }
      response.end()
    }
    response.on('error', () => undefined)
    more()
  })
  receiver.answer('/redirect', (response) =>
    response.writeHead(302, { location: `${receiver.base}/secret` }).end(),
  )
  const filter = 'data.a.startsWith("Hard")'
  const paths = ['/hang', '/early', '/half', '/big', '/redirect'] as const
  const endpoints = await Promise.all(paths.map((path) => endpointAt(path, { filter })))
  await endpointAt('/healthy', { filter })
  const startedMs = Date.now()
  const mints = Array.from({ length: 12 }, (_, index) => `Hard${index}`)
  await stack.publish(CREATED, buildTokenRecord(mints.map((mint) => buildTokenEvent(mint))))
  await until(() => receiver.at('/healthy').length === 12)
  const slowestMs = Math.max(...receiver.at('/healthy').map(({ atMs }) => atMs - startedMs))
  assert.ok(slowestMs < TIMEOUT_MS, `the healthy endpoint waited ${slowestMs} ms`)
  const kinds = await until(
    async () => {
      const all = await Promise.all(endpoints.map(({ endpoint_id }) => attemptsOf(endpoint_id)))
      return all.every((list) => list.length >= 10) ? all : null
    },
    'attempts of every endpoint',
    15_000,
  )
  const kindOf = (list: readonly { readonly error_kind: string }[]) => [
    ...new Set(list.map(({ error_kind }) => error_kind)),
  ]
  assert.deepEqual(kinds.map(kindOf), [['timeout'], ['connect'], ['body'], [''], ['status']])
  assert.ok(kinds[0]?.every(({ duration_ms }) => duration_ms < TIMEOUT_MS + 3_000))
  assert.ok(
    kinds[0]?.every(({ at, next_at }) => next_at - at >= 50_000),
    'a slow one gets a pause',
  )
  assert.ok(kinds[3]?.every(({ response }) => response.length === 4_096))
  assert.deepEqual(receiver.at('/secret'), [], 'a redirect is not followed')
})

test('messages per second are held to, and none is lost', async () => {
  const filter = 'name.startsWith("Name Slow")'
  await endpointAt('/slow', { filter, rateLimit: 10 })
  const mints = Array.from({ length: 25 }, (_, index) => `Slow${index}`)
  await stack.publish(CREATED, buildTokenRecord(mints.map((mint) => buildTokenEvent(mint))))
  await until(() => receiver.at('/slow').length === 25)
  const times = receiver.at('/slow').map(({ atMs }) => atMs)
  const spreadMs = Math.max(...times) - Math.min(...times)
  // On a busy machine the first ones come late; without a limit all would come at once.
  assert.ok(spreadMs >= 1_000, `15 beyond the first ten took ${spreadMs} ms`)
})

test('channels, event types and filters select messages; a deleted or disabled endpoint gets none', async () => {
  const chosen: Readonly<Record<string, object>> = {
    '/all': {},
    '/none': { channels: [] },
    '/migrated': { channels: [MIGRATED] },
    '/type': { filterTypes: ['sol.token.*'], channels: [CREATED] },
    '/other-type': { filterTypes: [MIGRATED] },
    '/long': { filter: 'launchFrom.protocolFamily == "pump_fun" && decimals == 6' },
    '/missing': { filter: 'data.mt.pf == "raydium"' },
    '/off': { disabled: true },
    '/deleted': {},
  }
  const made = await Promise.all(
    Object.entries(chosen).map(([path, more]) => endpointAt(`/pick${path}`, more)),
  )
  const deleted = made.at(-1)
  await stack.webhookContext.endpoints.remove(TEST_OWNER, deleted?.endpoint_id ?? '')
  const before = receiver.at('/pick/all').length
  await stack.publish(CREATED, buildTokenRecord([buildTokenEvent('Picked')]))
  await until(
    () => receiver.at('/pick/all').length > before && receiver.at('/pick/long').length > 0,
  )
  await until(() => receiver.at('/pick/type').length > 0)
  const got = Object.keys(chosen).filter((path) => receiver.at(`/pick${path}`).length > 0)
  assert.deepEqual(got, ['/all', '/type', '/long'])
})

test('a rotated secret signs beside the new one, and the new one alone verifies too', async () => {
  const endpoint = await endpointAt('/rotate')
  const old = stack.webhookContext.endpoints.secret(TEST_OWNER, endpoint.endpoint_id)
  await stack.webhookContext.endpoints.rotate(TEST_OWNER, endpoint.endpoint_id, {})
  const fresh = stack.webhookContext.endpoints.secret(TEST_OWNER, endpoint.endpoint_id)
  assert.notEqual(fresh, old)
  await stack.publish(CREATED, buildTokenRecord([buildTokenEvent('Rotated')]))
  const [got] = await until(() => {
    const all = receiver.at('/rotate').filter(({ body }) => body.includes('Rotated'))
    return all.length > 0 ? all : null
  })
  assert.ok(got)
  for (const secret of [old, fresh]) new Webhook(secret).verify(got.body, got.headers)
  assert.equal(String(got.headers['webhook-signature']).split(' ').length, 2)
})

test('messages that wait for an endpoint are canceled when it is turned off, and not resumed', async () => {
  receiver.answer('/wait', (response) => response.writeHead(429).end())
  const endpoint = await endpointAt('/wait', { filter: 'data.a == "Waiting"' })
  const { endpoint_id: id } = endpoint
  await stack.publish(CREATED, buildTokenRecord([buildTokenEvent('Waiting')]))
  await until(async () => (await attemptsOf(id)).length === 1)
  await stack.webhookContext.endpoints.update(TEST_OWNER, id, { disabled: true })
  const ended = await until(async () =>
    (await attemptsOf(id)).find(({ status }) => status === 'canceled'),
  )
  assert.equal(ended.attempt, 1)
  await stack.webhookContext.endpoints.update(TEST_OWNER, id, { disabled: false })
  assert.equal(stack.webhookContext.store.get(id)?.disabled_reason, '')
})
