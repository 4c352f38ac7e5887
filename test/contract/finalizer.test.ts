import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openWarehouse } from '../../core/clickhouse/client.ts'
import { applyTableRetention, migrate } from '../../core/clickhouse/migrate.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { checkAndRepairRollups } from '../../processors/rollups/check-and-repair.ts'
import {
  FINAL_TRADE_COLUMNS,
  runFinalization,
  startFinalizer,
} from '../../processors/rollups/finalizer.ts'
import { createIncompleteMinutes } from '../../processors/rollups/incomplete-minutes.ts'
import { CANDLE_TABLE_COLUMNS } from '../../processors/rollups/rebuild-minute.ts'
import { allRollups as all, makeRollupTables, START } from '../support/rollup-tables.ts'
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

const { addBlock, addTrades, setFinal, rolledUp, gaps } = makeRollupTables(warehouse)

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
  // Another process that does not see the watermark yet repeats the minute under the same token.
  await warehouse.command(
    "ALTER TABLE eth_chain_state DELETE WHERE key = 'rollup' SETTINGS mutations_sync = 2",
  )
  assert.equal((await runFinalization(warehouse, 'eth')).minutes, 1)
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

const repairs = async (check: Parameters<typeof checkAndRepairRollups>[0]) =>
  (await checkAndRepairRollups(check)).repaired

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
  assert.deepEqual(await repairs(minuteCheck('base', end)), [])
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
  assert.deepEqual(await repairs(minuteCheck('base', end)), [START + 60, START + 120])
  assert.deepEqual(await rolledUp('base'), all(24))
  const repaired = await warehouse.query({ sql: 'SELECT * FROM base_ohlc_mv ORDER BY ALL' })
  assert.deepEqual(repaired.rows, views.rows)
  assert.deepEqual(await repairs(minuteCheck('base', end)), [])
})

test('a minute whose trades are missing is closed and marked, and is repaired when they arrive later', async () => {
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
  assert.deepEqual(await repairs(minuteCheck('arb', atS(2))), [], 'as good as it can be')
  await addTrades('arb', { number: 1, atS: atS(0), from: 3, to: 4 })
  const late = { ...minuteCheck('arb', atS(2)), from: atS(1) }
  assert.deepEqual(await repairs(late), [START])
  assert.deepEqual(await rolledUp('arb'), all(16))
  assert.deepEqual(await gaps('arb'), [])
})

test('a minute beyond the days that trades are kept is closed and marked, and later ones continue', async () => {
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
  assert.deepEqual(await repairs(minuteCheck('avax', START + 60)), [])
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
  const repairCount = async (): Promise<number> =>
    (await metrics.rollupRepairs.get()).values.reduce((sum, { value }) => sum + value, 0)
  try {
    await until(() => asked > 5, 'some rounds of a process that may not')
    assert.equal(await repairCount(), 0)
    may = true
    await until(async () => (await repairCount()) === 1, 'the process that may repairs')
  } finally {
    await finalizer.stop()
  }
  assert.deepEqual(await rolledUp('polygon'), all(8))
})

test('the copy of a minute has every column that rollups may read, and a repair every column of a candle table', async () => {
  const columnsOf = async (table: string): Promise<readonly string[]> => {
    const { rows } = await warehouse.query<{ readonly name: string }>({
      sql: 'SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String}',
      params: { table },
    })
    return rows.map(({ name }) => name).filter((name) => name !== 'bucket')
  }
  for (const table of ['eth_ohlc_1h', 'eth_ohlc_1d']) {
    const columns = await columnsOf(table)
    assert.deepEqual(columns.toSorted(), CANDLE_TABLE_COLUMNS.toSorted(), table)
  }
  const copied = await columnsOf('eth_trades_final')
  assert.deepEqual(copied.toSorted(), FINAL_TRADE_COLUMNS.toSorted())
  const source = (await columnsOf('eth_dex_trades_enriched')).filter((name) => !/^_/.test(name))
  assert.deepEqual(source.toSorted(), FINAL_TRADE_COLUMNS.toSorted())
})

test('trades by wallet are the rows by token, also where an insert is repeated after they were lost', async () => {
  const insert = () => addTrades('bsc', { number: 9_000, atS: START, to: 4 })
  const rowsOf = async (table: string) => {
    const sql = `SELECT * FROM bsc_${table} FINAL WHERE block_slot = 9000 ORDER BY ALL`
    return (await warehouse.query({ sql })).rows
  }
  await insert()
  const rows = await rowsOf('dex_trades_enriched')
  assert.equal(rows.length, 8)
  assert.deepEqual(await rowsOf('dex_trades_by_wallet'), rows)
  await warehouse.command('TRUNCATE TABLE bsc_dex_trades_by_wallet')
  await insert()
  assert.deepEqual(await rowsOf('dex_trades_enriched'), rows)
  assert.deepEqual(await rowsOf('dex_trades_by_wallet'), rows)
})
