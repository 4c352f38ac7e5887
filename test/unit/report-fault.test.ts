import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify, { type FastifyRequest } from 'fastify'
import { Fault, type FaultName } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import { graphqlPlugin } from '../../serving/graphql/plugin.ts'
import { oauthPlugin } from '../../serving/http/oauth.ts'
import { reportFault } from '../../serving/http/report-fault.ts'

const defect = (): never => {
  throw new TypeError('a defect')
}

const counted = async (metrics: ReturnType<typeof makeMetrics>) =>
  (await metrics.edgeErrors.get()).values.map(({ labels, value }) => ({ ...labels, value }))

test('internal errors are counted; overload, unserved routes and closed connections are not', async () => {
  const request = (destroyed: boolean) =>
    ({ id: 'r', raw: { errored: null, socket: { destroyed } } }) as unknown as FastifyRequest
  const run = async (name: FaultName, destroyed = false) => {
    const metrics = makeMetrics()
    const lines: string[] = []
    const log = { ...makeSilentLogger(), error: (_: unknown, text: string) => lines.push(text) }
    reportFault(
      { log: log as never, metrics },
      {
        request: request(destroyed),
        error: new Error('why'),
        fault: new Fault(name),
        surface: 'public',
        message: 'request failed',
      },
    )
    return [lines.length, (await counted(metrics)).length]
  }
  assert.deepEqual(await run('INTERNAL_SERVER_ERROR'), [1, 1])
  assert.deepEqual(await run('DATABASE_ERROR'), [1, 0])
  assert.deepEqual(await run('SERVER_BUSY'), [0, 0])
  assert.deepEqual(await run('NOT_IMPLEMENTED'), [0, 0])
  assert.deepEqual(await run('NOT_FOUND'), [0, 0])
  assert.deepEqual(await run('INTERNAL_SERVER_ERROR', true), [0, 0])
})

test('internal errors of GraphQL and the token endpoint are counted like those of REST', async () => {
  const metrics = makeMetrics()
  const log = makeSilentLogger()
  const meter = createMeter({})
  const app = Fastify()
  app.decorateRequest('caller', '')
  const guard = { identify: defect, authenticate: defect, onRevoked: () => () => undefined }
  await app.register(
    graphqlPlugin({
      guard,
      meter,
      metrics,
      log,
      chains: ['eth'],
      nowMs: () => 0,
      warehouse: { query: defect, queryText: defect, places: { point: 1, scan: 1, internal: 1 } },
      freshness: { of: async () => null },
      config: { docsUrl: 'https://docs.test', errorsStatusMode: 'semantic' },
    }),
  )
  await app.register(
    oauthPlugin({
      organizations: { tokens: { issue: defect } as never, keySet: defect, tokenPlace: defect },
      meter,
      metrics,
      log,
    }),
  )
  const query = { query: '{ __typename }' }
  const headers = { 'x-api-key': 'k' }
  const asked = await app.inject({ method: 'POST', url: '/graphql', headers, payload: query })
  assert.equal(asked.statusCode, 500)
  const grant = { grant_type: 'client_credentials', client_id: 'a', client_secret: 'b' }
  const token = await app.inject({ method: 'POST', url: '/oauth/token', payload: grant })
  assert.equal(token.statusCode, 500)
  assert.deepEqual(await counted(metrics), [{ surface: 'public', reason: 'exception', value: 2 }])
  await app.close()
})
