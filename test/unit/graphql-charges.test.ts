import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { Fault } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { createMeter } from '../../serving/billing/meter.ts'
import { graphqlPlugin } from '../../serving/graphql/plugin.ts'
import type { Principal } from '../../serving/interfaces.ts'

const PRINCIPAL: Principal = {
  kind: 'api-key',
  orgId: 'org',
  appId: 'app',
  credentialId: 'key',
  plan: 'selfhost',
  scopes: ['graphql'],
  expiresAtMs: null,
}

/** Sends a query whose statement fails so; the status, and what was charged for it in thousandths of a CU. */
const chargedFor = async (error: Error) => {
  const charged: number[] = []
  const meter = createMeter({})
  const query = async (): Promise<never> => {
    throw error
  }
  const app = Fastify()
  app.decorateRequest('caller', '')
  await app.register(
    graphqlPlugin({
      guard: {
        identify: async () => PRINCIPAL,
        authenticate: () => PRINCIPAL,
        onRevoked: () => () => undefined,
      },
      meter: {
        ...meter,
        reserve: (...given) => {
          const held = meter.reserve(...given)
          const settle = (units: number): void => {
            charged.push(units)
            held.settle(units)
          }
          return { ...held, settle }
        },
      },
      warehouse: { query, queryText: query, places: { point: 1, scan: 1, internal: 1 } },
      metrics: makeMetrics(),
      log: makeSilentLogger(),
      chains: ['eth'],
      nowMs: () => 0,
      freshness: { of: async () => null },
      config: { docsUrl: 'https://docs.test', errorsStatusMode: 'semantic' },
    }),
  )
  const { statusCode } = await app.inject({
    method: 'POST',
    url: '/graphql',
    headers: { 'x-api-key': 'k' },
    payload: { query: '{ EVM(network: eth) { DEXTrades { count } } }' },
  })
  await app.close()
  return { statusCode, charged }
}

test('a query that is too expensive is charged for its work, an internal error is not charged', async () => {
  const { charged } = await chargedFor(new Fault('QUERY_TOO_EXPENSIVE'))
  assert.equal(charged.length, 1)
  assert.ok((charged[0] ?? 0) > 0, `charged ${charged}`)
  assert.deepEqual(await chargedFor(new TypeError('a defect')), { statusCode: 500, charged: [0] })
})
