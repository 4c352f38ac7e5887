import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')

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
