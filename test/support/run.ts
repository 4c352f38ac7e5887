/**
 * Runs the tests: `npm test` runs every tier, `npm test -- unit property` only those. Pure tiers run in two processes side by
 * side; tiers that start brokers, engines or nodes run file after file, because two cores are what CI has.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TIERS = ['unit', 'property', 'contract', 'integration', 'e2e']
const PURE = new Set(['unit', 'property'])
/** Each imports one half of the files of a pure tier. */
const HALVES = ['first-half', 'second-half'].map((name) => join('test', 'support', `${name}.ts`))

const asked = process.argv.slice(2)
const unknown = asked.filter((tier) => !TIERS.includes(tier))
if (unknown.length > 0) {
  console.error(`no such tier: ${unknown.join(', ')}; tiers are ${TIERS.join(', ')}`)
  process.exit(2)
}

const scratch = mkdtempSync(join(tmpdir(), 'sluice-tests-'))
const missing = join(scratch, 'missing.txt')
const failed: string[] = []
for (const tier of TIERS.filter((name) => asked.length === 0 || asked.includes(name))) {
  const folder = join(ROOT, 'test', tier)
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', tier, name))
  if (files.length === 0) continue
  console.log(`\n# tier ${tier}: ${files.length} files`)
  const { status } = spawnSync(
    process.execPath,
    [
      ...['--import', 'tsx', '--test', '--test-reporter=spec'],
      // It would end a pure tier between two imports, when all tests that it knows so far have ended.
      ...(PURE.has(tier) ? [] : ['--test-force-exit']),
      '--test-timeout=900000',
      `--test-concurrency=${PURE.has(tier) ? HALVES.length : 1}`,
      ...(PURE.has(tier) ? HALVES : files),
    ],
    {
      cwd: ROOT,
      stdio: 'inherit',
      env: { ...process.env, SLUICE_TEST_MISSING: missing, SLUICE_TIERS: tier },
    },
  )
  if (status !== 0) failed.push(tier)
}

const absent = readLines(missing)
rmSync(scratch, { recursive: true, force: true })
console.log(failed.length === 0 ? '\nall tiers passed' : `\nfailed tiers: ${failed.join(', ')}`)
if (absent.length > 0) {
  console.log(`!!! NOT TESTED, because this machine lacks a part: ${absent.join('; ')} !!!`)
}
const incomplete = absent.length > 0 && process.env.CI === 'true'
process.exit(failed.length > 0 || incomplete ? 1 : 0)

/** What tests could not start, a line each, without repeats. */
function readLines(path: string): readonly string[] {
  try {
    return [...new Set(readFileSync(path, 'utf8').split('\n').filter(Boolean))]
  } catch {
    return []
  }
}
