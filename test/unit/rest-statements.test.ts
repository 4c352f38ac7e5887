import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { restStatements } from '../support/rest-statements.ts'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')

test('the statements of the REST API are those of rest.sql; `npm run generate` writes it after a review of the change', () => {
  assert.equal(restStatements(), read('../fixtures/statements/rest.sql'))
})

test('rest.sql has a statement of every builder in serving/queries', () => {
  const folder = '../../serving/queries/'
  const table = read('../support/rest-statements.ts')
  const missing = readdirSync(new URL(folder, import.meta.url)).flatMap((file) =>
    [...read(folder + file).matchAll(/^export const (\w+(?:Query|List))\b/gm)]
      .map(([, name = '']) => name)
      .filter((name) => !new RegExp(`\\b${name}\\(`).test(table))
      .map((name) => `${file}: ${name}`),
  )
  assert.deepEqual(missing, [])
})
