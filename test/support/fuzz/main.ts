/**
 * `npm run drill -- fuzz [SEED] [SURFACE [INDEX]]`: hostile cases against one running instance and against the sources of blocks;
 * with an index one round of cases from there, which is how a failure is seen again. `SLUICE_FUZZ_CASES` says how many, default 20000.
 */
import { fuzzSurface, openPlace, replayWords, SURFACES, sharesOf } from './drill.ts'

const SHOWN = 10
const ROUND = 64
const [seedWord = String(Date.now() % 2 ** 31), name, indexWord] = process.argv.slice(2)
const seed = Number(seedWord)
const total = Number(process.env.SLUICE_FUZZ_CASES ?? 20_000)
const chosen = SURFACES.filter((surface) => name === undefined || surface.name === name)
if (
  !Number.isSafeInteger(seed) ||
  seed < 0 ||
  chosen.length === 0 ||
  !Number.isSafeInteger(total)
) {
  console.error(
    `npm run drill -- fuzz [SEED] [SURFACE [INDEX]]; surfaces: ${SURFACES.map((each) => each.name).join(', ')}`,
  )
  process.exit(2)
}
console.log(`fuzz: seed ${seed}`)
// A case that breaks a callback of this process is a failure of the source under it, not the end of the drill.
let broken = 0
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    broken += 1
    console.error(`fuzz: ${event}`, error)
  })
}

let place = chosen.some(({ needsTarget = true }) => needsTarget) ? await openPlace() : undefined
let cases = 0
let failed = 0
for (const surface of chosen) {
  const { needsTarget = true } = surface
  if (needsTarget && place?.instance.isRunning() === false) {
    await place.stop()
    place = await openPlace()
  }
  const count = indexWord === undefined ? (sharesOf(total).get(surface) ?? 0) : ROUND
  const from = Number(indexWord ?? 0)
  const report = await fuzzSurface(surface, { seed, from, count }, needsTarget ? place : undefined)
  const { failures, slowestMs } = report
  cases += report.cases
  failed += failures.length
  console.log(
    JSON.stringify({
      surface: surface.name,
      cases: report.cases,
      slowestHealthMs: Math.round(slowestMs),
      failures: failures.length,
    }),
  )
  for (const { index, message } of failures.slice(0, SHOWN)) {
    console.log(`  ${replayWords(seed, surface.name, index)}\n    ${message}`)
  }
}
await place?.stop()
console.log(JSON.stringify({ seed, cases, failed, broken }))
process.exit(failed + broken === 0 ? 0 : 1)
