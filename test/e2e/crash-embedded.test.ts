import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import {
  assertEnoughKillsInFlight,
  assertSameContent,
  runEmbeddedCrashDrill,
} from '../support/drills/crash.ts'

/** Many for `npm run drill`, and a chain of as many trades per second as it is to bear. */
const KILLS = Number(process.env.SLUICE_DRILL_KILLS ?? 3)
const RATE = Number(process.env.SLUICE_DRILL_RATE ?? 10)
/** Long enough for every life between two kills, and for blocks that are final: 64 below the tip. */
const MINUTES = 2 + Math.ceil((KILLS * 6) / RATE)

const folder = mkdtempSync(join(tmpdir(), 'sluice-drill-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test(`the whole process killed ${KILLS} times under load: nothing lost, nothing twice`, async () => {
  const { kills, clean, killed } = await runEmbeddedCrashDrill({
    chain: {
      id: 'sol',
      seed: 11,
      ratePerSecond: RATE,
      genesis: '2026-02-01T00:00:00Z',
      until: `${MINUTES}m`,
    },
    folder,
    kills: KILLS,
    lifeMs: 1_500,
    random: Math.random,
    report: (line) => console.log(line),
  })
  assertEnoughKillsInFlight(kills)
  assertSameContent(killed, clean)
  const trades = clean.final.digests.find(({ name }) => name === 'sol_dex_trades')
  assert.ok((trades?.rows ?? 0) > 500, `${trades?.rows} final trades were compared`)
})
