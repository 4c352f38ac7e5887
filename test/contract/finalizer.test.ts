import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openWarehouse } from '../../core/clickhouse/client.ts'
import { applyTableRetention, migrate } from '../../core/clickhouse/migrate.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import {
  CANDLE_TABLE_COLUMNS,
  checkAndRepairRollups,
} from '../../processors/rollups/check-and-repair.ts'
import { runFinalization, startFinalizer } from '../../processors/rollups/finalizer.ts'
import { createIncompleteMinutes } from '../../processors/rollups/incomplete-minutes.ts'
import { until } from '../support/until.ts'

const CHAINS = ['eth', 'bsc', 'base', 'arb', 'op', 'avax', 'polygon']
const folder = mkdtempSync(join(tmpdir(), 'sluice-finalizer-'))
const path = join(folder, 'tables')
const warehouse = await openWarehouse({ kind: 'embedded', path })
await migrate(warehouse, CHAINS)
after(async () => {
  await warehouse.close()
  rmSync(folder, { recursive: true, force: true })
})

const START = 1_700_000_040 - (1_700_000_040 % 60)
const iso = (seconds: number): string => new Date(seconds * 1_000).toISOString()

const addBlock = (chain: string, number: number, atS: number, trades: number): Promise<void> =>
  warehouse.insert(`${chain}_blocks`, [
    {
      block_time: iso(atS),
      block_slot: number,
      block_height: number,
      seq: number,
      block_hash: `0xb${number}`,
      trades_count: trades,
      trades_by_partition: [trades],
      commitment: 'FINALIZED',
      _ver: String(number << 4),
      _del: 0,
    },
  ])

const tradeText = (number: number, atS: number, index: number): string =>
  JSON.stringify({
    block_time: iso(atS + 1),
    block_slot: number,
    block_height: number,
    block_hash: `0xb${number}`,
    tx_hash: `0xt${index}`,
    tx_index: index,
    event_index: 0,
    buy_token: `A${index % 5}`,
    sell_token: 'B',
    buy_amount: '1',
    sell_amount: '1',
    buy_price_usd: 1,
    sell_price_usd: 1,
    buy_amount_usd: '1',
    sell_amount_usd: '1',
    tx_status: 'SUCCESS',
    _ver: String((number << 20) + index),
  })

interface TradeSet {
  readonly number: number
  readonly atS: number
  readonly from?: number
  readonly to: number
}

const addTrades = (
  chain: string,
  { number, atS, from = 0, to }: TradeSet,
  store = warehouse,
): Promise<void> => {
  const lines = Array.from({ length: to - from }, (_, index) =>
    tradeText(number, atS, from + index),
  )
  const rows = { text: lines.join('\n'), count: lines.length }
  return store.insert(`${chain}_dex_trades`, rows, { token: `${number}/${from}-${to}` })
}

const setFinal = (chain: string, atS: number, version = 1): Promise<void> =>
  warehouse.insert(`${chain}_chain_state`, [
    { key: 'final', final_slot: 0, final_time: iso(atS), hot_from: 0, seq: 0, _ver: version },
  ])

const TABLES = ['ohlc_1s', 'ohlc_1m', 'ohlc_1h', 'ohlc_1d', 'token_trade_stats_1m']

/** Trades that each rollup holds, both sides of each, over buckets from `from` on. */
const rolledUp = async (chain: string, from = 0): Promise<readonly number[]> => {
  const counts: number[] = []
  for (const table of TABLES) {
    const sql = `SELECT toUInt32(sum(trades)) AS n FROM ${chain}_${table} WHERE bucket >= toDateTime(${from}, 'UTC')`
    const { rows } = await warehouse.query<{ readonly n: number }>({ sql })
    counts.push(rows[0]?.n ?? -1)
  }
  return counts
}

const all = (count: number): readonly number[] => TABLES.map(() => count)

const gaps = async (chain: string) =>
  (
    await warehouse.query<{ minute: number; announced: number; stored: number; reason: string }>({
      sql: `SELECT toUnixTimestamp(minute) AS minute, toUInt32(announced_trades) AS announced,
        toUInt32(stored_trades) AS stored, reason FROM ${chain}_rollup_gaps FINAL ORDER BY minute`,
    })
  ).rows

