/** The short form of `npm run drill -- fuzz`: about 2,000 cases over every surface. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type FuzzPlace,
  fuzzSurface,
  openPlace,
  replayWords,
  sharesOf,
} from '../support/fuzz/drill.ts'

const CASES = Number(process.env.SLUICE_FUZZ_CASES ?? 2_000)
/** A run that fails is repeated by its seed; another one every day finds more than one for ever. */
const SEED = Number(process.env.SLUICE_FUZZ_SEED ?? 12)

let place: FuzzPlace
before(async () => {
  place = await openPlace()
})
after(() => place.stop())

for (const [surface, count] of sharesOf(CASES)) {
  test(`${surface.name}: the process lives, its health answers, and nothing is our fault`, async () => {
    if (!place.instance.isRunning()) {
      await place.stop()
      place = await openPlace()
    }
    const { needsTarget = true } = surface
    const order = { seed: SEED, count }
    const report = await fuzzSurface(surface, order, needsTarget ? place : undefined)
    assert.deepEqual(
      report.failures.map(
        ({ index, message }) => `${replayWords(SEED, surface.name, index)}: ${message}`,
      ),
      [],
    )
    assert.equal(report.cases, count)
  })
}
