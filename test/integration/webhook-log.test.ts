import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import Fastify, { type FastifyInstance } from 'fastify'
import { openWarehouse, type Warehouse } from '../../core/clickhouse/client.ts'
import { migrate } from '../../core/clickhouse/migrate.ts'
import { Fault } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { webhookAttemptRoutes } from '../../serving/http/webhook-attempts.ts'
import type { Principal } from '../../serving/interfaces.ts'
import { createLimitedReader, installQueryCaller } from '../../serving/queries/query-limiter.ts'
import { startDeliveryLog } from '../../serving/webhooks/delivery-log.ts'
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

const folder = mkdtempSync(join(tmpdir(), 'sluice-webhook-log-'))
const MESSAGE = messageId('sol.token.created', 'Logged', 'tx-Logged', '2.1')

let warehouse: Warehouse
let receiver: WebhookReceiver
let stack: WebhookStack
let app: FastifyInstance
let recorder: { stop(): Promise<void> }
let orgId = TEST_OWNER.orgId

before(async () => {
  warehouse = await openWarehouse({ kind: 'embedded', path: join(folder, 'warehouse') })
  await migrate(warehouse, [])
  await migrate(warehouse, [])
  receiver = await startWebhookReceiver()
  stack = await startWebhookStack({ scheduleMs: [0, 10, 10] })
  const { bus, codec, config, webhookContext } = stack
  const log = makeSilentLogger()
  recorder = await startDeliveryLog({ bus, codec, warehouse, config, metrics: makeMetrics(), log })
  await stack.startMatcher()
  await stack.startSender()
  app = Fastify()
  app.decorateRequest('principal', null)
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof Fault)) throw error
    return reply.status(error.status).send({ code: error.code })
  })
  app.addHook('onRequest', async (request) => {
    request.principal = { ...PRINCIPAL, orgId }
  })
  app.decorateRequest('work', null)
  installQueryCaller(app, ({ orgId }) => orgId)
  await app.register(
    webhookAttemptRoutes({
      ...webhookContext,
      codec,
      reader: createLimitedReader(warehouse, makeMetrics()),
      nowMs: Date.now,
    }),
  )
})
after(async () => {
  await app.close()
  await recorder.stop()
  await stack.stop()
  await receiver.stop()
  await warehouse.close()
  rmSync(folder, { recursive: true, force: true })
})

const PRINCIPAL = {
  kind: 'api-key',
  ...TEST_OWNER,
  credentialId: 'key_1',
  plan: 'selfhost',
  scopes: [],
  expiresAtMs: null,
} as const satisfies Principal

const read = async (url: string) => {
  const answer = await app.inject({ url })
  return { status: answer.statusCode, body: answer.json() }
}

test('attempts and messages are listed in pages; a resend is one more attempt with the same id', async () => {
  receiver.answer('/hook', (response, _request, nth) =>
    response.writeHead(nth <= 2 ? 500 : 200).end(`answer ${nth}`),
  )
  const { endpoint_id: id } = await stack.endpoint({ url: `${receiver.base}/hook` })
  await stack.publish('sol.token.created', buildTokenRecord([buildTokenEvent('Logged')]))
  const path = `/webhook/endpoint/${id}/attempt`
  const { body } = await until(async () => {
    const answer = await read(path)
    return answer.body.data.length === 3 ? answer : null
  })
  const shown = body.data.map(
    (each: Record<string, unknown>) => `${each.attemptNumber} ${each.status} ${each.response}`,
  )
  assert.deepEqual(shown, ['3 success answer 3', '2 pending answer 2', '1 pending answer 1'])
  assert.equal(body.data[0].msgId, MESSAGE)
  assert.equal(body.data[0].nextAttempt, null)
  const first = (await read(`${path}?limit=2`)).body
  assert.equal(first.hasMore, true)
  const second = (await read(`${path}?limit=2&cursor=${first.nextCursor}`)).body
  assert.deepEqual([...first.data, ...second.data], body.data)
  assert.equal((await read(`${path}?status=success`)).body.data.length, 1)
  const message = (await read(`/webhook/message/${MESSAGE}`)).body
  assert.equal(message.payload, receiver.at('/hook')[0]?.body)
  const resent = await app.inject({
    method: 'POST',
    url: `/webhook/message/${MESSAGE}/endpoint/${id}/resend`,
  })
  assert.deepEqual([resent.statusCode, resent.json()], [200, { success: true }])
  const again = await until(async () => {
    const { data } = (await read(`/webhook/message/${MESSAGE}/attempt`)).body
    return data.length === 4 ? data[0] : null
  })
  assert.deepEqual([again.triggerType, again.status], ['manual', 'success'])
  assert.deepEqual(
    new Set(receiver.at('/hook').map(({ headers }) => headers['webhook-id'])),
    new Set([MESSAGE]),
  )
})

