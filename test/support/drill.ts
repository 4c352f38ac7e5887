/** Long crash drills, the same tests as in `npm test` with many more kills: `npm run drill [-- KILLS]`, default 50. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const kills = process.argv[2] ?? '50'
if (!/^[1-9]\d{0,3}$/.test(kills)) {
  console.error('npm run drill [-- KILLS]: KILLS is a number from 1 to 9999')
  process.exit(2)
}
const files = [
  'test/integration/bus-kafka-brokers.test.ts',
  'test/integration/bus-crash.test.ts',
  'test/e2e/crash-embedded.test.ts',
  'test/e2e/crash-roles.test.ts',
]
/** Trades per second of chain time in the drills of whole processes. */
const RATE = '200'
const { status } = spawnSync(
  process.execPath,
  ['--import', 'tsx', '--test', '--test-concurrency=1', '--test-force-exit', ...files],
  {
    cwd: ROOT,
    stdio: 'inherit',
    env: {
      ...process.env,
      SLUICE_BROKER_KILLS: kills,
      SLUICE_CRASH_ROUNDS: kills,
      SLUICE_DRILL_KILLS: kills,
      SLUICE_DRILL_RATE: RATE,
    },
  },
)
process.exit(status ?? 1)
