/**
 * Runs the tests: `npm test` runs every tier, `npm test -- unit property` only those. Two processes side by side, because two
 * cores are what CI has, and a third of the files that wait much: first the two halves of the pure tiers, then file after file
 * of the tiers that start brokers, engines or nodes, those that take longest first, so that none of them is left at the end.
 * What measures comes last.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fetchServers } from './kafka.ts'
import { PREPARED_MODULES_OPTION, prepareModules } from './modules/prepare.ts'
import { fetchCentrifugeClient, fetchKafkaClient, fetchSdk } from './python-clients.ts'
import { runFiles, type TestFile } from './run-files.ts'

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
/** Measures how long a health check takes: beside another file it would tell of that one. */
const ALONE = ['fuzz']
/** Files that take longest, the longest first. */
const LONG = [
  'demo-start',
  'simulated-hour',
  'lists-in-windows',
  'graphql-generated',
  'recorded-kafka',
  'stock-sdk',
  'plan-purchase',
  'crash-embedded',
  'roles',
  'openapi-examples',
  'pages-every-list',
  'feeds-stored',
  'graphql-times',
  'access-matrix',
  'list-pages',
]
/** Long files that leave a core idle for much of their time: they wait for brokers, nodes and blocks. The longest first. */
const WAITING = [
  'reorg-eth',
  'anvil-liquidity-book',
  'reorg-sol',
  'anvil-red-packets',
  'bus-kafka',
  'bus-kafka-brokers',
  'swap-guide',
  'lagging-node',
  'pay-per-call',
  'pay-per-call-solana',
  'secrets',
  'solana-lagging-nodes',
  'ten-chains',
]

const requestedTiers = process.argv.slice(2)
const unknown = requestedTiers.filter((tier) => !TIERS.includes(tier))
if (unknown.length > 0) {
  console.error(`no such tier: ${unknown.join(', ')}; tiers are ${TIERS.join(', ')}`)
  process.exit(2)
}

const scratch = mkdtempSync(join(tmpdir(), 'sluice-tests-'))
const missing = join(scratch, 'missing.txt')
const selectedTiers = TIERS.filter(
  (name) => requestedTiers.length === 0 || requestedTiers.includes(name),
)
const pure = selectedTiers.filter((tier) => PURE.has(tier))
const halves = (pure.length > 0 ? PURE_TEST_HALVES : []).map((path) =>
  // --test-force-exit would end a half between two imports, when all tests that it knows so far have ended.
  testFile(path, { tiers: pure, words: [] }),
)
const others = selectedTiers
  .filter((name) => !PURE.has(name))
  .flatMap((tier) =>
    readdirSync(join(ROOT, 'test', tier))
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) =>
        testFile(join('test', tier, name), { tiers: [tier], words: ['--test-force-exit'] }),
      ),
  )
const named = (names: readonly string[]): readonly TestFile[] =>
  names.flatMap((name) => others.filter(({ path }) => basename(path, '.test.ts') === name))
const [alone, waiting, long] = [named(ALONE), named(WAITING), named(LONG)]
const nameless = [...ALONE, ...WAITING, ...LONG].filter((name) => named([name]).length === 0)
if (requestedTiers.length === 0 && nameless.length > 0) {
  console.error(`no files of these names: ${nameless.join(', ')}`)
  process.exit(2)
}
const short = others.filter((file) => ![alone, waiting, long].flat().includes(file))

await prepareModules()
if (selectedTiers.some((name) => WITH_BROKERS.has(name))) {
  await fetchServers()
  for (const fetchClient of [fetchCentrifugeClient, fetchKafkaClient, fetchSdk])
    await fetchClient().catch(() => undefined)
}
console.log(
  `\n# tiers ${selectedTiers.join(', ')}: ${halves.length + others.length} files, ${alone.length} of them alone`,
)
const failedFiles = await runFiles(
  { together: [...halves, ...long, ...short], waiting, alone },
  { width: WIDTH, cwd: ROOT, print: (text) => process.stdout.write(text) },
)
const failed = selectedTiers.filter((tier) =>
  failedFiles.some((path) =>
    PURE.has(tier) ? PURE_TEST_HALVES.includes(path) : dirname(path) === join('test', tier),
  ),
)

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

/** A file that tells of parts that are missing, and loads what the run prepared. */
function testFile(
  path: string,
  { tiers, words }: { readonly tiers: readonly string[]; readonly words: readonly string[] },
): TestFile {
  const { NODE_OPTIONS = '' } = process.env
  return {
    path,
    words,
    environment: {
      SLUICE_TEST_MISSING: missing,
      SLUICE_TIERS: tiers.join(','),
      NODE_OPTIONS: `${NODE_OPTIONS} ${PREPARED_MODULES_OPTION}`.trim(),
    },
  }
}

/** What tests could not start, a line each, without repeats. */
function readLines(path: string): readonly string[] {
  try {
    return [...new Set(readFileSync(path, 'utf8').split('\n').filter(Boolean))]
  } catch {
    return []
  }
}
