/**
 * `npm run drill -- fuzz [SEED] [SURFACE [INDEX]]`: hostile cases against one running instance and against the sources of blocks;
 * with an index one round of cases from there, which is how a failure is seen again. `SLUICE_FUZZ_CASES` says how many, default 20000.
 */
import {
  CASES_PER_ROUND,
  caseCounts,
  type FuzzEnvironment,
  replayCommand,
  runFuzzSurface,
  SURFACES,
  startFuzzEnvironment,
} from './run-surface.ts'
import type { FuzzSurface } from './surface.ts'

const SHOWN = 10
const [seedText = String(Date.now() % 2 ** 31), name, indexText] = process.argv.slice(2)
const seed = Number(seedText)
const total = Number(process.env.SLUICE_FUZZ_CASES ?? 20_000)
const chosen = SURFACES.filter((surface) => name === undefined || surface.name === name)
if (![seed, total, Number(indexText ?? 0)].every(Number.isSafeInteger) || chosen.length === 0) {
  const names = SURFACES.map((each) => each.name).join(', ')
  console.error(`npm run drill -- fuzz [SEED] [SURFACE [INDEX]]; surfaces: ${names}`)
  process.exit(2)
}

// A case that breaks a callback in this process shows a fault of the source under it; it does not end the drill.
let broken = 0
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    broken += 1
    console.error(`fuzz: ${event}`, error)
  })
}

/** Runs the cases of one surface and prints what came of them; gives how many there were and how many failed. */
const runAndReport = async (
  surface: FuzzSurface,
  place?: FuzzEnvironment,
): Promise<readonly [number, number]> => {
  const count = indexText === undefined ? (caseCounts(total).get(surface) ?? 0) : CASES_PER_ROUND
  const report = await runFuzzSurface(surface, { seed, from: Number(indexText ?? 0), count }, place)
  const { cases, failures } = report
  const slowestHealthMs = Math.round(report.slowestMs)
  console.log(
    JSON.stringify({ surface: surface.name, cases, slowestHealthMs, failures: failures.length }),
  )
  for (const { index, message } of failures.slice(0, SHOWN)) {
    console.log(`  ${replayCommand(seed, surface.name, index)}\n    ${message}`)
  }
  return [cases, failures.length]
}

const main = async (): Promise<boolean> => {
  console.log(`fuzz: seed ${seed}`)
  let place: FuzzEnvironment | undefined
  let cases = 0
  let failed = 0
  try {
    for (const surface of chosen) {
      const { needsTarget = true } = surface
      if (needsTarget && place?.instance.isRunning() !== true) {
        await place?.stop()
        place = await startFuzzEnvironment()
      }
      const [more, wrong] = await runAndReport(surface, needsTarget ? place : undefined)
      cases += more
      failed += wrong
    }
  } finally {
    await place?.stop()
  }
  console.log(JSON.stringify({ seed, cases, failed, broken }))
  return failed + broken === 0
}

main().then(
  (isGood) => process.exit(isGood ? 0 : 1),
  (error: unknown) => {
    console.error(error)
    process.exit(1)
  },
)
