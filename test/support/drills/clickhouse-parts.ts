/**
 * The parts drill, `npm run drill -- parts`: ten recorded chains at their own pace, with SLUICE_PARTS_LANES lanes each, through the process role into the
 * embedded engine. One JSON line with the statements, the parts written by them, and the merges, per second.
 *
 * SLUICE_PARTS_LANES (12), SLUICE_PARTS_SETTLE_SECONDS (30) before it is measured, SLUICE_PARTS_SECONDS (60) for which it is.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openWarehouse, type Warehouse } from '../../../core/clickhouse/client.ts'
import { makeSilentLogger } from '../../../core/ops/logger.ts'
import { startProcessors } from '../../../processors/start.ts'
import { chainRow } from '../../../schemas/chains.ts'
import { startParallelChains } from '../replay/parallel-chains.ts'
import { startServers } from '../replay/servers.ts'

const lanes = Number(process.env.SLUICE_PARTS_LANES ?? 12)
const settleSeconds = Number(process.env.SLUICE_PARTS_SETTLE_SECONDS ?? 30)
const seconds = Number(process.env.SLUICE_PARTS_SECONDS ?? 60)
/** First height, no multiple of 7, which Solana skips, and how many blocks there are at the start. */
const FIRST_HEIGHT = 700_001
const INITIAL_BLOCKS = 5

interface PartCounts {
  /** Statements that insert, parts that they wrote, parts that merges wrote. */
  readonly inserts: number
  readonly parts: number
  readonly merges: number
  readonly trades: number
}

const readPartCounts = async (
  warehouse: Warehouse,
  chains: readonly string[],
): Promise<PartCounts> => {
  const { rows } = await warehouse.query<{ readonly event: string; readonly value: string }>({
    sql: `SELECT event, toString(value) AS value FROM system.events WHERE event IN ('InsertQuery', 'MergeTreeDataWriterBlocks', 'Merge')`,
  })
  const found = new Map(rows.map(({ event, value }) => [event, Number(value)]))
  const trades = await warehouse.query<{ readonly trades: number }>({
    sql: `SELECT toFloat64(sum(n)) AS trades FROM (${chains.map((chain) => `SELECT count() AS n FROM ${chain}_dex_trades`).join(' UNION ALL ')})`,
  })
  return {
    inserts: found.get('InsertQuery') ?? 0,
    parts: found.get('MergeTreeDataWriterBlocks') ?? 0,
    merges: found.get('Merge') ?? 0,
    trades: trades.rows[0]?.trades ?? 0,
  }
}

const servers = await startServers({
  head: FIRST_HEIGHT + INITIAL_BLOCKS,
  headMs: Date.now(),
  lateMs: 0,
})
const chains = servers.map(({ chain }) => chain)
const run = await startParallelChains({
  servers,
  from: FIRST_HEIGHT,
  rpcTimeoutMs: 5_000,
  mapSizeBytes: 8 * 1_024 ** 3,
  lanes,
})
const folder = mkdtempSync(join(tmpdir(), 'sluice-parts-'))
const warehouse = await openWarehouse({ kind: 'embedded', path: folder })
const processors = await startProcessors({
  chains,
  warehouse,
  bus: run.bus,
  codec: run.codec,
  metrics: run.metrics,
  config: { partitions: lanes, retention: 'off' },
  log: makeSilentLogger(),
})
const timers = servers.map((server) =>
  setInterval(() => server.produce(), chainRow(server.chain)?.blockTimeMs ?? 1_000),
)
try {
  await sleep(settleSeconds * 1_000)
  const [before, cpuBefore] = [await readPartCounts(warehouse, chains), process.cpuUsage()]
  await sleep(seconds * 1_000)
  const [after, cpu] = [await readPartCounts(warehouse, chains), process.cpuUsage(cpuBefore)]
  const perSecond = (name: keyof PartCounts): number =>
    Math.round(((after[name] - before[name]) / seconds) * 10) / 10
  const line = {
    drill: 'parts',
    chains: chains.length,
    lanes,
    seconds,
    tradesPerSecond: perSecond('trades'),
    insertsPerSecond: perSecond('inserts'),
    partsPerSecond: perSecond('parts'),
    mergesPerSecond: perSecond('merges'),
    cores: Math.round((cpu.user + cpu.system) / seconds / 10_000) / 100,
  }
  console.log(JSON.stringify(line))
} finally {
  for (const timer of timers) clearInterval(timer)
  await processors.stop()
  await run.stop()
  await warehouse.close()
  await Promise.all(servers.map((server) => server.stop()))
  rmSync(folder, { recursive: true, force: true })
}
process.exit(0)
