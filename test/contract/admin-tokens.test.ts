import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { localCodec } from '../../core/codec/local-codec.ts'
import { loadConfig } from '../../core/config/load.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { globalTopic } from '../../schemas/topics.ts'
import { createOrganizations } from '../../serving/auth/organizations.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import { createAdminServer } from '../../serving/http/admin.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'
import { createCapturedLogger } from '../support/captured-logger.ts'
import { until } from '../support/until.ts'

const ADMIN_TOKEN = 'the bootstrap token of this test'
const { log, lines } = createCapturedLogger()
const metrics = makeMetrics()

let api: TestApi
let admin: FastifyInstance
before(async () => {
  api = await startApi({ log })
  admin = await createAdminServer({
    organizations: api.organizations,
    endpoints: api.endpoints,
    meter: createMeter(),
    metrics,
    log,
    config: loadConfig({ ADMIN_TOKEN }),
    nowMs: Date.now,
  })
})
after(async () => {
  await admin.close()
  await api.stop()
})

type Method = 'GET' | 'POST' | 'DELETE'
const ask = async (token: string, method: Method, path: string, payload?: object) => {
  const {
    statusCode: status,
    headers,
    body,
  } = await admin.inject({
    method,
    url: `/admin/v1${path}`,
    ...(payload && { payload }),
    headers: { authorization: `Bearer ${token}`, 'x-request-id': 'request-of-test' },
  })
  return { status, headers, body: JSON.parse(body) }
}
const make = async (role: 'read' | 'write', more: object = {}) => {
  const answer = await ask(ADMIN_TOKEN, 'POST', '/tokens', { name: role, role, ...more })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body as { token: string; tokenId: string; expiresAt: string }
}

test('roles: a reader looks, a writer changes, only ADMIN_TOKEN makes and ends admin tokens', async () => {
  const [reader, writer] = [await make('read'), await make('write')]
  assert.match(reader.token, /^sluice_admin_[\w-]{43}$/)
  const wanted = { name: 'by a token', plan: 'selfhost' }
  assert.equal((await ask(reader.token, 'GET', '/orgs')).status, 200)
  const denied = await ask(reader.token, 'POST', '/orgs', wanted)
  assert.deepEqual([denied.status, denied.body.code], [403, 403])
  const { reason, required_role, current_role } = denied.body.details
  assert.deepEqual([reason, required_role, current_role], ['missing_role', 'write', 'read'])
  assert.equal((await ask(writer.token, 'POST', '/orgs', wanted)).status, 200)
  for (const token of [reader.token, writer.token]) {
    assert.equal((await ask(token, 'POST', '/tokens', { name: 'x', role: 'read' })).status, 403)
    assert.equal((await ask(token, 'DELETE', `/tokens/${reader.tokenId}`)).status, 403)
    const listed = await ask(token, 'GET', '/tokens')
    assert.ok(
      listed.body.data.some(({ tokenId }: { tokenId: string }) => tokenId === reader.tokenId),
    )
    assert.ok(!JSON.stringify(listed.body).includes(reader.token.slice(-20)), 'no text is shown')
    assert.equal(listed.headers['cache-control'], 'no-store')
  }
})

test('an admin token can be replaced while the process runs: a second token works, the deleted one is rejected at once', async () => {
  const [first, second] = [await make('write'), await make('write')]
  assert.equal((await ask(ADMIN_TOKEN, 'DELETE', `/tokens/${first.tokenId}`)).status, 200)
  assert.equal((await ask(first.token, 'GET', '/orgs')).status, 401)
  assert.equal((await ask(second.token, 'GET', '/orgs')).status, 200)
  assert.equal((await ask(ADMIN_TOKEN, 'DELETE', `/tokens/${first.tokenId}`)).status, 404)
})

