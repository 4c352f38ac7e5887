import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { openLog } from '../../core/bus/embedded/log.ts'
import { openOfflineLogReader } from '../../core/bus/embedded/offline-reader.ts'
import { acquireFolderLock, liveOwner } from '../../core/bus/embedded/process-lock.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-owner-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const MAP_BYTES = 64 * 1_048_576

const MODULE = new URL('../../core/bus/embedded/process-lock.ts', import.meta.url).href
/** Claims the folder, says how that went, and holds it until it is killed. */
const CLAIMANT = `
const { acquireFolderLock } = await import(${JSON.stringify(MODULE)})
try { acquireFolderLock(process.argv[1]); console.log('held') } catch (error) { console.log(error.message) }
setInterval(() => undefined, 1e6)`

const claimant = async (path: string): Promise<{ child: ChildProcess; word: string }> => {
  const child = spawn(process.execPath, [
    '--import',
    'tsx',
    '--input-type=module',
    '-e',
    CLAIMANT,
    path,
  ])
  const [word] = await once(child.stdout, 'data')
  return { child, word: String(word).trim() }
}

test('of processes that lock a folder at once one gets it; after it is killed the next one does', async () => {
  const path = join(folder, 'contended')
  const all = await Promise.all(Array.from({ length: 5 }, () => claimant(path)))
  try {
    const holders = all.filter(({ word }) => word === 'held')
    assert.equal(holders.length, 1)
    const [holder] = holders
    assert.ok(holder)
    const refusal = `${path} is in use by process ${holder.child.pid}; stop it first, or use another DATA_DIR`
    for (const one of all) if (one !== holder) assert.equal(one.word, refusal)
    assert.equal(liveOwner(path)?.pid, holder.child.pid)
    assert.throws(() => acquireFolderLock(path), { name: 'Outage', message: refusal })
    holder.child.kill('SIGKILL')
    await once(holder.child, 'exit')
    assert.equal(liveOwner(path), undefined)
    const release = acquireFolderLock(path)
    assert.equal(liveOwner(path)?.pid, process.pid)
    release()
    assert.deepEqual(readdirSync(path), [])
  } finally {
    for (const { child } of all) child.kill('SIGKILL')
  }
})

/** For a while claims the folder again and again, and leaves it as a killed process does; prints how often, and how often another held it too. */
const CONTENDER = `
const { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } = await import('node:fs')
const { setTimeout: sleep } = await import('node:timers/promises')
const { acquireFolderLock } = await import(${JSON.stringify(MODULE)})
const [path, marks] = process.argv.slice(1)
const file = path + '/owner.json'
const mark = marks + '/' + process.pid
let [claims, shared] = [0, 0]
for (const end = Date.now() + 3_000; Date.now() < end; ) {
  try { acquireFolderLock(path) } catch { await sleep(Math.random() * 2); continue }
  claims += 1
  writeFileSync(mark, '')
  await sleep(3)
  const { space, pid } = JSON.parse(readFileSync(file, 'utf8'))
  if (readdirSync(marks).length > 1 || pid !== process.pid) shared += 1
  rmSync(mark)
  writeFileSync(mark + '.dead', JSON.stringify({ pid: 999999, birth: mark + claims, space }))
  renameSync(mark + '.dead', file)
}
console.log(JSON.stringify({ claims, shared }))
process.exit(0)`

test('of processes that find a dead owner at once, one locks the folder', async () => {
  const [path, marks] = [join(folder, 'dead'), join(folder, 'marks')]
  mkdirSync(marks)
  const words = ['--import', 'tsx', '--input-type=module', '-e', CONTENDER, path, marks]
  const runs = await Promise.all(
    Array.from({ length: 5 }, () => promisify(execFile)(process.execPath, words)),
  )
  const counts = runs.map(({ stdout }) => JSON.parse(stdout) as Record<'claims' | 'shared', number>)
  assert.ok(counts.reduce((sum, { claims }) => sum + claims, 0) > 20, JSON.stringify(counts))
  assert.deepEqual(
    counts.map(({ shared }) => shared),
    counts.map(() => 0),
  )
})

test('a lock owner of another container counts while it refreshes its file; a lock file from a power cut does not', () => {
  const path = join(folder, 'elsewhere')
  const release = acquireFolderLock(path)
  const file = join(path, 'owner.json')
  const own = JSON.parse(readFileSync(file, 'utf8'))
  release()
  // The pid is a live one here, and means another process there.
  writeFileSync(file, JSON.stringify({ ...own, space: 'another' }))
  assert.throws(
    () => acquireFolderLock(path),
    /in use by process \d+ of another container or machine/,
  )
  const longAgo = new Date(Date.now() - 60_000)
  utimesSync(file, longAgo, longAgo)
  assert.equal(liveOwner(path), undefined)
  acquireFolderLock(path)()
  for (const left of ['', '{"pid":', 'null', '[]', '{"pid":0}', '{"pid":-1}']) {
    writeFileSync(file, left)
    acquireFolderLock(path)()
  }
  assert.deepEqual(readdirSync(path), [])
})

test('a log that a process has open cannot be opened by another, not even for reading', async () => {
  const path = join(folder, 'log')
  const first = openLog(path, MAP_BYTES)
  await first.close()
  rmSync(join(path, 'lock.mdb'))
  const { child, word } = await claimant(path)
  try {
    assert.equal(word, 'held')
    assert.throws(() => openLog(path, MAP_BYTES), /in use by process/)
    assert.throws(() => openOfflineLogReader(path), /in use by process/)
    assert.equal(existsSync(join(path, 'lock.mdb')), false, 'refused before lmdb opened anything')
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  const log = openLog(path, MAP_BYTES)
  assert.throws(() => openOfflineLogReader(path), /in use by process/)
  await log.close()
  const reader = openOfflineLogReader(path)
  assert.throws(() => openLog(path, MAP_BYTES), /in use by process/)
  await reader.close()
})
