import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runWebhookDrill } from '../support/drills/webhooks.ts'

/** As many as an installation of its size has; fewer of both for a short look. */
const ENDPOINTS = Number(process.env.SLUICE_WEBHOOK_ENDPOINTS ?? 500)
const KILLS = Number(process.env.SLUICE_DRILL_KILLS ?? 10)
const TIMED_SECONDS = Number(process.env.SLUICE_WEBHOOK_SECONDS ?? 60)
/** What hanging receivers may cost those that are well. */
const MOST_SLOWER = 1.2
/** Below this the clock says more of the machine than of the product. */
const LEAST_P99_MS = 100

test(`${ENDPOINTS} webhooks, a tenth of them hanging, killed ${KILLS} times: none lost, none renamed`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-webhook-drill-'))
  try {
    const result = await runWebhookDrill({
      folder,
      endpoints: ENDPOINTS,
      kills: KILLS,
      timedMs: TIMED_SECONDS * 1_000,
      lifeMs: 8_000,
      rate: 2,
      random: Math.random,
      report: (line) => console.log(line),
    })
    console.log(JSON.stringify(result))
    assert.ok(result.trades > KILLS, `${result.trades} trades were compared`)
    assert.equal(result.lost, 0)
    assert.equal(result.renamed, 0)
    assert.ok(result.timed.well > ENDPOINTS && result.timed.hanging > ENDPOINTS)
    const mostMs = MOST_SLOWER * Math.max(LEAST_P99_MS, result.wellP99Ms)
    assert.ok(result.hangingP99Ms <= mostMs, `${result.hangingP99Ms} ms, at most ${mostMs}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
