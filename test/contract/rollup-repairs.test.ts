import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openWarehouse, type Warehouse } from '../../core/clickhouse/client.ts'
import { migrate } from '../../core/clickhouse/migrate.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { checkAndRepairRollups } from '../../processors/rollups/check-and-repair.ts'
import { runFinalization, startFinalizer } from '../../processors/rollups/finalizer.ts'
import { createRollupChecker } from '../../processors/rollups/rollup-checker.ts'
import { allRollups as all, makeRollupTables, START } from '../support/rollup-tables.ts'
import { until } from '../support/until.ts'

const CHAINS = ['eth', 'bsc', 'base', 'arb', 'op', 'avax', 'polygon']
const folder = mkdtempSync(join(tmpdir(), 'sluice-repairs-'))
const warehouse = await openWarehouse({ kind: 'embedded', path: join(folder, 'tables') })
await migrate(warehouse, CHAINS)
after(async () => {
  await warehouse.close()
  rmSync(folder, { recursive: true, force: true })
})

const { addBlock, addTrades, setFinal, rolledUp, gaps } = makeRollupTables(warehouse)
const log = makeSilentLogger()
const atS = (minute: number): number => START + minute * 60

/** Minutes with two trades each, rolled up. */
const fill = async (chain: string, minutes: readonly number[]): Promise<void> => {
  for (const minute of minutes) {
    await addBlock(chain, minute + 1, atS(minute), 2)
    await addTrades(chain, { number: minute + 1, atS: atS(minute), to: 2 })
  }
  const end = (minutes.at(-1) ?? 0) + 1
  await setFinal(chain, atS(end), end)
  await runFinalization(warehouse, chain)
}

const loseCandles = (chain: string): Promise<void> =>
  warehouse.command(`DELETE FROM ${chain}_ohlc_1m WHERE token_address = 'A1'`)

/** A store whose process dies at the first statement that matches: it and everything after it never happens. */
const dyingAt = (pattern: RegExp): { readonly store: Warehouse; readonly died: Promise<void> } => {
  let die: () => void = () => undefined
  const died = new Promise<void>((resolve) => {
    die = resolve
  })
  let isDead = false
  const store: Warehouse = {
    ...warehouse,
    command: (sql, options) => {
      isDead ||= pattern.test(sql)
      if (!isDead) return warehouse.command(sql, options)
      die()
      return new Promise(() => undefined)
    },
  }
  return { store, died }
}

test('a rollup repair that a crash interrupted is completed by the next process, however much later it starts', async () => {
  await fill('eth', [0])
  await createRollupChecker({ chain: 'eth', warehouse, log, checkMs: 0 })(atS(1))
  await loseCandles('eth')
  const { store, died } = dyingAt(/^INSERT INTO eth_ohlc_1m/)
  void createRollupChecker({ chain: 'eth', warehouse: store, log, checkMs: 0 })(atS(1))
  await died
  assert.notDeepEqual(await rolledUp('eth'), all(4), 'the minute is half rebuilt')
  await fill('eth', [600, 601])
  const check = createRollupChecker({ chain: 'eth', warehouse, log, checkMs: 0 })
  await check(atS(602))
  assert.deepEqual(await rolledUp('eth'), all(12))
  assert.deepEqual(await gaps('eth'), [])
  // The crash came after the last insert, before the mark was taken away.
  const mark = { minute: START, announced_trades: 2, stored_trades: 2, reason: 'rebuilding' }
  await warehouse.insert('eth_rollup_gaps', [{ ...mark, _ver: Date.now() }])
  await check(atS(602))
  assert.deepEqual([await rolledUp('eth'), await gaps('eth')], [all(12), []])
})

test('a round that a crash interrupted is repeated once, whether or not the engine knows its inserts', async () => {
  const { store, died } = dyingAt(/INSERT INTO polygon_chain_state/)
  await fill('polygon', [0])
  for (const minute of [1, 2, 3]) {
    await addBlock('polygon', minute + 1, atS(minute), 2)
    await addTrades('polygon', { number: minute + 1, atS: atS(minute), to: 2 })
  }
  await setFinal('polygon', atS(3), 3)
  // The engine has forgotten the tokens of the first process, whose last statement never happened.
  const forgetful: Warehouse = {
    ...store,
    command: (sql, options) =>
      store.command(sql, options?.token ? { token: `first ${options.token}` } : options),
    insert: async (table, rows, options) => {
      if (table === 'polygon_chain_state') await store.command(`INSERT INTO ${table} VALUES`)
      await store.insert(table, rows, options)
    },
  }
  void runFinalization(forgetful, 'polygon')
  await died
  assert.deepEqual(await rolledUp('polygon'), all(12))
  // The next process dies while it takes out what the first left, before the hour is built again.
  const second = dyingAt(/INSERT INTO polygon_ohlc_1h/)
  void runFinalization(second.store, 'polygon', { mayFollowInterrupted: true })
  await second.died
  await setFinal('polygon', atS(4), 4)
  const finalizer = startFinalizer({
    chain: 'polygon',
    warehouse,
    log,
    idleMs: 1,
    mayRepair: () => false,
    isOnlyFinalizer: true,
  })
  try {
    await until(() => finalizer.last()?.hotFrom === atS(4), 'all are rolled up', 10_000)
  } finally {
    await finalizer.stop()
  }
  assert.deepEqual(await rolledUp('polygon'), all(16))
  assert.deepEqual(await gaps('polygon'), [])
})