test('unknown messages and endpoints, and those of another organization, answer 404 or empty', async () => {
  const unknown = `msg_${'0'.repeat(26)}`
  assert.equal((await read(`/webhook/message/${unknown}`)).body.code, 52013)
  const [endpoint] = stack.webhookContext.store.ofOrg(TEST_OWNER.orgId)
  orgId = 'org_other'
  assert.equal((await read(`/webhook/endpoint/${endpoint?.endpoint_id}/attempt`)).body.code, 52000)
  assert.deepEqual((await read(`/webhook/message/${MESSAGE}/attempt`)).body.data, [])
  const resent = await app.inject({
    method: 'POST',
    url: `/webhook/message/${MESSAGE}/endpoint/${endpoint?.endpoint_id}/resend`,
  })
  assert.equal(resent.json().code, 52000)
  orgId = TEST_OWNER.orgId
  await stack.webhookContext.endpoints.update(TEST_OWNER, endpoint?.endpoint_id ?? '', {
    disabled: true,
  })
  const off = await app.inject({
    method: 'POST',
    url: `/webhook/message/${MESSAGE}/endpoint/${endpoint?.endpoint_id}/resend`,
  })
  assert.equal(off.json().code, 409)
})

const publishPrice = (height: number, price: string) => {
  const time = Date.now()
  return stack.publishTo('tokenPrices', 'token.price.TokenPriceEvents', {
    key: PRICED,
    value: {
      meta: { chain: 'sol', op: 'OP_APPLY', seq: height, height, block_time: time },
      events: [
        {
          block: { timestamp: time, height },
          token_price: { token_address: PRICED, price_in_usd: price },
        },
      ],
    },
  })
}
const PRICED = 'So11111111111111111111111111111111111111112'
const CHANNELS = ['sol.price.crossed'] as const
const levelAt = (priceInUsd: number) => [{ token: PRICED, priceInUsd }]

test('a message that exists because an endpoint asked for it is read and sent again by organizations that were sent it or would be, and no others', async () => {
  const other = { ...TEST_OWNER, orgId: 'org_other' }
  const { endpoints } = stack.webhookContext
  const { endpoint_id: ownId } = await stack.endpoint({
    url: `${receiver.base}/levels`,
    channels: [...CHANNELS],
    priceLevels: levelAt(150),
  })
  const { endpoint_id: plainId } = await stack.endpoint({ url: `${receiver.base}/plain` })
  const url = `${receiver.base}/other`
  const otherId = (await endpoints.create(other, { url })).body.id
  await publishPrice(7_000, '140')
  await publishPrice(7_001, '160')
  const id = messageId('sol.price.crossed', PRICED, '', '7001/150/up')
  const path = `/webhook/message/${id}`
  const asked = async (org: string) => {
    orgId = org
    const { status, body } = await read(path)
    return [status, body.code ?? body.id]
  }
  const resend = async (org: string, endpointId: string) => {
    orgId = org
    const answer = await app.inject({
      method: 'POST',
      url: `${path}/endpoint/${endpointId}/resend`,
    })
    return [answer.statusCode, answer.json().code ?? answer.json().success]
  }
  await until(async () => (await read(`${path}/attempt`)).body.data.length === 1)
  assert.deepEqual(await asked('org_1'), [200, id])

  // Another organization, with the channel of new tokens only, and one without any endpoint.
  assert.deepEqual(await asked('org_other'), [404, 52013])
  assert.deepEqual(await asked('org_without'), [404, 52013])
  assert.deepEqual(await resend('org_other', otherId), [404, 52013])
  orgId = 'org_other'
  assert.equal((await read(`/webhook/message/${MESSAGE}`)).status, 200, 'kept for everybody')

  // An endpoint that would be sent it, though it is disabled; another level, and another filter, would not be.
  const change = (body: Parameters<typeof endpoints.update>[2]) =>
    endpoints.update(other, otherId, body)
  await change({ channels: [...CHANNELS], priceLevels: levelAt(150), disabled: true })
  assert.deepEqual(await asked('org_other'), [200, id])
  await change({ filter: "direction == 'down'" })
  assert.deepEqual(await asked('org_other'), [404, 52013])
  await change({ filter: null, priceLevels: levelAt(151) })
  assert.deepEqual(await asked('org_other'), [404, 52013])

  // Who was sent it has it after a change too, and at an endpoint that did not get it.
  await endpoints.update(TEST_OWNER, ownId, { priceLevels: levelAt(200) })
  assert.deepEqual(await asked('org_1'), [200, id])
  assert.deepEqual(await resend('org_1', plainId), [200, true])
  await until(() => receiver.at('/plain').length === 1)
  assert.equal(receiver.at('/plain')[0]?.headers['webhook-id'], id)
})
