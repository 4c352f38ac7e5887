import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { type Principal, statementOrgId } from '../../serving/interfaces.ts'
import type { ReadStore } from '../../serving/queries/limited-reads.ts'
import { createLimitedReader, installQueryCaller } from '../../serving/queries/query-limiter.ts'
import { until } from '../support/until.ts'

const PLACES = 4

const principal = (kind: Principal['kind'], orgId: string): Principal => ({
  kind,
  orgId,
  appId: '',
  credentialId: orgId,
  plan: 'starter',
  scopes: [],
  expiresAtMs: null,
})

test('statements of all payers share the places of one organization; an account finds a free one', async () => {
  const running: string[] = []
  const ends: (() => void)[] = []
  const store = {
    places: { point: PLACES, scan: PLACES },
    query: async ({ sql }: { readonly sql: string }) => {
      running.push(sql)
      await new Promise<void>((resolve) => ends.push(resolve))
      return { rows: [] }
    },
  } as unknown as ReadStore
  const reader = createLimitedReader(store, makeMetrics())
  const callers: readonly Principal[] = [
    ...Array.from({ length: 6 }, (_, at) => principal('x402', `x402:base:0x${at}`)),
    principal('api-key', 'org'),
  ]
  const app = Fastify()
  app.decorateRequest('principal', null)
  app.decorateRequest('work', null)
  app.addHook('onRequest', async (request) => {
    request.principal = callers[Number(request.headers.caller)] ?? null
  })
  installQueryCaller(app, statementOrgId)
  app.get('/', async ({ headers }) => reader.query({ sql: String(headers.caller), params: {} }))
  const base = await app.listen({ host: '127.0.0.1', port: 0 })
  const ask = (caller: number) => fetch(base, { headers: { caller: `${caller}` } })
  try {
    const answers = [0, 1, 2, 3, 4, 5].map(ask)
    answers.push(ask(6))
    await until(() => running.length === PLACES, 'every place is taken')
    assert.ok(running.includes('6'), `payers have all places: ${running}`)
    const drained = Promise.all(answers).then(() => true)
    await until(() => {
      for (const end of ends.splice(0)) end()
      return running.length === callers.length
    }, 'everybody had a turn')
    for (const end of ends.splice(0)) end()
    assert.equal(await drained, true)
  } finally {
    app.server.closeAllConnections()
    await app.close()
  }
})
