/**
 * Long drills: `npm run drill [-- NAME [ARGUMENT...]]`. Without a name, or with a number of KILLS (default 50): the crash drills of
 * `npm test` with that many kills, every chain side by side for `SLUICE_DRILL_MINUTES`, and after them the soak.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runMutation } from './drills/mutation.ts'
import { runFiles } from './run-files.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CRASH_FILES = [
  'test/integration/bus-kafka-brokers.test.ts',
  'test/integration/bus-crash.test.ts',
  'test/e2e/crash-embedded.test.ts',
  'test/drills/crash-roles.test.ts',
  'test/drills/ten-chains.test.ts',
]
/** Files with what they need of the folder of programs; the others leave out what they lack themselves. */
const SOLANA_PROGRAM_FILES: Readonly<Record<string, readonly string[]>> = {
  'test/integration/whirlpool-program.test.ts': ['whirlpool.so'],
  'test/integration/whirlpool-route.test.ts': ['whirlpool.so'],
  'test/drills/solana-venue-programs.test.ts': [],
  'test/drills/solana-route-programs.test.ts': ['raydium_cpmm.so'],
  'test/drills/dlmm-program.test.ts': ['meteora_dlmm.so', 'meteora_dlmm_accounts.json'],
  'test/drills/dlmm-route.test.ts': ['meteora_dlmm.so', 'meteora_dlmm_accounts.json'],
}

const runSolanaPrograms = (folder: string): Promise<number> => {
  const has = (name: string): boolean => existsSync(join(folder, name))
  const files = Object.entries(SOLANA_PROGRAM_FILES)
  for (const [file, needed] of files) {
    const missing = needed.filter((name) => !has(name))
    if (missing.length > 0) console.log(`# not run: ${file}, for want of ${missing.join(', ')}`)
  }
  const ready = files.filter(([, needed]) => needed.every(has)).map(([file]) => file)
  return runTests(ready, { SLUICE_SOLANA_PROGRAMS: resolve(folder) })
}
/** Trades per second of chain time in the drills of whole processes. */
const TRADES_PER_SECOND = '200'

const run = (
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): number => {
  const env = { ...process.env, ...environment }
  const options = { cwd: ROOT, stdio: 'inherit', env } as const
  return spawnSync(process.execPath, ['--import', 'tsx', ...words], options).status ?? 1
}

