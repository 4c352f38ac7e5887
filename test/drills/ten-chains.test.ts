import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { chainRow } from '../../schemas/chains.ts'
import type { BlockEvent } from '../../schemas/wire.ts'
import { faultsInTurn } from '../support/replay/fault-plans.ts'
import { assertCompleteLog, startParallelChains } from '../support/replay/parallel-chains.ts'
import { type ReplayServer, startServers } from '../support/replay/servers.ts'
import { until } from '../support/until.ts'

/** How long the chains grow, each at its own pace. */
const MINUTES = Number(process.env.SLUICE_DRILL_MINUTES ?? 5)
/** First height, no multiple of 7, which Solana skips, and how many blocks there are at the start. */
const FROM = 700_001
const BACKLOG = 20
/** Answers between two faults; one chain has nodes that fail all the time. */
const EVERY = 29
const WORST = { chain: 'polygon', every: 4 }
const CATCH_UP_MS = 180_000

test(`all chains run side by side for ${MINUTES} minutes over faulty nodes`, async () => {
  const servers = await startServers({
    head: FROM + BACKLOG,
    headMs: Date.now(),
    lateMs: 3_000,
    faults: (chain) => faultsInTurn(chain === WORST.chain ? WORST.every : EVERY),
  })
  const run = await startParallelChains({
    servers,
    from: FROM,
    rpcTimeoutMs: 2_000,
    mapSizeBytes: 8 * 1_024 ** 3,
  })
  const timers = servers.map((server) =>
    setInterval(() => server.produce(), chainRow(server.chain)?.blockTimeMs ?? 1_000),
  )
  try {
    await sleep(MINUTES * 60_000)
    for (const timer of timers) clearInterval(timer)
    for (const server of servers) {
      const to = newestBlock(server)
      const reached = (): boolean => run.height(server.chain) >= to
      await until(reached, `${server.chain} reaches ${to}`, CATCH_UP_MS)
      const blocks = await assertCompleteLog(run, server, { from: FROM, to })
      console.log(JSON.stringify(lineOf(server, blocks)))
      assert.ok(Object.keys(server.done()).length > 0, `${server.chain} met faults`)
    }
  } finally {
    for (const timer of timers) clearInterval(timer)
    await run.stop()
    await Promise.all(servers.map((server) => server.stop()))
  }
})

/** Highest height of a server that has a block. */
const newestBlock = (server: ReplayServer): number => {
  let height = server.head()
  while (server.hashAt(height) === undefined) height -= 1
  return height
}

const lineOf = (server: ReplayServer, blocks: readonly BlockEvent[]) => {
  const delays = blocks
    .flatMap(({ meta }) => {
      const producedMs = server.producedMs.get(meta.height)
      return producedMs === undefined ? [] : [meta.produced_at - producedMs]
    })
    .sort((one, other) => one - other)
  const at = (share: number): number | null => delays[Math.floor(delays.length * share)] ?? null
  return {
    chain: server.chain,
    blocks: blocks.length,
    trades: blocks.reduce((sum, { counts }) => sum + (counts['dex.trades'] ?? 0), 0),
    faults: server.done(),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  }
}
