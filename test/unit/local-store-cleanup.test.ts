import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { acquireFolderLock } from '../../core/bus/embedded/process-lock.ts'
import {
  lanesWithLocalState,
  removeOldStores,
  storePath,
} from '../../core/bus/kafka/lane-store-files.ts'
import { acquireProcessName, processFolder } from '../../core/bus/kafka/process-name.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-copies-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const NOW_MS = 1_800_000_000_000
const HOUR_S = 3_600

const copy = (lane: number, ageHours: number): string => {
  const path = storePath(folder, 'process.eth', '_state.process.eth', lane)
  mkdirSync(path, { recursive: true })
  const file = join(path, 'data.mdb')
  writeFileSync(file, 'x')
  const atSeconds = NOW_MS / 1_000 - ageHours * HOUR_S
  utimesSync(file, atSeconds, atSeconds)
  return path
}

test('local state stores of moved lanes are removed after a day; those in use and younger ones stay', () => {
  const [old, young, used, torn] = [copy(0, 25), copy(1, 23), copy(2, 99), copy(3, 30)]
  mkdirSync(`${torn}.going`)
  assert.deepEqual(lanesWithLocalState(folder, 'process.eth'), [1, 0, 3, 2])
  assert.deepEqual(lanesWithLocalState(folder, 'process.sol'), [])
  removeOldStores(folder, new Set([used]), NOW_MS)
  assert.deepEqual([old, young, used, torn].map(existsSync), [false, true, true, false])
  assert.equal(existsSync(`${torn}.going`), false)
  assert.deepEqual(lanesWithLocalState(folder, 'process.eth').toSorted(), [1, 2])
  assert.deepEqual(removeOldStores(join(folder, 'absent'), new Set(), NOW_MS), [])
})

test('a process gets its name back after a restart; two processes in one folder have two names', () => {
  const [first, second] = [acquireProcessName(folder), acquireProcessName(folder)]
  assert.notEqual(first.name, second.name)
  first.release()
  const again = acquireProcessName(folder)
  assert.equal(again.name, first.name)
  again.release()
  second.release()
})

test('a process name whose folder another container has locked is not reused', () => {
  const first = acquireProcessName(folder)
  first.release()
  const release = acquireFolderLock(processFolder(folder, first.name))
  const other = acquireProcessName(folder)
  assert.notEqual(other.name, first.name)
  other.release()
  release()
})
