import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { GENERATED_FILES } from '../support/generated-files.ts'

const urlOf = (path: string): URL => new URL(`../../${path}`, import.meta.url)
const read = (path: string): string => readFileSync(urlOf(path), 'utf8')

for (const [path, content] of Object.entries(GENERATED_FILES)) {
  test(`${path} matches its tables; \`npm run generate\` writes it`, async () => {
    assert.ok(existsSync(urlOf(path)), 'run `npm run generate` and add the file')
    assert.ok(read(path) === (await content()), 'run `npm run generate` and review the change')
  })
}

test('every schema file belongs to a generated message', () => {
  const files = readdirSync(new URL('../../schemas/avro/', import.meta.url))
  const stale = files.filter((name) => GENERATED_FILES[`schemas/avro/${name}`] === undefined)
  assert.deepEqual(stale, [])
})

test('every page marked as written by `npm run generate` is written by it', () => {
  const pages = readdirSync(new URL('../../docs/', import.meta.url)).filter((name) =>
    /[Ww]ritten by `npm run generate`/.test(name.endsWith('.md') ? read(`docs/${name}`) : ''),
  )
  assert.ok(pages.length > 0)
  assert.deepEqual(
    pages.filter((name) => GENERATED_FILES[`docs/${name}`] === undefined),
    [],
  )
})
