/**
 * Long drills: `npm run drill [-- KILLS]`. Crash drills are tests of `npm test` with many more kills, default 50, and that of the roles;
 * with them every chain side by side for `SLUICE_DRILL_MINUTES`, which `npm run drill -- chains` runs alone, and after them the soak,
 * which `npm run drill -- soak` runs alone. `npm run drill -- short` is that of the roles with three kills.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const word = process.argv[2] ?? '50'
if (!['soak', 'chains', 'short'].includes(word) && !/^[1-9]\d{0,3}$/.test(word)) {
  console.error('npm run drill [-- KILLS|chains|soak|short]: KILLS is a number from 1 to 9999')
  process.exit(2)
}
const files = [
  'test/integration/bus-kafka-brokers.test.ts',
  'test/integration/bus-crash.test.ts',
  'test/e2e/crash-embedded.test.ts',
  'test/drills/crash-roles.test.ts',
  'test/drills/ten-chains.test.ts',
]
/** Trades per second of chain time in the drills of whole processes. */
const RATE = '200'

const run = (
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): number => {
  const env = { ...process.env, ...environment }
  const options = { cwd: ROOT, stdio: 'inherit', env } as const
  return spawnSync(process.execPath, ['--import', 'tsx', ...words], options).status ?? 1
}

const TEST = ['--test', '--test-concurrency=1', '--test-force-exit']

const crash = (kills: string): number =>
  run([...TEST, ...files], {
    SLUICE_BROKER_KILLS: kills,
    SLUICE_CRASH_ROUNDS: kills,
    SLUICE_DRILL_KILLS: kills,
    SLUICE_DRILL_RATE: RATE,
  })

if (word === 'chains') process.exit(run([...TEST, 'test/drills/ten-chains.test.ts']))
if (word === 'short') process.exit(run([...TEST, 'test/drills/crash-roles.test.ts']))
const crashed = word === 'soak' ? 0 : crash(word)
const soaked = run(['test/support/soak.ts'])
process.exit(Math.max(crashed, soaked))