test('roll-ups of an earlier process are checked by the next one, oldest first, more than one check repairs', async () => {
  const minutes = [...Array(7).keys(), 900]
  await fill('bsc', minutes)
  await loseCandles('bsc')
  await createRollupChecker({ chain: 'bsc', warehouse, log, checkMs: 0 })(atS(901))
  assert.notDeepEqual(await rolledUp('bsc'), all(4 * minutes.length), 'one check repairs a few')
  // Another process, which knows of the first only what it left in the tables.
  const again = createRollupChecker({ chain: 'bsc', warehouse, log, checkMs: 0 })
  await again(atS(901))
  assert.deepEqual(await rolledUp('bsc'), all(4 * minutes.length))
})

test('late trades of a minute that was closed while a lane was behind are taken in, in however many instalments', async () => {
  for (const minute of [0, 1]) await addBlock('base', minute + 1, atS(minute), 60)
  const first = { number: 1, atS: atS(0) }
  await addTrades('base', { ...first, to: 10 })
  await addTrades('base', { number: 2, atS: atS(1), to: 60 })
  await setFinal('base', atS(2))
  const finalizer = startFinalizer({
    chain: 'base',
    warehouse,
    log,
    idleMs: 10,
    checkMs: 10,
    graceMs: 50,
  })
  try {
    await until(() => finalizer.last()?.hotFrom === atS(2), 'the minute is closed without them')
    assert.equal((await gaps('base'))[0]?.reason, 'trades-missing')
    for (let from = 10; from < 60; from += 10) {
      await addTrades('base', { ...first, from, to: from + 10 })
      const sum = 2 * (from + 10 + 60)
      await until(
        async () => (await rolledUp('base')).every((count) => count === sum),
        `trades ${from} to ${from + 10}`,
        30_000,
      )
    }
    await until(async () => (await gaps('base')).length === 0, 'the mark is taken away')
  } finally {
    await finalizer.stop()
  }
})

test('a minute that no repair corrects is given up and stays marked, and others continue being repaired', async () => {
  await fill('arb', [0, 1])
  await loseCandles('arb')
  const told: string[] = []
  const metrics = makeMetrics()
  const broken: Warehouse = {
    ...warehouse,
    command: async (sql, options) => {
      if (!/^INSERT INTO arb_ohlc_1m/.test(sql) || !sql.includes(`(${START}, 3`))
        await warehouse.command(sql, options)
    },
  }
  const check = createRollupChecker({
    chain: 'arb',
    warehouse: broken,
    metrics,
    checkMs: 0,
    log: Object.assign(makeSilentLogger(), {
      error: (_facts: unknown, message?: string) => void told.push(message ?? ''),
    }),
  })
  for (let round = 0; round < 6; round += 1) await check(atS(2))
  assert.deepEqual(told, ['rollup of a minute still differs from its trades, giving up'])
  const { values } = await metrics.rollupRepairs.get()
  assert.equal(values[0]?.value, 4, 'three times the one, once the other')
  assert.deepEqual(
    (await gaps('arb')).map(({ minute, reason }) => [minute, reason]),
    [[START, 'differs']],
  )
})

test('an old gap is repaired when its trades arrive, for any number of newer gaps without trades', async () => {
  await addBlock('op', 1, START, 2)
  await addTrades('op', { number: 1, atS: START, to: 2 })
  const later = Array.from({ length: 250 }, (_, index) => atS(index + 1))
  await warehouse.insert(
    'op_rollup_gaps',
    [START, ...later].map((minute) => ({
      minute,
      announced_trades: 2,
      stored_trades: 0,
      reason: 'trades-missing',
      _ver: 1,
    })),
  )
  const [from, to] = [atS(400), atS(430)]
  const check = { warehouse, chain: 'op', from, to, nowMs: to * 1_000 }
  assert.deepEqual((await checkAndRepairRollups(check)).repaired, [START])
  let gapsAfter: number | null = null
  const ends: (number | null)[] = []
  for (let round = 0; round < 4; round += 1) {
    gapsAfter = (await checkAndRepairRollups({ ...check, gapsAfter })).gapsCheckedTo
    ends.push(gapsAfter)
  }
  assert.deepEqual(ends, [atS(100), atS(200), atS(250), null], 'all are looked at in turn')
})
