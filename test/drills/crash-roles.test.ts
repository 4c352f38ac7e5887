import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertEnoughKillsInFlight, assertSameContent } from '../support/drills/crash.ts'
import { runRolesCrashDrill } from '../support/drills/crash-roles.ts'
import { startServers } from '../support/installation.ts'
import { tryStart } from '../support/optional-dependency.ts'

/** Many for `npm run drill`, and a chain of as many trades per second as it is to bear, which continues while roles die. */
const KILLS = Number(process.env.SLUICE_DRILL_KILLS ?? 3)
const RATE = Number(process.env.SLUICE_DRILL_RATE ?? 10)
const GENESIS = Date.UTC(2026, 1, 1)

const first = await tryStart('roles under kills on a Kafka broker with a registry', startServers)

if (first) {
  const parked = [first]
  test(`roles killed ${KILLS} times under load: nothing lost, nothing twice`, async () => {
    const { kills, clean, killed } = await runRolesCrashDrill({
      chain: { id: 'sol', seed: 12, ratePerSecond: RATE, genesisMs: GENESIS },
      servers: async () => parked.pop() ?? startServers(),
      kills: KILLS,
      historyMs: RATE < 100 ? 120_000 : 40_000,
      lifeMs: 3_000,
      random: Math.random,
      report: (line) => console.log(line),
    })
    assertEnoughKillsInFlight(kills)
    assertSameContent(killed, clean)
    const trades = clean.final.digests.find(({ name }) => name === 'sol_dex_trades')
    assert.ok((trades?.rows ?? 0) > 500, `${trades?.rows} final trades were compared`)
  })
}
