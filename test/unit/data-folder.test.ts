import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'

const folder = mkdtempSync(join(tmpdir(), 'sluice-data-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const PROCESSES = 4
const FOLDERS = 40
/** The children have loaded their modules by then. */
const LEAD_MS = 3_000
const STEP_MS = 10

const MODULE = new URL('../../cli/data-folder.ts', import.meta.url).href
/** Opens folder after folder, each at the moment when the other processes do, and prints the secrets that it got. */
const OPENER = `
const { openDataFolder } = await import(${JSON.stringify(MODULE)})
const [path, startMs] = process.argv.slice(1)
const secrets = []
for (let n = 0; n < ${FOLDERS}; n += 1) {
  while (Date.now() < Number(startMs) + n * ${STEP_MS});
  const { pepper, adminToken } = openDataFolder(path + '/' + n)
  secrets.push(pepper + ' ' + adminToken)
}
console.log(JSON.stringify(secrets))`

test('processes that open a new data folder at once have the same secrets, and none fails', async () => {
  const startMs = String(Date.now() + LEAD_MS)
  const words = ['--import', 'tsx', '--input-type=module', '-e', OPENER, folder, startMs]
  const runs = await Promise.all(
    Array.from({ length: PROCESSES }, () => promisify(execFile)(process.execPath, words)),
  )
  const [first, ...others] = runs.map(({ stdout }) => JSON.parse(stdout) as string[])
  assert.equal(new Set(first).size, FOLDERS)
  for (const other of others) assert.deepEqual(other, first)
  for (let n = 0; n < FOLDERS; n += 1) {
    assert.deepEqual(readdirSync(join(folder, String(n))), ['secrets.json'])
  }
})
