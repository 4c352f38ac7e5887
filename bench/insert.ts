import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@clickhouse/client'
import { createChdbConnection } from 'chdb/connection'
import { type JsonLines, openWarehouse, type Warehouse } from '../core/clickhouse/client.ts'
import { migrate } from '../core/clickhouse/migrate.ts'
import { makeMetrics } from '../core/ops/metrics.ts'
import type { Row } from '../processors/sinks/columns.ts'
import { createInserter } from '../processors/sinks/inserter.ts'
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
/** Filled by views that read the table. */
const VIEW_TABLES = ['eth_dex_trades_enriched', 'eth_dex_trades_by_wallet'] as const
const TURNS = 8
const WARM_UP_TURNS = 2

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

/** A batch of a lane as the sink makes it. */
const batchOf = (rows: readonly Row[]): JsonLines => ({
  text: rows.map((row) => JSON.stringify(row)).join('\n'),
  count: rows.length,
})

/** The batches of a turn; those of another one are of other blocks, so that nothing counts as a repetition. */
const batchesOf = (turn: number): readonly JsonLines[] => {
  const { ops } = buildTape(
    Array.from({ length: BLOCKS }, (_, block) => ({
      kind: 'apply' as const,
      stepMs: 12_000,
      trades: Array.from({ length: TRADES_PER_BLOCK }, (__, index) =>
        tradeAt(block * TRADES_PER_BLOCK + index),
      ),
    })),
    Date.UTC(2026, 0, 1 + turn),
  )
  const rows = ops.map((op) =>
    tradeRows({
      meta: tapeMeta(op),
      events: op.block.trades.map((_, index) => tapeTradeEvent(op.block, index)),
    }),
  )
  return Array.from({ length: BLOCKS / BLOCKS_PER_INSERT }, (_, index) =>
    batchOf(rows.slice(index * BLOCKS_PER_INSERT, (index + 1) * BLOCKS_PER_INSERT).flat()),
  )
}

type Insert = (batch: JsonLines, at: string) => Promise<unknown>

const timesOf = async (
  batches: readonly JsonLines[],
  turn: number,
  insert: Insert,
): Promise<readonly number[]> => {
  const times: number[] = []
  for (const [index, batch] of batches.entries()) {
    const startedMs = performance.now()
    await insert(batch, `${turn}/${index}`)
    times.push(performance.now() - startedMs)
  }
  return times
}

/** Many rows that the client takes for one. */
class Lines {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const stringify = (value: unknown): string =>
  value instanceof Lines ? value.text : JSON.stringify(value)

/** The client alone, given the same text. */
const openBare = async (folder: string) => {
  // Both packages carry the same interface, but under two copies of the client's types.
  const client = createClient({
    connection: createChdbConnection({ path: folder }) as never,
    json: { parse: JSON.parse, stringify },
  })
  // Said once: the driver sends settings of an insert as statements of their own before it.
  await client.command({ query: "SET async_insert=0, date_time_input_format='best_effort'" })
  const insert: Insert = ({ text }) =>
    client.insert({
      table: TABLE,
      values: [new Lines(text)],
      format: 'JSONEachRow',
    })
  return { insert, close: () => client.close() }
}

const sumOf = (times: readonly number[]): number => times.reduce((sum, time) => sum + time, 0)
const rounded = (value: number): number => Math.round(value * 100) / 100

/** Empties the table and those that its views fill. Throws where rows are missing. */
const emptied = async (warehouse: Warehouse): Promise<void> => {
  const { rows } = await warehouse.query<{ n: number }>({
    sql: `SELECT toUInt32(count()) AS n FROM ${TABLE}`,
  })
  assert.equal(rows[0]?.n, BLOCKS * TRADES_PER_BLOCK)
  for (const table of [TABLE, ...VIEW_TABLES]) await warehouse.command(`TRUNCATE TABLE ${table}`)
}

/**
 * Batches of trades as sinks hand them to the inserter of the process (deterministic token, two views behind the table) against the bare
 * client: same text, same tables, chDB. They take turns, each is the first in every other; the first two turns warm up.
 */
export const insertBench = async (): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  try {
    const warehouse = await openWarehouse({ kind: 'embedded', path: folder })
    await migrate(warehouse, ['eth'])
    const inserter = createInserter({ warehouse, metrics: makeMetrics() })
    const bare = await openBare(folder)
    const ours: Insert = (batch, at) =>
      inserter.insert(TABLE, { ...batch, token: insertToken(TABLE, at, 0, 0) })
    const times = { ours: [] as number[], bare: [] as number[] }
    for (let turn = 0; turn < TURNS; turn += 1) {
      const batches = batchesOf(turn)
      const order = ['ours', 'bare'] as const
      for (const name of turn % 2 === 0 ? order : order.toReversed()) {
        const spent = await timesOf(batches, turn, name === 'ours' ? ours : bare.insert)
        if (turn >= WARM_UP_TURNS) times[name].push(...spent)
        await emptied(warehouse)
      }
    }
    await bare.close()
    await warehouse.close()
    const rows = BLOCKS_PER_INSERT * TRADES_PER_BLOCK
    const rate = (spent: readonly number[]): number => (rows * spent.length * 1_000) / sumOf(spent)
    const [perSecond, barePerSecond] = [rate(times.ours), rate(times.bare)]
    const line: InsertLine = {
      bench: 'insert',
      node: process.version,
      perSecond: Math.round(perSecond),
      p50Ms: rounded(quantile(times.ours, 0.5)),
      p99Ms: rounded(quantile(times.ours, 0.99)),
      barePerSecond: Math.round(barePerSecond),
      ratio: rounded(perSecond / barePerSecond),
      bare: 'the client alone: same text, same tables, no token',
    }
    process.stdout.write(`${JSON.stringify(line)}\n`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
