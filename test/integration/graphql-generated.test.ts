import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { startGraphql, type TestGraphql } from '../support/graphql.ts'
import { generatedQuery } from '../support/query-gen.ts'
import { makeTrades, storeTrades } from '../support/trades.ts'

let api: TestGraphql
before(async () => {
  api = await startGraphql(['eth', 'bsc', 'sol'], Date.UTC(2026, 2, 1, 1))
  await storeTrades(api.warehouse, 'eth', makeTrades(20, Date.UTC(2026, 2, 1)))
})
after(() => api.stop())

test('the engine accepts every valid query', async () => {
  await fc.assert(
    fc.asyncProperty(generatedQuery, async ({ query, variables }) => {
      const { data, errors } = await api.ask(query, variables)
      assert.equal(errors, undefined, JSON.stringify(errors))
      assert.ok(data)
    }),
    { numRuns: 250 },
  )
})
