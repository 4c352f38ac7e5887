import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { recordExamples } from '../support/example-answers.ts'
import { withExampleProduct } from '../support/example-run.ts'

const FILE = new URL('../../schemas/api/recorded-examples.json', import.meta.url)

/** When this fails because answers changed: `npm run generate -- all`. */
test('the examples of the API document equal the responses for the recorded chain', async () => {
  const recorded = await withExampleProduct(recordExamples)
  assert.deepEqual(JSON.parse(JSON.stringify(recorded)), JSON.parse(readFileSync(FILE, 'utf8')))
})
