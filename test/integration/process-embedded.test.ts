import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import type { Bus, Writer } from '../../core/bus/contract.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import { openWarehouse, type Warehouse } from '../../core/clickhouse/client.ts'
import { applyTableRetention, migrate } from '../../core/clickhouse/migrate.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { PROCESS_PIPELINE } from '../../processors/process-pipeline.ts'
import { runFinalization } from '../../processors/rollups/finalizer.ts'
import { processorTopics, type RunningProcessors, startProcessors } from '../../processors/start.ts'
import { GLOBAL_TABLE_RETENTION, TABLE_RETENTION } from '../../schemas/table-retention.ts'
import { deadLetterTopic, topicName } from '../../schemas/topics.ts'
import { type BruteCandleTrade, bruteCandles } from '../support/brute-force/candles.ts'
import { publishTradeTape } from '../support/builders/publish-tape.ts'
import {
  buildTape,
  type ChainStep,
  type Tape,
  type TapeBlock,
  type TapeOp,
  type TapeTrade,
  tapeBlockEvent,
} from '../support/builders/trade-tape.ts'
import { isDrained } from '../support/is-drained.ts'
import { until } from '../support/until.ts'

const CONFIG = { partitions: 3, retention: 'off' } as const
const TOKENS = ['0xa1', '0xa2', '0xa3', '0xa4', '0xa5', '0xa6']
const START_MS = Date.UTC(2026, 2, 1, 10, 0, 7)

let folder = ''
let bus: Bus
let warehouse: Warehouse
let writer: Writer
const codec: Codec = localCodec()
const log = makeSilentLogger()

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-process-'))
  bus = await openEmbeddedBus({
    path: join(folder, 'log'),
    mapSizeBytes: 1_073_741_824,
    log,
    retention: 'off',
  })
  warehouse = await openWarehouse({ kind: 'embedded', path: join(folder, 'warehouse') })
  await bus.createTopics([
    ...topicSpecs({ chains: ['eth'], ...CONFIG }),
    ...processorTopics(['eth'], CONFIG),
  ])
  writer = await bus.writer('ingest.eth')
  await migrate(warehouse, ['eth'])
})

after(async () => {
  await bus.close()
  await warehouse.close()
  await rm(folder, { recursive: true, force: true })
})

