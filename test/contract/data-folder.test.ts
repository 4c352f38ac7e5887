import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { openDataFolder } from '../../cli/app/data-folder.ts'
import { Outage } from '../../core/errors.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-data-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const PROCESSES = 4
const FOLDERS = 40
/** The children have loaded their modules by then. */
const LEAD_MS = 3_000
const STEP_MS = 10

const MODULE = new URL('../../cli/app/data-folder.ts', import.meta.url).href
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

test('processes that open a new data folder at once share the same secrets, and none fails', async () => {
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

test('a data folder with foreign files is refused and left unchanged', () => {
  const path = join(folder, 'project')
  mkdirSync(join(path, 'bin'), { recursive: true, mode: 0o755 })
  writeFileSync(join(path, 'bin', 'run.sh'), '', { mode: 0o755 })
  const modes = (): readonly number[] =>
    [path, join(path, 'bin'), join(path, 'bin', 'run.sh')].map((each) => statSync(each).mode)
  const before = modes()
  assert.throws(
    () => openDataFolder(path),
    (error) =>
      error instanceof Outage &&
      error.final &&
      /project is not a data folder .*bin/.test(error.message),
  )
  assert.deepEqual(modes(), before)
  assert.deepEqual(readdirSync(path), ['bin'])
})

test('a new volume, and a data folder whose first start was interrupted, are accepted', () => {
  const path = join(folder, 'volume')
  for (const entry of ['lost+found', 'log']) mkdirSync(join(path, entry), { recursive: true })
  writeFileSync(join(path, 'secrets.json.3f0c'), '')
  const { pepper } = openDataFolder(path)
  assert.equal(openDataFolder(path).pepper, pepper)
})