test('a minute waits until the table that is copied has its trades, not the one before it', async () => {
  await addBlock('eth', 1, START, 3)
  await setFinal('eth', START + 60)
  // The moment between an insert and what its view adds, held open.
  await warehouse.command('RENAME TABLE eth_dex_trades_enriched_mv TO eth_view_away')
  await warehouse.command('DETACH TABLE eth_view_away')
  await addTrades('eth', { number: 1, atS: START, to: 3 })
  const waiting = await runFinalization(warehouse, 'eth')
  assert.deepEqual([waiting.minutes, waiting.waitingFor], [0, START])
  assert.deepEqual(await rolledUp('eth'), all(0))
  await warehouse.command('ATTACH TABLE eth_view_away')
  await warehouse.command('RENAME TABLE eth_view_away TO eth_dex_trades_enriched_mv')
  await warehouse.command('TRUNCATE TABLE eth_dex_trades')
  await addTrades('eth', { number: 1, atS: START, to: 3 })
  const done = await runFinalization(warehouse, 'eth')
  assert.deepEqual([done.minutes, done.waitingFor, done.hotFrom], [1, null, START + 60])
  assert.deepEqual(await rolledUp('eth'), all(6))
})

test('a finalizer on a connection of its own rolls up whole minutes while they are inserted', async () => {
  const [count, minutes] = [1_500, 20]
  for (let minute = 0; minute < minutes; minute += 1) {
    await addBlock('bsc', minute + 1, START + minute * 60, count)
  }
  await setFinal('bsc', START + minutes * 60)
  const other = await openWarehouse({ kind: 'embedded', path })
  const metrics = makeMetrics()
  const finalizer = startFinalizer({
    chain: 'bsc',
    warehouse: other,
    log: makeSilentLogger(),
    metrics,
    idleMs: 1,
    checkMs: 60_000,
  })
  try {
    for (let minute = 0; minute < minutes; minute += 1) {
      await addTrades('bsc', { number: minute + 1, atS: START + minute * 60, to: count })
    }
    const end = START + minutes * 60
    await until(() => finalizer.last()?.hotFrom === end, 'all are rolled up', 30_000)
  } finally {
    await finalizer.stop()
    await other.close()
  }
  assert.deepEqual(await rolledUp('bsc'), all(2 * count * minutes))
  assert.deepEqual(await gaps('bsc'), [])
  assert.deepEqual((await metrics.rollupRepairs.get()).values, [])
})

const minuteCheck = (chain: string, to: number) => ({
  warehouse,
  chain,
  from: START,
  to,
  nowMs: (to + 60) * 1_000,
})

test('rollups that are short, or hold a minute twice, are found and built again, and nothing else is touched', async () => {
  const end = START + 3 * 60
  for (const minute of [0, 1, 2]) {
    const [number, atS] = [minute + 1, START + minute * 60]
    await addBlock('base', number, atS, 4)
    await addTrades('base', { number, atS, to: 4 })
  }
  await setFinal('base', end)
  await runFinalization(warehouse, 'base')
  assert.deepEqual(await checkAndRepairRollups(minuteCheck('base', end)), [])
  const views = await warehouse.query({ sql: 'SELECT * FROM base_ohlc_mv ORDER BY ALL' })
  for (const table of ['base_token_trade_stats_1m', 'base_ohlc_1m', 'base_ohlc_1s']) {
    await warehouse.command(
      `DELETE FROM ${table} WHERE token_address = 'A1' AND bucket >= toDateTime(${START + 60}, 'UTC') AND bucket < toDateTime(${START + 120}, 'UTC')`,
    )
  }
  await warehouse.command(
    `INSERT INTO base_trades_final SELECT * EXCEPT (_ver, _del) FROM base_dex_trades_enriched FINAL WHERE block_slot = 3`,
    { token: 'twice' },
  )
  assert.deepEqual(await checkAndRepairRollups(minuteCheck('base', end)), [START + 60, START + 120])
  assert.deepEqual(await rolledUp('base'), all(24))
  const repaired = await warehouse.query({ sql: 'SELECT * FROM base_ohlc_mv ORDER BY ALL' })
  assert.deepEqual(repaired.rows, views.rows)
  assert.deepEqual(await checkAndRepairRollups(minuteCheck('base', end)), [])
})