/** Numbers that a seed decides. */
const numbers = (seed: number): ((below: number) => number) => {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Trades near two dollars; every twentieth is worth a hundredth of a cent, which the stage must call suspect. */
const tradeFrom = (next: (below: number) => number): TapeTrade => {
  const dust = next(20) === 0
  const baseRaw = BigInt(dust ? 50 : 1_000_000 + next(9_000_000))
  return {
    base: TOKENS[next(TOKENS.length)] ?? '0xa1',
    quote: '0xusdc',
    pool: next(2) === 0 ? '0xp1' : '0xp2',
    baseRaw,
    quoteRaw: (baseRaw * BigInt(190 + next(20))) / 100n,
    baseDecimals: 6,
    quoteDecimals: 6,
    buy: next(2) === 0,
    quoteUsd: '1',
    quoteNative: next(3) === 0 ? '' : '0.0004',
    suspect: dust,
  }
}

const courseFrom = (seed: number, length: number): readonly ChainStep[] => {
  const next = numbers(seed)
  return Array.from({ length }, (): ChainStep => {
    const what = next(12)
    if (what < 2) return { kind: 'revert' }
    if (what === 2) return { kind: 'finalize', keep: 3 }
    const trades = Array.from({ length: next(9) }, () => tradeFrom(next))
    return { kind: 'apply', stepMs: 12_000, trades }
  })
}

const tape: Tape = buildTape(
  [
    ...courseFrom(7, 160),
    { kind: 'apply', stepMs: 12_000, trades: [] },
    { kind: 'finalize', keep: 2 },
  ],
  START_MS,
)

interface StoredTrade {
  readonly block_hash: string
  readonly event_index: number
  readonly token: string
  readonly base_is_buy: number
  readonly amount: string
  readonly price_usd: number | null
  readonly amount_usd: string | null
  readonly amount_native: string | null
  readonly is_suspect: number
}

const storedTrades = async (): Promise<readonly StoredTrade[]> =>
  (
    await warehouse.query<StoredTrade>({
      sql: `SELECT block_hash, event_index, if(base_is_buy, buy_token, sell_token) AS token, base_is_buy,
  toString(if(base_is_buy, buy_amount, sell_amount)) AS amount, if(base_is_buy, buy_price_usd, sell_price_usd) AS price_usd,
  toString(buy_amount_usd) AS amount_usd, toString(buy_amount_native) AS amount_native, is_suspect
  FROM eth_dex_trades FINAL ORDER BY block_slot, event_index`,
    })
  ).rows

const expectedTrade = (block: TapeBlock, trade: TapeTrade, index: number): StoredTrade => {
  const [base, quote] = [Number(trade.baseRaw) / 1e6, Number(trade.quoteRaw) / 1e6]
  return {
    block_hash: block.hash,
    event_index: index,
    token: trade.base,
    base_is_buy: trade.buy ? 1 : 0,
    amount: String(trade.baseRaw),
    price_usd: quote / base,
    amount_usd: String(quote),
    amount_native:
      trade.quoteNative === '' ? null : (quote * 0.0004).toFixed(12).replace(/\.?0+$/, ''),
    is_suspect: trade.suspect ? 1 : 0,
  }
}

const expectedTrades = ({ blocks }: Tape): readonly StoredTrade[] =>
  blocks.flatMap((block) => block.trades.map((trade, index) => expectedTrade(block, trade, index)))

const bruteTrades = ({ blocks }: Tape): readonly BruteCandleTrade[] =>
  blocks.flatMap((block) =>
    block.trades.map((trade) => {
      const [base, quote] = [Number(trade.baseRaw) / 1e6, Number(trade.quoteRaw) / 1e6]
      return {
        timeMs: block.timeMs,
        base: trade.base,
        quote: trade.quote,
        pool: trade.pool,
        buy: trade.buy,
        suspect: trade.suspect,
        priceUsd: quote / base,
        priceNative: null,
        valueUsd: quote,
        valueNative: 0,
        volumeRaw: trade.baseRaw,
      }
    }),
  )

interface StoredCandle {
  readonly token_address: string
  readonly pool_address: string
  readonly minute: number
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  readonly volume: string
  readonly trades: string
  readonly buys: string
  readonly is_base: number
}

/** Pool candles of a minute: those of the view, whatever is rolled up of them. */
const checkMinuteView = async (): Promise<void> => {
  const { rows } = await warehouse.query<StoredCandle>({
    sql: `SELECT token_address, pool_address, toUnixTimestamp(bucket) AS minute, open, high, low, close, toString(volume) AS volume,
  trades, buys, is_base FROM eth_ohlc_mv WHERE token_address != '0xusdc'`,
  })
  const shown = new Map(
    rows.map((row) => [
      `POOL_ADDRESS|${row.token_address}|${row.pool_address}|1m|${row.minute * 1_000}`,
      row,
    ]),
  )
  const expected = [...bruteCandles(bruteTrades(tape))].filter(([key]) =>
    /^POOL.*\|1m\|\d+$/.test(key),
  )
  assert.equal(shown.size, expected.length)
  for (const [key, candle] of expected) {
    const row = shown.get(key)
    assert.ok(row, key)
    assert.deepEqual(
      [row.open, row.high, row.low, row.close, row.volume, Number(row.trades), Number(row.buys)],
      [
        candle.open,
        candle.high,
        candle.low,
        candle.close,
        String(candle.volumeRaw),
        candle.trades,
        candle.buys,
      ],
      key,
    )
    assert.equal(row.is_base, 1)
  }
}

const running = new Set<RunningProcessors>()

const start = async (store: Warehouse, metrics = makeMetrics()): Promise<RunningProcessors> => {
  const processors = await startProcessors({
    chains: ['eth'],
    bus,
    codec,
    warehouse: store,
    config: CONFIG,
    metrics,
    log,
  })
  running.add(processors)
  return processors
}

afterEach(async () => {
  for (const processors of running) await processors.stop()
  running.clear()
})

/** Every third insert is done but its answer is lost, every fifth never arrives. */
const troubled = (store: Warehouse): Warehouse & { readonly outages: () => number } => {
  let inserts = 0
  let outages = 0
  const fail = (): never => {
    outages += 1
    throw new Outage('warehouse', 'injected')
  }
  return {
    ...store,
    outages: () => outages,
    insert: async (table, rows, options) => {
      inserts += 1
      if (inserts % 5 === 0) fail()
      await store.insert(table, rows, options)
      if (inserts % 3 === 0) fail()
    },
    command: async (sql, options) => {
      await store.command(sql, options)
      if (sql.startsWith('INSERT') && outages % 2 === 0) fail()
    },
  }
}

test('tables equal a brute-force computation: through reorgs, interruptions and a failing warehouse', async () => {
  const half = Math.floor(tape.ops.length / 2)
  const store = troubled(warehouse)
  const first = await start(store)
  await publishTradeTape({ bus, codec, writer }, tape.ops.slice(0, half))
  await until(
    () => first.status().groups['process.eth']?.some(({ seq }) => (seq ?? 0) > half / 2),
    'the first half is under way',
  )
  await first.stop()
  await publishTradeTape({ bus, codec, writer }, tape.ops.slice(half))
  const second = await start(store)
  await until(() => isDrained(bus, second, tape.ops.length), 'everything is stored', 60_000)
  assert.deepEqual(await storedTrades(), expectedTrades(tape))
  const wanted = Math.floor(
    (tape.blocks.find(({ height }) => height === tape.finalHeight)?.timeMs ?? 0) / 60_000,
  )
  await until(
    () => second.status().finalized.eth?.hotFrom === wanted * 60,
    'every final minute is rolled up',
    120_000,
  )
  await second.stop()
  // One inserter writes few and large statements: how many there are depends on the machine.
  assert.ok(store.outages() > 2, `the warehouse failed ${store.outages()} times`)
  await checkMinuteView()
})

test('a rolled-up minute is counted once, however often it is finalized', async () => {
  const counts = async () =>
    (
      await warehouse.query({
        sql: `SELECT sum(trades) AS trades, sum(volume) AS volume FROM eth_ohlc_1m`,
      })
    ).rows
  const before = await counts()
  await warehouse.command(
    "ALTER TABLE eth_chain_state DELETE WHERE key = 'rollup' SETTINGS mutations_sync = 2",
  )
  await checkMinuteView()
  const round = await runFinalization(warehouse, 'eth', { mayFollowInterrupted: true })
  assert.ok(round.minutes > 3)
  assert.deepEqual(await counts(), before)
  await checkMinuteView()
})

test('migrations can be repeated', async () => {
  await migrate(warehouse, ['eth'])
  const { rows } = await warehouse.query<{ n: string }>({
    sql: 'SELECT count() AS n, uniqExact(name) AS files FROM migrations',
  })
  const files = String((await readdir('schemas/tables')).length)
  assert.deepEqual(rows, [{ n: files, files }])
})

test('table retention is a setting: the default sets the days of each table, off removes them', async () => {
  const limited = async (): Promise<readonly string[]> =>
    (
      await warehouse.query<{ name: string }>({
        sql: "SELECT name FROM system.tables WHERE engine_full LIKE '% TTL %' ORDER BY name",
      })
    ).rows.map(({ name }) => name)
  const trades = async () => (await storedTrades()).length
  const before = await trades()
  assert.deepEqual(await limited(), [])
  await applyTableRetention(warehouse, ['eth'], 'contract')
  const wanted = [
    ...TABLE_RETENTION.map(({ table }) => `eth_${table}`),
    ...GLOBAL_TABLE_RETENTION.map(({ table }) => table),
  ]
  assert.deepEqual(await limited(), wanted.toSorted())
  await applyTableRetention(warehouse, ['eth'], 'contract')
  await applyTableRetention(warehouse, ['eth'], 'off')
  assert.deepEqual(await limited(), [])
  assert.equal(await trades(), before)
})

test('an undecodable record is sent to the dead letters of its readers and stops the roll-up of its minute only', async () => {
  const next = numbers(3)
  const trades = Array.from({ length: 12 }, () => ({ ...tradeFrom(next), suspect: false }))
  const tip = tape.blocks.at(-1)
  const lastSeq = tape.ops.length
  const block: TapeBlock = {
    height: (tip?.height ?? 0) + 1,
    hash: '0xundecodable',
    parent: tip?.hash ?? '',
    timeMs: (tip?.timeMs ?? 0) + 120_000,
    trades,
  }
  const later: TapeBlock = {
    height: block.height + 1,
    hash: '0xlater',
    parent: block.hash,
    timeMs: block.timeMs + 240_000,
    trades,
  }
  const ops = [
    { op: 'apply', seq: lastSeq + 1, block, finalHeight: tape.finalHeight },
    { op: 'apply', seq: lastSeq + 2, block: later, finalHeight: tape.finalHeight },
    { op: 'finalize', seq: lastSeq + 3, block: later, finalHeight: later.height },
  ] as const
  let spoiled = 0
  await publishTradeTape({ bus, codec, writer }, ops, (record, op) => {
    if (op.block.hash !== '0xundecodable' || spoiled > 0) return record
    spoiled += 1
    return { ...record, value: Buffer.from('no avro') }
  })
  const processors = await start(warehouse)
  const letters = async (): Promise<number> => {
    const ends = await bus.ends(deadLetterTopic('process.eth'))
    return ends.reduce((sum, { low, end }) => sum + end - low, 0)
  }
  await until(async () => (await letters()) === 1, 'the dead letter')
  await until(
    () => processors.status().groups['process.eth']?.every(({ seq }) => seq === lastSeq + 3),
    'the lanes continue',
    30_000,
  )
  const minute = Math.floor(block.timeMs / 60_000) * 60
  await until(
    () => processors.status().finalized.eth?.waitingFor === minute,
    'the finalizer waits for the minute of the undecodable record',
    30_000,
  )
  await processors.stop()
  for (const { partition, low } of await bus.ends(deadLetterTopic('process.eth'))) {
    for await (const { headers, value } of bus.read(
      deadLetterTopic('process.eth'),
      partition,
      low,
    )) {
      assert.equal(Buffer.from(value ?? []).toString(), 'no avro')
      assert.equal(headers['dlq.topic'], topicName('trades', 'eth'))
      assert.equal(headers['dlq.error.class']?.startsWith('InvalidInput.'), true)
    }
  }
})

test('a lane with a gap in its operations is halted with that reason', async () => {
  const blocks = topicName('blocks', 'eth')
  const op: TapeOp = {
    op: 'apply',
    seq: 10_000,
    block: { height: 10_000, hash: '0xgap', parent: '', timeMs: START_MS, trades: [] },
    finalHeight: 0,
  }
  const value = codec.encode('block.BlockEvent', tapeBlockEvent(op))
  await writer.commit({ records: [{ topic: blocks, partition: 0, key: 'eth', value }] })
  const metrics = makeMetrics()
  const processors = await start(warehouse, metrics)
  const halted = () => {
    const lanes = processors.status().groups[`${PROCESS_PIPELINE.app}.eth`] ?? []
    return (
      lanes.length === CONFIG.partitions &&
      lanes.every(({ halted: why }) => why?.startsWith('gap: eth.blocks: operation 10000') === true)
    )
  }
  await until(halted, 'every lane says why', 30_000)
  const stopped = (await metrics.registry.getSingleMetric('sluice_halted_partitions')?.get())
    ?.values
  const group = `${PROCESS_PIPELINE.app}.eth`
  assert.deepEqual(
    stopped?.find(({ labels }) => labels.group === group),
    { labels: { group, reason: 'invalid-input' }, value: CONFIG.partitions },
  )
  await processors.stop()
})
