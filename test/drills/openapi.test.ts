import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fetchApiTester, testApi } from '../support/api-tester.ts'
import { tryStart } from '../support/optional-dependency.ts'
import { freePort } from '../support/ports.ts'
import { startSluice } from '../support/sluice-process.ts'
import { until } from '../support/until.ts'

/** In ten minutes one tester sends about 20,000 requests. */
const SECONDS = Number(process.env.SLUICE_OPENAPI_SECONDS ?? 600)
/** Paths of the first version have the same handlers as those of the second. */
const PATHS = '^/(?!v1/)'
const SHOWN_CHARS = 20_000

const tester = await tryStart('a tester of OpenAPI documents, in Python', async () => {
  await fetchApiTester()
  return true
})

if (tester) {
  test('requests generated from the API document get responses that fit it, and no server error but those of parts that the demo lacks', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-openapi-'))
    const port = String(await freePort())
    const run = startSluice(['start', '--data', folder, '--port', port, '--rate', '1'])
    try {
      await until(() => run.out.text.includes('Ctrl-C'), 'the welcome is printed', 90_000)
      const { baseUrl, apiKey } = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'))
      const options = { apiKey, seconds: SECONDS, paths: PATHS }
      const { cases, operations, failures, text } = await testApi(baseUrl, options)
      console.log(JSON.stringify({ cases, operations, seconds: SECONDS }))
      assert.deepEqual(failures, [], text.slice(-SHOWN_CHARS))
      assert.ok(cases > 1_000, `${cases} requests were made`)
    } finally {
      await run.kill('SIGTERM')
      rmSync(folder, { recursive: true, force: true })
    }
  })
}
