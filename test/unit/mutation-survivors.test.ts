import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { exceededSurvivors, type KnownSurvivors } from '../support/drills/survivors.ts'

const ROOT = new URL('../../', import.meta.url)
const readJson = <Content>(path: string): Content =>
  JSON.parse(readFileSync(new URL(path, ROOT), 'utf8')) as Content

const fileOf = (...statuses: readonly string[]) => ({
  mutants: statuses.map((status) => ({ status })),
})

test('the mutation drill reports each file with more survivors than known', () => {
  const known = { 'a.ts': { survivors: 2, because: [] } }
  const report = (...statuses: readonly string[]) => ({
    files: { 'a.ts': fileOf('Killed', ...statuses), 'b.ts': fileOf('Timeout', 'Killed') },
  })
  assert.deepEqual(exceededSurvivors(report('Survived', 'NoCoverage'), known), [])
  assert.deepEqual(exceededSurvivors(report('Survived', 'Survived', 'NoCoverage'), known), [
    'a.ts: 3 mutants survive, 2 are known',
  ])
  assert.deepEqual(exceededSurvivors({ files: { 'b.ts': fileOf('Survived') } }, known), [
    'b.ts: 1 mutants survive, 0 are known',
  ])
})

test('every file and test of the mutation drill exists, and every known survivor has a reason', () => {
  const { tap, mutate } = readJson<{
    readonly tap: { readonly testFiles: readonly string[] }
    readonly mutate: readonly string[]
  }>('test/support/drills/mutation.json')
  for (const path of [...tap.testFiles, ...mutate]) {
    assert.ok(existsSync(new URL(path, ROOT)), path)
  }
  const known = readJson<KnownSurvivors>('test/support/drills/known-survivors.json')
  for (const [path, { survivors, because }] of Object.entries(known)) {
    assert.ok(mutate.includes(path), path)
    assert.ok(survivors > 0 && because.length > 0 && because.length <= survivors, path)
  }
})
