/** Every cube in every group can be subscribed to: the engine takes the statement that is bound to new blocks. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CUBES } from '../../schemas/cubes/all.ts'
import { compileQuery } from '../../serving/graphql/compile.ts'
import { QUERY_LIMITS } from '../../serving/graphql/limits.ts'
import { createPlanner } from '../../serving/graphql/plan.ts'
import { buildCubeSchema } from '../../serving/graphql/schema.ts'
import { startGraphql, type TestGraphql } from '../support/graphql-stack.ts'

const CHAINS = ['eth', 'sol']
const NOW_MS = Date.UTC(2026, 2, 2)
const GROUPS = { EVM: 'EVM(network: eth)', Solana: 'Solana', Trading: 'Trading' }

let api: TestGraphql
before(async () => {
  api = await startGraphql(CHAINS, NOW_MS)
})
after(() => api.stop())

test('the statement of every cube is accepted and names its blocks in parameters only', async () => {
  const planner = createPlanner(buildCubeSchema(CUBES, CHAINS), QUERY_LIMITS)
  const hash = "0xfeed'--"
  let count = 0
  for (const cube of CUBES) {
    for (const group of cube.groups) {
      const query = `subscription { ${GROUPS[group]} { ${cube.name} { count } } }`
      const [selection] = planner.plan({ query, kind: 'subscription' }).selections
      assert.ok(selection, query)
      const block = { slot: 7, height: 6, hash }
      const chain = selection.chains[0] ?? 'eth'
      const scope = { chain, added: [block], removed: [], fromMs: NOW_MS, fromSeq: 9 }
      const { sql, paramsAt } = compileQuery(selection, scope)
      const params = paramsAt(NOW_MS)
      assert.ok(!sql.includes(hash), query)
      const isBound = Object.values(params).some(
        (value) => Array.isArray(value) && value[0] === hash,
      )
      assert.equal(isBound, cube.layer === 'DWD', query)
      assert.equal(cube.versionBits !== undefined, cube.layer === 'DWS', query)
      await api.warehouse.query({ sql, params })
      count += 1
    }
  }
  assert.ok(count > CUBES.length)
})
