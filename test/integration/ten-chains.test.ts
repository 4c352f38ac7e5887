import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { readDataRecords } from '../support/read-ingest-topics.ts'
import { alwaysFault, faultsInTurn, noFaults } from '../support/replay/fault-plans.ts'
import type { ReplayFault } from '../support/replay/faults.ts'
import {
  assertCompleteLog,
  type ParallelChains,
  startParallelChains,
} from '../support/replay/parallel-chains.ts'
import { type ReplayServer, startServers } from '../support/replay/servers.ts'
import { until } from '../support/until.ts'

/** First height of the run, and heights that are produced in each of its parts; no multiple of 7, which Solana skips. */
const FROM = 700_001
const CAUGHT_UP = FROM + 10
const FIRST = CAUGHT_UP + 15
const LAST = FIRST + 10
const BROKEN = 'bsc'
/** Says nothing from the start. */
const SILENT = 'avalanche'
const LIMIT_MS = 60_000

describe('every chain side by side, over nodes that make mistakes', () => {
  let servers: readonly ReplayServer[]
  let run: ParallelChains
  before(async () => {
    servers = await startServers({
      head: CAUGHT_UP,
      headMs: Date.UTC(2026, 5, 1),
      lateMs: 1_500,
      faults: (chain) => (chain === SILENT ? alwaysFault('disconnect') : faultsInTurn(11)),
    })
    run = await startParallelChains({
      servers,
      from: FROM,
      rpcTimeoutMs: 1_000,
      mapSizeBytes: 512 << 20,
    })
  })
  after(async () => {
    await run?.stop()
    await Promise.all(servers.map((server) => server.stop()))
  })

  /** Produces up to a height, each chain as fast as it is followed, and waits for those that are named. */
  const produceTo = async (height: number, chains: readonly ReplayServer[]): Promise<void> => {
    while (servers.some((server) => server.head() < height)) {
      for (const server of servers) if (server.head() < height) server.produce()
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (const { chain } of chains) {
      await until(() => run.height(chain) >= height, `${chain} reaches ${height}`, LIMIT_MS)
    }
  }

  test('ten chains: every block of every chain is committed once and in order', async () => {
    const silent = servers.find(({ chain }) => chain === SILENT)
    assert.ok(silent)
    await produceTo(
      FIRST,
      servers.filter((server) => server !== silent),
    )
    assert.equal(run.height(SILENT), -1)
    silent.break(faultsInTurn(11))
    await until(() => run.height(SILENT) >= FIRST, 'the silent chain caught up', LIMIT_MS)
    const seen = new Set<ReplayFault>()
    for (const server of servers) {
      await assertCompleteLog(run, server, { from: FROM, to: FIRST })
      for (const fault of Object.keys(server.done())) seen.add(fault as ReplayFault)
    }
    assert.deepEqual([...seen].sort(), [
      ...['disconnect', 'late', 'out-of-order', 'rate-limited'],
      ...['truncated', 'wrong', 'wrong-chain'],
    ])
  })

  test('recordings are decoded to trades and transfers on each chain', async () => {
    for (const { chain } of servers) {
      const records = await readDataRecords(run.bus, run.codec, chain)
      const transfers = records.filter(({ family }) => family === 'transfers')
      // The recorded transactions of Sui are swaps of one address each: nobody else is paid.
      assert.equal(transfers.length > 0, chain !== 'sui', `${chain} has transfers`)
    }
    for (const chain of ['eth', 'bsc', 'polygon', 'sol', 'sui']) {
      const records = await readDataRecords(run.bus, run.codec, chain)
      assert.ok(
        records.some(({ family }) => family === 'trades'),
        `${chain} has trades`,
      )
    }
  })

  test('the metrics of each chain are separate, with bounded labels', async () => {
    const metrics = await run.metrics.registry.getMetricsAsJSON()
    const valuesOf = (name: string) => metrics.find((metric) => metric.name === name)?.values ?? []
    for (const { chain } of servers) {
      for (const name of [
        ...['sluice_ingest_decoded_total', 'sluice_ingest_dropped_total', 'sluice_rpc_calls_total'],
        ...[
          'sluice_rpc_bytes_total',
          'sluice_ingest_head_lag_blocks',
          'sluice_ingest_head_lag_seconds',
        ],
      ]) {
        const own = valuesOf(name).filter(({ labels }) => labels.chain === chain)
        assert.ok(own.length > 0, `${name} of ${chain}`)
      }
    }
    assert.ok(
      valuesOf('sluice_ingest_unknown_pools_total').some(({ labels }) => labels.chain === 'eth'),
    )
    const labels = metrics.flatMap(({ values }) =>
      values.flatMap((each) => Object.values(each.labels)),
    )
    assert.deepEqual(
      labels.filter((label) => /^0x[0-9a-f]{40}|^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(String(label))),
      [],
    )
  })

  test('a chain whose nodes do not answer is blocked alone, and continues when they answer', async () => {
    const broken = servers.find(({ chain }) => chain === BROKEN)
    assert.ok(broken)
    const others = servers.filter(({ chain }) => chain !== BROKEN)
    broken.break(alwaysFault('late'))
    await produceTo(LAST, others)
    assert.ok(run.height(BROKEN) < LAST, 'its nodes gave nothing')
    for (const server of others) await assertCompleteLog(run, server, { from: FROM, to: LAST })
    broken.break(noFaults)
    await until(() => run.height(BROKEN) >= LAST, 'the broken chain caught up', LIMIT_MS)
    await assertCompleteLog(run, broken, { from: FROM, to: LAST })
  })
})