test('a minute with trades that never come is closed and marked, and is repaired when they come after all', async () => {
  const atS = (minute: number): number => START + minute * 60
  for (const minute of [0, 1]) await addBlock('arb', minute + 1, atS(minute), 4)
  await addTrades('arb', { number: 1, atS: atS(0), to: 3 })
  await setFinal('arb', atS(2))
  const metrics = makeMetrics()
  const openMinutes = createIncompleteMinutes(1_000)
  const round = (nowMs: number) =>
    runFinalization(warehouse, 'arb', { openMinutes, metrics, nowMs })
  assert.equal((await round(0)).waitingFor, START)
  assert.equal((await round(5_000)).waitingFor, START, 'nothing later came: the sink may be behind')
  await addTrades('arb', { number: 2, atS: atS(1), to: 4 })
  const closed = await round(6_000)
  assert.deepEqual([closed.minutes, closed.waitingFor, closed.hotFrom], [2, null, atS(2)])
  assert.deepEqual(await rolledUp('arb'), all(14))
  assert.deepEqual(await gaps('arb'), [
    { minute: START, announced: 4, stored: 3, reason: 'trades-missing' },
  ])
  const { values } = await metrics.rollupIncomplete.get()
  assert.deepEqual(
    values.map(({ value, labels }) => [value, labels.chain, labels.reason]),
    [[1, 'arb', 'trades-missing']],
  )
  assert.deepEqual(
    await checkAndRepairRollups(minuteCheck('arb', atS(2))),
    [],
    'as good as it can be',
  )
  await addTrades('arb', { number: 1, atS: atS(0), from: 3, to: 4 })
  const late = { ...minuteCheck('arb', atS(2)), from: atS(1) }
  assert.deepEqual(await checkAndRepairRollups(late), [START])
  assert.deepEqual(await rolledUp('arb'), all(16))
  assert.deepEqual(await gaps('arb'), [])
})

test('a minute beyond the days that trades are kept is closed and marked, and later ones go on', async () => {
  await applyTableRetention(warehouse, ['op'], 'contract')
  const nowS = Math.floor(Date.now() / 60_000) * 60
  const [old, recent] = [nowS - 11 * 86_400, nowS - 3_600]
  await addBlock('op', 1, old, 2)
  await addTrades('op', { number: 1, atS: old, to: 2 })
  await addBlock('op', 2, recent, 2)
  await addTrades('op', { number: 2, atS: recent, to: 2 })
  await setFinal('op', recent + 60)
  const round = await runFinalization(warehouse, 'op')
  assert.deepEqual([round.waitingFor, round.hotFrom], [null, recent + 60])
  const [, minutes] = await rolledUp('op', recent)
  assert.equal(minutes, 4)
  const [gap] = await gaps('op')
  assert.deepEqual([gap?.minute, gap?.announced, gap?.reason], [old, 2, 'expired'])
})

test('trades that expired after they were rolled up are not a reason to build the rollup again', async () => {
  await addBlock('avax', 1, START, 2)
  await addTrades('avax', { number: 1, atS: START, to: 2 })
  await setFinal('avax', START + 60)
  await runFinalization(warehouse, 'avax')
  await warehouse.command('TRUNCATE TABLE avax_dex_trades_enriched')
  assert.deepEqual(await checkAndRepairRollups(minuteCheck('avax', START + 60)), [])
  assert.deepEqual(await rolledUp('avax'), all(4))
})

test('of several processes only the one that may repairs: two would double what they rebuild', async () => {
  await addBlock('polygon', 1, START, 4)
  await addTrades('polygon', { number: 1, atS: START, to: 4 })
  await setFinal('polygon', START + 60)
  await runFinalization(warehouse, 'polygon')
  await warehouse.command(`DELETE FROM polygon_ohlc_1m WHERE token_address = 'A1'`)
  const metrics = makeMetrics()
  let asked = 0
  let may = false
  const finalizer = startFinalizer({
    chain: 'polygon',
    warehouse,
    log: makeSilentLogger(),
    metrics,
    idleMs: 1,
    checkMs: 1,
    mayRepair: () => {
      asked += 1
      return may
    },
  })
  const repairs = async (): Promise<number> =>
    (await metrics.rollupRepairs.get()).values.reduce((sum, { value }) => sum + value, 0)
  try {
    await until(() => asked > 5, 'some rounds of a process that may not')
    assert.equal(await repairs(), 0)
    may = true
    await until(async () => (await repairs()) === 1, 'the process that may repairs')
  } finally {
    await finalizer.stop()
  }
  assert.deepEqual(await rolledUp('polygon'), all(8))
})

test('a repair writes every column of a candle table', async () => {
  for (const table of ['eth_ohlc_1h', 'eth_ohlc_1d']) {
    const { rows } = await warehouse.query<{ readonly name: string }>({
      sql: 'SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String}',
      params: { table },
    })
    const columns = rows.map(({ name }) => name).filter((name) => name !== 'bucket')
    assert.deepEqual(columns.sort(), [...CANDLE_TABLE_COLUMNS].sort(), table)
  }
})
