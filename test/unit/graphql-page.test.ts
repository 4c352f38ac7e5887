import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse, validate } from 'graphql'
import { CUBES } from '../../schemas/cubes/all.ts'
import { compileQuery } from '../../serving/graphql/compile.ts'
import { QUERY_LIMITS } from '../../serving/graphql/limits.ts'
import { createPlanner } from '../../serving/graphql/plan.ts'
import { buildCubeSchema } from '../../serving/graphql/schema.ts'
import { exampleQueries, withGraphqlTables } from '../support/graphql-page.ts'

const page = readFileSync(new URL('../../docs/graphql.md', import.meta.url), 'utf8')

test('the table of cubes in graphql.md is that of the schema; `npm run generate` writes it', () => {
  assert.equal(page, withGraphqlTables(page))
})

test('every example of graphql.md is valid in the published schema, as code generators read it', () => {
  const { schema } = buildCubeSchema(CUBES, ['eth', 'bsc', 'sol'])
  for (const query of exampleQueries(page)) {
    assert.deepEqual(
      validate(schema, parse(query)).map(({ message }) => message),
      [],
    )
  }
})

test('every example of graphql.md compiles to statements', () => {
  const { plan } = createPlanner(buildCubeSchema(CUBES, ['eth', 'bsc', 'sol']), QUERY_LIMITS)
  const examples = exampleQueries(page)
  assert.ok(examples.length >= 5)
  for (const query of examples) {
    const kind = query.startsWith('subscription') ? 'subscription' : 'query'
    const { selections } = plan({ query, kind })
    assert.ok(selections.length > 0, query)
    for (const selection of selections) assert.match(compileQuery(selection).sql, /SELECT/)
  }
})
