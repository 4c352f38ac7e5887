/** The short form of `npm run drill -- fuzz`: about 2,000 cases over every surface. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  caseCounts,
  type FuzzEnvironment,
  replayCommand,
  runFuzzSurface,
  startFuzzEnvironment,
} from '../support/fuzz/run-surface.ts'

const CASES = Number(process.env.SLUICE_FUZZ_CASES ?? 2_000)
/** A run that fails is repeated by its seed; another one every day finds more than one for ever. */
const SEED = Number(process.env.SLUICE_FUZZ_SEED ?? 12)

let place: FuzzEnvironment
before(async () => {
  place = await startFuzzEnvironment()
})
after(() => place.stop())

for (const [surface, count] of caseCounts(CASES)) {
  test(`${surface.name}: the process and its health check survive, and no response is a server error`, async () => {
    if (!place.instance.isRunning()) {
      await place.stop()
      place = await startFuzzEnvironment()
    }
    const { needsTarget = true } = surface
    const order = { seed: SEED, count }
    const report = await runFuzzSurface(surface, order, needsTarget ? place : undefined)
    assert.deepEqual(
      report.failures.map(
        ({ index, message }) => `${replayCommand(SEED, surface.name, index)}: ${message}`,
      ),
      [],
    )
    assert.equal(report.cases, count)
  })
}