const runTests = async (
  files: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<number> => {
  const words = ['--test-force-exit']
  const alone = files.map((path) => ({ path, words, environment }))
  const failed = await runFiles(
    { together: [], alone },
    {
      width: 1,
      cwd: ROOT,
      // Fifty kills take longer than a file of `npm test` may.
      limitMs: 12 * 3_600_000,
      print: (text) => process.stdout.write(text),
    },
  )
  return failed.length === 0 ? 0 : 1
}

const runCrashDrills = (kills: string): Promise<number> =>
  runTests(CRASH_FILES, {
    SLUICE_BROKER_KILLS: kills,
    SLUICE_CRASH_ROUNDS: kills,
    SLUICE_DRILL_KILLS: kills,
    SLUICE_DRILL_RATE: TRADES_PER_SECOND,
  })

const runSoak = (): number => run(['test/support/drills/soak.ts'])

/** Most of what a schedule makes is garbage at once: a larger nursery halves the time that collecting takes. */
const runSchedules = (words: readonly string[]): number =>
  run(['--no-warnings', '--max-semi-space-size=64', 'test/support/simulation/main.ts', ...words])

const SHORT_SCHEDULES = '200'
const SHORT_SWAPS = '20'
/** Transfers of the graph, and screenings. */
const SHORT_SCREENING = ['100000', '6']

const runScreening = (words: readonly string[]): number =>
  run(['test/support/drills/screening.ts', ...words])

const runSwaps = (swaps: string, seed = '17'): Promise<number> =>
  runTests(['test/drills/swaps.test.ts'], { SLUICE_SWAPS: swaps, SLUICE_SWAPS_SEED: seed })

interface Drill {
  readonly about: string
  /** Gives the exit status. */
  readonly run: (words: readonly string[]) => number | Promise<number>
}

/** Drills by name. */
const DRILLS: Readonly<Record<string, Drill>> = {
  soak: { about: 'the soak alone', run: runSoak },
  chains: {
    about: 'every chain side by side for SLUICE_DRILL_MINUTES',
    run: () => runTests(['test/drills/ten-chains.test.ts']),
  },
  short: {
    about: `the crash drill of the roles with three kills, ${SHORT_SCHEDULES} schedules, ${SHORT_SWAPS} swaps, and screening over a small graph`,
    run: async () =>
      Math.max(
        await runTests(['test/drills/crash-roles.test.ts']),
        runSchedules([SHORT_SCHEDULES]),
        await runSwaps(SHORT_SWAPS),
        runScreening(SHORT_SCREENING),
      ),
  },
  schedules: {
    about: '[COUNT [SEED]] or --seed SEED: schedules of faults in simulated time, default 5000',
    run: runSchedules,
  },
  swaps: {
    about:
      '[COUNT [SEED]]: random swaps over random pools of real contracts, signed and mined, default 300',
    run: ([swaps = '300', seed]) => runSwaps(swaps, seed),
  },
  'solana-programs': {
    about:
      'FOLDER: swaps on Solana by programs of its network, which the folder holds (docs/swap.md)',
    run: ([folder = '']) => runSolanaPrograms(folder),
  },
  'go-client': {
    about: 'streams as the Go client of Centrifuge reads them; needs Go 1.25',
    run: () => runTests(['test/drills/go-client.test.ts']),
  },
  'rust-sdk': {
    about: "every operation and stream of the reference API's SDK for Rust; needs cargo",
    run: () => runTests(['test/drills/rust-sdk.test.ts']),
  },
  idle: {
    about: 'what the demo costs while idle, from outside',
    run: () => run(['test/support/drills/idle.ts']),
  },
  parts: {
    about: 'parts that ten chains with twelve lanes write to ClickHouse',
    run: () => run(['test/support/drills/clickhouse-parts.ts']),
  },
  openapi: {
    about: '[SECONDS]: requests made of the API document, checked against it, default 600 seconds',
    run: ([seconds = '600']) =>
      runTests(['test/drills/openapi.test.ts'], { SLUICE_OPENAPI_SECONDS: seconds }),
  },
  screening: {
    about:
      '[EDGES [SCREENINGS [SEED]]]: risk screening over a graph of transfers, asked for over HTTP, default 10,000,000 and 60',
    run: runScreening,
  },
  'list-rows': {
    about:
      '[ROWS [ROUNDS [PART [FOLDER]]]]: every paged list of the REST API over tables of ROWS generated rows, default 1,000,000',
    run: (words) => run(['test/support/drills/list-rows.ts', ...words]),
  },
  webhooks: {
    about:
      '[KILLS [ENDPOINTS]]: webhooks of the demo, a tenth of the receivers hanging, default 10 kills and 500 endpoints',
    run: ([kills = '10', endpoints = '500']) =>
      runTests(['test/drills/webhooks.test.ts'], {
        SLUICE_DRILL_KILLS: kills,
        SLUICE_WEBHOOK_ENDPOINTS: endpoints,
      }),
  },
  mutation: {
    about:
      '[FILE...]: mutants of the query compiler, the suspect rules and the folds; fails where more survive than are known; hours without FILE',
    run: runMutation,
  },
  fuzz: {
    about: '[SEED [SURFACE [INDEX]]]: SLUICE_FUZZ_CASES hostile cases, default 20000',
    run: (words) => run(['test/support/fuzz/main.ts', ...words]),
  },
}

const [word = '50', ...more] = process.argv.slice(2)
const drill = Object.hasOwn(DRILLS, word) ? DRILLS[word] : undefined
if (drill !== undefined) process.exit(await drill.run(more))
if (!/^[1-9]\d{0,3}$/.test(word)) {
  const names = Object.entries(DRILLS).map(([name, { about }]) => `  ${name}: ${about}`)
  console.error(`npm run drill [-- KILLS|NAME], KILLS from 1 to 9999:\n${names.join('\n')}`)
  process.exit(2)
}
const crashStatus = await runCrashDrills(word)
process.exit(Math.max(crashStatus, runSoak()))
