import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@clickhouse/client'
import { createChdbConnection } from 'chdb/connection'
import { openWarehouse } from '../core/clickhouse/client.ts'
import { migrate } from '../core/clickhouse/migrate.ts'
import type { Row } from '../processors/sinks/columns.ts'
import { insertToken } from '../processors/sinks/runner.ts'
import { tradeRows } from '../processors/sinks/trade-rows.ts'
import {
  buildTape,
  type TapeTrade,
  tapeMeta,
  tapeTradeEvent,
} from '../test/support/builders/trade-tape.ts'
import { quantile } from './quantile.ts'

/** One line of the bench: rows per second of the sink's insert, and of the bare client with the same rows. */
export interface InsertLine {
  readonly bench: 'insert'
  readonly node: string
  readonly perSecond: number
  /** Time of one insert. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly barePerSecond: number
  /** Ours divided by bare. */
  readonly ratio: number
  readonly bare: string
}

const BLOCKS = 40
const TRADES_PER_BLOCK = 250
const BLOCKS_PER_INSERT = 4
const TABLE = 'eth_dex_trades'

const tradeAt = (index: number): TapeTrade => ({
  base: `0x${(index % 200).toString(16).padStart(40, '0')}`,
  quote: `0x${'f'.repeat(40)}`,
  pool: `0x${(0x1000 + (index % 300)).toString(16).padStart(40, '0')}`,
  baseRaw: BigInt(1_000_000 + index),
  quoteRaw: BigInt(2_000_000 + index),
  baseDecimals: 6,
  quoteDecimals: 6,
  buy: index % 2 === 0,
  quoteUsd: '1',
  quoteNative: '0.0004',
  suspect: false,
})

/** Rows of each insert, as the sink maps them. */
const batchesOf = (): readonly (readonly Row[])[] => {
  const { ops } = buildTape(
    Array.from({ length: BLOCKS }, (_, block) => ({
      kind: 'apply' as const,
      stepMs: 12_000,
      trades: Array.from({ length: TRADES_PER_BLOCK }, (__, index) =>
        tradeAt(block * TRADES_PER_BLOCK + index),
      ),
    })),
  )
  const rows = ops.map((op) =>
    tradeRows({
      meta: tapeMeta(op),
      events: op.block.trades.map((_, index) => tapeTradeEvent(op.block, index)),
    }),
  )
  return Array.from({ length: BLOCKS / BLOCKS_PER_INSERT }, (_, index) =>
    rows.slice(index * BLOCKS_PER_INSERT, (index + 1) * BLOCKS_PER_INSERT).flat(),
  )
}

type Insert = (rows: readonly Row[], index: number) => Promise<unknown>

const timesOf = async (
  batches: readonly (readonly Row[])[],
  insert: Insert,
): Promise<readonly number[]> => {
  const times: number[] = []
  for (const [index, rows] of batches.entries()) {
    const startedMs = performance.now()
    await insert(rows, index)
    // The first insert opens files and fills caches.
    if (index > 0) times.push(performance.now() - startedMs)
  }
  return times
}

const ours = async (folder: string, batches: readonly (readonly Row[])[]) => {
  const warehouse = await openWarehouse({ kind: 'embedded', path: folder })
  await migrate(warehouse, ['eth'])
  const times = await timesOf(batches, (rows, index) =>
    warehouse.insert(TABLE, rows, { token: insertToken(TABLE, 'bench/0', index, index) }),
  )
  await warehouse.command(`TRUNCATE TABLE ${TABLE}`)
  await warehouse.close()
  return times
}

const bare = async (folder: string, batches: readonly (readonly Row[])[]) => {
  // Both packages carry the same interface, but under two copies of the client's types.
  const client = createClient({ connection: createChdbConnection({ path: folder }) as never })
  const times = await timesOf(batches, (rows) =>
    client.insert({
      table: TABLE,
      values: rows,
      format: 'JSONEachRow',
      clickhouse_settings: { async_insert: 0, date_time_input_format: 'best_effort' },
    }),
  )
  await client.close()
  return times
}

const sumOf = (times: readonly number[]): number => times.reduce((sum, time) => sum + time, 0)
const rounded = (value: number): number => Math.round(value * 100) / 100

/** The sink's insert of trades (deterministic token, two views behind the table) against the bare client, same rows, same tables, chDB. */
export const insertBench = async (): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  try {
    const batches = batchesOf()
    const times = await ours(folder, batches)
    const bareTimes = await bare(folder, batches)
    const rows = BLOCKS_PER_INSERT * TRADES_PER_BLOCK
    const perSecond = (rows * times.length * 1_000) / sumOf(times)
    const barePerSecond = (rows * bareTimes.length * 1_000) / sumOf(bareTimes)
    const line: InsertLine = {
      bench: 'insert',
      node: process.version,
      perSecond: Math.round(perSecond),
      p50Ms: rounded(quantile(times, 0.5)),
      p99Ms: rounded(quantile(times, 0.99)),
      barePerSecond: Math.round(barePerSecond),
      ratio: rounded(perSecond / barePerSecond),
      bare: 'the client alone: same rows, same tables, no token',
    }
    process.stdout.write(`${JSON.stringify(line)}\n`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
