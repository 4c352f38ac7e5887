import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import { createAdminServer } from '../../serving/http/admin.ts'
import { callApi, startApi, type TestApi } from '../support/api-stack.ts'

const ADMIN_TOKEN = 'admin token of this test'

let api: TestApi
let admin: FastifyInstance

before(async () => {
  api = await startApi()
  admin = await createAdminServer({
    organizations: api.organizations,
    endpoints: api.endpoints,
    meter: createMeter(),
    config: loadConfig({ ADMIN_TOKEN }),
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    nowMs: Date.now,
  })
})
after(async () => {
  await admin.close()
  await api.stop()
})

const asked = async (method: 'POST' | 'DELETE', url: string, payload?: object) => {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' }
  const body = payload === undefined ? {} : { payload }
  const answer = await admin.inject({ method, url: `/admin/v1${url}`, headers, ...body })
  return { status: answer.statusCode, body: answer.json() }
}

const endpointWith = async (apiKey: string): Promise<void> => {
  const made = await callApi(api, '/v2/webhook/endpoint', {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'https://receiver.example.com/hook' }),
  })
  assert.equal(made.status, 200, made.text)
}

test('deleting an organization removes its webhook endpoints, deleting an application keeps them', async () => {
  const { body: gone } = await asked('POST', '/apps', { name: 'gone' })
  const { body: stays } = await asked('POST', '/apps', { name: 'stays' })
  for (const { apiKey } of [gone, gone, stays]) await endpointWith(apiKey)
  assert.equal((await asked('DELETE', `/orgs/${gone.orgId}`)).status, 200)
  assert.deepEqual(api.endpoints.ofOrg(gone.orgId), [])
  assert.equal((await asked('DELETE', `/apps/${stays.appId}`)).status, 200)
  assert.equal(api.endpoints.ofOrg(stays.orgId).length, 1)
  assert.equal((await asked('DELETE', `/orgs/${gone.orgId}`)).status, 404)
})
