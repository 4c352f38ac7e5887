import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openWarehouse, type Warehouse } from '../core/clickhouse/client.ts'
import { migrate } from '../core/clickhouse/migrate.ts'
import { makeMetrics } from '../core/ops/metrics.ts'
import { CUBES } from '../schemas/cubes/all.ts'
import { createFreshnessReader } from '../serving/chain-freshness.ts'
import { JSON_FORMAT } from '../serving/graphql/answer-format.ts'
import { executePlan } from '../serving/graphql/execute.ts'
import { QUERY_LIMITS } from '../serving/graphql/limits.ts'
import { createPlanner } from '../serving/graphql/plan.ts'
import { buildCubeSchema } from '../serving/graphql/schema.ts'
import { createLimitedReads, emptyWork } from '../serving/queries/limited-reads.ts'
import { buildTrades, storeTrades } from '../test/support/builders/stored-trades.ts'
import { quantile } from './quantile.ts'

const STORED = 30_000
const START_MS = Date.UTC(2026, 2, 1)
const ROW_COUNTS = [50, 1_000, 10_000] as const
/** Enough that p99 is not the slowest alone. */
const ROUNDS = { 50: 1_000, 1000: 500, 10000: 100 } as const
/** Rounds before those that count. */
const WARM_UP = 50

/** One line of the bench: ours, and hand-written SQL through the same client. */
interface CubeQueryLine {
  readonly bench: string
  readonly node: string
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly bareP50Ms: number
  readonly bareP99Ms: number
  /** Ours divided by bare, at p50 and at p99. */
  readonly ratio: number
  readonly p99Ratio: number
  readonly bare: string
}

const QUERY = `query Bench($rows: Int!, $from: Int!) {
  EVM(network: eth) {
    DEXTrades(limit: {count: $rows}, orderBy: {descending: Block_Time}, where: {Block: {Slot: {ge: $from}}}) {
      Block { Time Slot }
      Transaction { Hash }
      Trade {
        Buy { Amount PriceInUSD AmountInUSD Account { Owner } Currency { MintAddress } }
        Sell { Amount Currency { MintAddress } }
        Dex { ProtocolName }
      }
      Pool { Address }
    }
  }
}`

/** What a person would write for the same rows; numbers that the client reads as they are. */
const BARE = `SELECT block_time, block_slot, tx_hash, toFloat64(buy_amount) / exp10(buy_decimals), buy_price_usd,
  buy_amount_usd, buy_owner, buy_token, toFloat64(sell_amount) / exp10(sell_decimals), sell_token, protocol_name, pool_address
FROM eth_dex_trades FINAL WHERE block_slot >= {from:UInt64} AND is_suspect = 0
ORDER BY block_slot DESC, tx_index DESC, event_index DESC LIMIT {rows:UInt64}`

const timed = async (run: () => Promise<unknown>): Promise<number> => {
  const startedMs = performance.now()
  await run()
  return performance.now() - startedMs
}

/** Both sides take turns, so that what else the machine does meets both. */
const measure = async (
  warehouse: Warehouse,
  rows: (typeof ROW_COUNTS)[number],
): Promise<CubeQueryLine> => {
  const { plan: planner } = createPlanner(buildCubeSchema(CUBES, ['eth']), QUERY_LIMITS)
  const freshness = createFreshnessReader(warehouse, ['eth'])
  const reads = createLimitedReads(warehouse, {
    share: 'scan',
    surface: 'graphql',
    metrics: makeMetrics(),
  })
  const deps = { reads, freshness, limits: QUERY_LIMITS, nowMs: Date.now, format: JSON_FORMAT }
  const { signal } = new AbortController()
  const ours = async (from: number): Promise<void> => {
    const { body } = await executePlan(planner({ query: QUERY, variables: { rows, from } }), deps, {
      orgId: 'bench',
      plan: 'selfhost',
      signal,
      work: emptyWork(),
    })
    if (body.length < rows * 100) throw new Error(body.toString().slice(0, 200))
  }
  const bare = (from: number): Promise<unknown> =>
    warehouse.queryArrays({ sql: BARE, params: { from, rows } }, { share: 'scan' })
  const spent: number[] = []
  const bareSpent: number[] = []
  for (let round = -WARM_UP; round < ROUNDS[rows]; round++) {
    const from = WARM_UP + round
    const mine = await timed(() => ours(from))
    const theirs = await timed(() => bare(from))
    if (round < 0) continue
    spent.push(mine)
    bareSpent.push(theirs)
  }
  spent.sort((a, b) => a - b)
  bareSpent.sort((a, b) => a - b)
  const [p50Ms, p99Ms] = [quantile(spent, 0.5), quantile(spent, 0.99)]
  const [bareP50Ms, bareP99Ms] = [quantile(bareSpent, 0.5), quantile(bareSpent, 0.99)]
  return {
    bench: `cube-query-${rows}`,
    node: process.version,
    perSecond: Math.round(1_000 / p50Ms),
    p50Ms: Number(p50Ms.toFixed(2)),
    p99Ms: Number(p99Ms.toFixed(2)),
    bareP50Ms: Number(bareP50Ms.toFixed(2)),
    bareP99Ms: Number(bareP99Ms.toFixed(2)),
    ratio: Number((p50Ms / bareP50Ms).toFixed(3)),
    p99Ratio: Number((p99Ms / bareP99Ms).toFixed(3)),
    bare: 'hand-written SQL through the same client, rows parsed, nothing shaped',
  }
}

/** Prints one JSON line per row count: from the text of a GraphQL query to the text of its answer, against hand-written SQL for the same rows. */
export const cubeQueryBench = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const warehouse = await openWarehouse({ kind: 'embedded', path: folder })
  try {
    await migrate(warehouse, ['eth'])
    const trades = buildTrades(STORED, START_MS)
    for (let from = 0; from < trades.length; from += 10_000) {
      await storeTrades(warehouse, 'eth', trades.slice(from, from + 10_000))
    }
    for (const rows of ROW_COUNTS) {
      process.stdout.write(`${JSON.stringify(await measure(warehouse, rows))}\n`)
    }
  } finally {
    await warehouse.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