test('an admin token expires by itself, in every process that serves', async () => {
  const brief = await make('read', { expiresInSeconds: 2 })
  const there = await createOrganizations({
    bus: api.bus,
    codec: localCodec(),
    config: loadConfig({ KEY_PEPPER: 'pepper' }),
    authUrl: () => 'https://auth.test',
    nowMs: Date.now,
    log,
    metrics: makeMetrics(),
  })
  const opened = there.adminTokens.open(brief.token)
  assert.deepEqual(opened, { id: brief.tokenId, role: 'read' })
  assert.equal(there.adminTokens.open(`${brief.token.slice(0, -1)}_`), 'unknown')
  await until(
    async () => (await ask(brief.token, 'GET', '/orgs')).body.details?.reason === 'expired_token',
    'the token is over',
  )
  assert.equal(there.adminTokens.open(brief.token), 'expired')
  await there.stop()
})

test('changes are audited with actor, address and request, and kept', async () => {
  const writer = await make('write')
  const org = await ask(writer.token, 'POST', '/orgs', { name: 'audited' })
  const line = lines.find(({ facts }) => facts.subject === org.body.orgId)
  assert.equal(line?.message, 'audit')
  const expected = { action: 'org.create', actor: writer.tokenId, address: '127.0.0.1' }
  const { action, actor, address, requestId } = line?.facts ?? {}
  assert.deepEqual({ action, actor, address }, expected)
  assert.equal(requestId, 'request-of-test')
  const kept: object[] = []
  for await (const { value } of api.bus.read(globalTopic('controlAudit'), 0, 0)) {
    const event = value && localCodec().decode('control.AuditEvent', value)
    if (event && event.subject === org.body.orgId) {
      const { action, actor, address, request_id } = event
      kept.push({ action, actor, address, request_id })
    }
  }
  assert.deepEqual(kept, [{ ...expected, request_id: 'request-of-test' }])
  const made = lines.find(({ facts }) => facts.subject === writer.tokenId)
  assert.deepEqual([made?.facts.action, made?.facts.actor], ['admin-token.create', 'owner'])
})

test('a refused admin request is audited and counted, and no line shows a token', async () => {
  const reader = await make('read')
  await ask(reader.token, 'DELETE', '/orgs/org_x')
  await ask('garbage', 'GET', '/orgs')
  const refused = lines.filter(({ facts }) => facts.action === 'admin.refused').slice(-2)
  const told = refused.map(({ message, facts }) => [
    message,
    facts.actor,
    facts.detail,
    facts.subject,
  ])
  assert.deepEqual(told, [
    ['audit', reader.tokenId, 'missing_role', 'DELETE /admin/v1/orgs/:orgId'],
    ['audit', '', 'invalid_token', 'GET /admin/v1/orgs'],
  ])
  const text = await metrics.registry.metrics()
  assert.match(text, /sluice_auth_failures_total\{surface="admin",reason="missing_role"\} \d/)
  assert.match(text, /sluice_auth_failures_total\{surface="admin",reason="invalid_token"\} \d/)
  const log = JSON.stringify(lines)
  for (const secret of [ADMIN_TOKEN, reader.token, 'garbage']) assert.ok(!log.includes(secret))
})

test('account actions are audited: webhook endpoints, their secrets, tokens', async () => {
  const made = await callApi(api, '/v2/webhook/endpoint', {
    method: 'POST',
    headers: { 'x-api-key': api.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'https://hooks.example/x', channels: ['sol.token.created'] }),
  })
  const { id } = made.body as { id: string }
  await callApi(api, `/v1/webhook/endpoint/${id}/secret`)
  await callApi(api, `/v2/webhook/endpoint/${id}`)
  const found = api.organizations.guard.authenticate({ apiKey: api.apiKey })
  const actor = found && 'credentialId' in found ? found.credentialId : ''
  const own = lines.filter(({ facts }) => facts.actor === actor)
  const told = own.map(({ message, facts }) => [message, facts.action, facts.address, facts.status])
  assert.deepEqual(told, [
    ['audit', 'POST /webhook/endpoint', '127.0.0.1', 200],
    ['audit', 'GET /webhook/endpoint/:id/secret', '127.0.0.1', 200],
  ])
  assert.equal(own[0]?.facts.requestId, made.headers.get('x-request-id'))
})
