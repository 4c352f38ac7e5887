/**
 * Runs the tests: `npm test` runs every tier, `npm test -- unit property` only those. Two processes side by side, because two
 * cores are what CI has: each takes one half of the pure tiers, then file after file of the tiers that start brokers, engines or
 * nodes. Files that measure what a machine keeps up with come last, one after the other.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fetchServers } from './kafka.ts'
import { fetchCentrifugeClient, fetchKafkaClient, fetchSdk } from './python-clients.ts'
import { runFiles } from './run-files.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TIERS = ['unit', 'property', 'contract', 'integration', 'e2e']
const PURE = new Set(['unit', 'property'])
/** What these download they download once, not from two processes at a time. */
const WITH_BROKERS = new Set(['integration', 'e2e'])
const WIDTH = 2
/** Each imports one half of the files of the pure tiers. */
const PURE_TEST_HALVES = ['first-half', 'second-half'].map((name) =>
  join('test', 'support', `${name}.ts`),
)
/** Files that say something about time or kill under load: beside another one they would tell of that one. */
const SEQUENTIAL_FILES = new Set([
  'bus-kafka-brokers',
  'crash-embedded',
  'fuzz',
  'roles',
  'simulated-hour',
  'start',
  'ten-chains',
])

const requestedTiers = process.argv.slice(2)
const unknown = requestedTiers.filter((tier) => !TIERS.includes(tier))
if (unknown.length > 0) {
  console.error(`no such tier: ${unknown.join(', ')}; tiers are ${TIERS.join(', ')}`)
  process.exit(2)
}

const scratch = mkdtempSync(join(tmpdir(), 'sluice-tests-'))
const missing = join(scratch, 'missing.txt')
const failed: string[] = []
const selectedTiers = TIERS.filter(
  (name) => requestedTiers.length === 0 || requestedTiers.includes(name),
)
const pure = selectedTiers.filter((tier) => PURE.has(tier))
if (pure.length > 0) {
  console.log(`\n# tiers ${pure.join(' and ')}`)
  // --test-force-exit would end a half between two imports, when all tests that it knows so far have ended.
  if (!(await runTier(PURE_TEST_HALVES, { tiers: pure }))) failed.push(...pure)
}
if (selectedTiers.some((name) => WITH_BROKERS.has(name))) {
  await fetchServers()
  for (const fetchClient of [fetchCentrifugeClient, fetchKafkaClient, fetchSdk])
    await fetchClient().catch(() => undefined)
}
for (const tier of selectedTiers.filter((name) => !PURE.has(name))) {
  const files = readdirSync(join(ROOT, 'test', tier))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', tier, name))
  const alone = files.filter((file) => SEQUENTIAL_FILES.has(basename(file, '.test.ts')))
  const together = files.filter((file) => !alone.includes(file))
  console.log(`\n# tier ${tier}: ${files.length} files, ${alone.length} of them alone`)
  const passed = [
    await runTier(together, { tiers: [tier], words: ['--test-force-exit'] }),
    await runTier(alone, { tiers: [tier], words: ['--test-force-exit'], width: 1 }),
  ]
  if (passed.includes(false)) failed.push(tier)
}

const missingDependencies = readLines(missing)
rmSync(scratch, { recursive: true, force: true })
console.log(failed.length === 0 ? '\nall tiers passed' : `\nfailed tiers: ${failed.join(', ')}`)
if (missingDependencies.length > 0) {
  console.log(
    `!!! NOT TESTED, because this machine lacks a part: ${missingDependencies.join('; ')} !!!`,
  )
}
const incomplete = missingDependencies.length > 0 && process.env.CI === 'true'
process.exit(failed.length > 0 || incomplete ? 1 : 0)

/** Runs test files, `width` at a time; whether all passed. */
async function runTier(
  files: readonly string[],
  options: {
    readonly tiers: readonly string[]
    readonly words?: readonly string[]
    readonly width?: number
  },
): Promise<boolean> {
  const { tiers, words = [], width = WIDTH } = options
  const environment = { SLUICE_TEST_MISSING: missing, SLUICE_TIERS: tiers.join(',') }
  return runFiles(files, {
    width,
    words,
    environment,
    cwd: ROOT,
    print: (text) => process.stdout.write(text),
  })
}

/** What tests could not start, a line each, without repeats. */
function readLines(path: string): readonly string[] {
  try {
    return [...new Set(readFileSync(path, 'utf8').split('\n').filter(Boolean))]
  } catch {
    return []
  }
}
