import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import {
  type DeadLetterEntry,
  listDeadLetters,
  replayDeadLetters,
} from '../../cli/app/dead-letters.ts'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { deadLetterSpec, topicSpecs } from '../../core/bus/topic-specs.ts'
import { openWarehouse } from '../../core/clickhouse/client.ts'
import { migrate } from '../../core/clickhouse/migrate.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { InvalidInput } from '../../core/errors.ts'
import { type Logger, makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { batchRows } from '../../processors/sinks/batch-rows.ts'
import type { Row } from '../../processors/sinks/columns.ts'
import { createInserter } from '../../processors/sinks/inserter.ts'
import { sinkConcurrency, sinkGroup, startSink } from '../../processors/sinks/runner.ts'
import { SINKS, type Sink } from '../../processors/sinks/tables.ts'
import { type Topic, topicName } from '../../schemas/topics.ts'
import type { TradeStatEvent } from '../../schemas/wire.ts'
import { tapeMeta } from '../support/builders/trade-tape.ts'
import { createCapturedLogger } from '../support/captured-logger.ts'
import { until } from '../support/until.ts'

const CHAINS = ['eth', 'bsc', 'base', 'arb', 'op', 'polygon', 'sol', 'avax']
const [codec, log] = [localCodec(), makeSilentLogger()]
const folder = mkdtempSync(join(tmpdir(), 'sluice-refused-'))
const bus = await openEmbeddedBus({
  path: join(folder, 'log'),
  mapSizeBytes: 268_435_456,
  retention: 'off',
  log,
})
const warehouse = await openWarehouse({ kind: 'embedded', path: join(folder, 'tables') })
await migrate(warehouse, CHAINS)
await bus.createTopics(topicSpecs({ chains: CHAINS, partitions: 1, retention: 'off' }))
after(async () => {
  await warehouse.close()
  await bus.close()
  rmSync(folder, { recursive: true, force: true })
})

const sinkOf = (topic: Topic): Sink => {
  const sink = SINKS.find((each) => each.topic === topic)
  assert.ok(sink)
  return sink
}

const VOLUME = { buy_volume: '1', sell_volume: '0', buy_volume_in_native: '0' }
const VALUES = { ...VOLUME, sell_volume_in_native: '0', sell_volume_in_usd: '0' }

const statRecord = (token: string, usd: string, seq: number) => {
  const block = { height: seq, hash: `0xb${seq}`, parent: '', timeMs: seq, trades: [] }
  const event: Partial<TradeStatEvent> = {
    token_address: token,
    resolution: '24h',
    timestamp: '1700000000000',
    version: seq,
    buys: 102,
    ...VALUES,
    buy_volume_in_usd: usd,
  }
  const meta = tapeMeta({ op: 'apply', seq, block, finalHeight: 0 })
  return {
    topic: 'tradeStats' as const,
    key: token,
    headers: { seq: String(seq), part: '0/1' },
    value: codec.encode('trade.stat.TradeStatEvents', { meta, events: [event] }),
  }
}

type MadeRecord = ReturnType<typeof statRecord>

const publish = async (chain: string, records: readonly MadeRecord[]): Promise<void> => {
  const writer = await bus.writer(`test.${chain}`)
  await writer.commit({
    records: records.map(({ topic, ...record }) => ({
      topic: topicName(topic, chain),
      partition: 0,
      ...record,
    })),
  })
}

const started = async (sink: Sink, chain: string, logOfSink: Logger = log) => {
  const metrics = makeMetrics()
  const group = sinkGroup(sink, chain)
  const topic = topicName(sink.topic, chain)
  await bus.createTopics([deadLetterSpec(`dlq.${group}`, 'off')])
  const running = await startSink(sink, {
    chain,
    bus,
    metrics,
    log: logOfSink,
    insertLimit: sinkConcurrency(),
    inserter: createInserter({ warehouse, metrics }),
    makeRows: async (_topic, values) => batchRows(codec, sink, values),
  })
  const isThrough = async () => {
    const [[at], [end]] = [await bus.offsets(group, [topic]), await bus.ends(topic)]
    return at?.offset === end?.end
  }
  return { running, metrics, group, isThrough }
}

const letters = async (group: string): Promise<readonly DeadLetterEntry[]> => {
  const found: DeadLetterEntry[] = []
  for await (const letter of listDeadLetters({ bus, group, limit: 100 })) found.push(letter)
  return found
}

const stats = async (chain: string) =>
  (
    await warehouse.query<{ token: string; usd: string }>({
      sql: `SELECT token_address AS token, toString(buy_volume_usd) AS usd FROM ${chain}_token_stats FINAL ORDER BY token`,
    })
  ).rows

test('a volume beyond its column is stored as the largest that the column holds', async () => {
  const { running, group, isThrough } = await started(sinkOf('tradeStats'), 'eth')
  try {
    const records = [
      statRecord('bad', '100980000000000000000000000', 1),
      statRecord('good', '5', 2),
    ]
    await publish('eth', records)
    await until(isThrough, 'the batch is through')
    assert.deepEqual(await stats('eth'), [
      { token: 'bad', usd: '99999999999999999999999999.999999999999' },
      { token: 'good', usd: '5' },
    ])
    assert.deepEqual(await letters(group), [])
  } finally {
    await running.stop()
  }
})

/** The sink of statistics as it would be if it knew no bounds. */
const unbounded = (isFixed: () => boolean): Sink => {
  const sink = sinkOf('tradeStats')
  return {
    topic: 'tradeStats',
    map: (codecOfSink, bytes) => {
      const made = sink.map(codecOfSink, bytes)
      const spoilt = (row: Row): Row =>
        isFixed() || !String(row.token_address).startsWith('bad')
          ? row
          : { ...row, buy_volume_usd: `1${'0'.repeat(40)}` }
      return {
        ...made,
        tables: made.tables.map(({ table, rows }) => ({ table, rows: rows.map(spoilt) })),
      }
    },
  }
}

test('records that ClickHouse rejects become dead letters, the others are stored, and a replay stores them after a fix', async () => {
  let fixed = false
  const sink = unbounded(() => fixed)
  const { running, metrics, group, isThrough } = await started(sink, 'bsc')
  try {
    const names = Array.from({ length: 64 }, (_, index) =>
      index === 17 || index === 40 ? `bad${index}` : `good${index}`,
    )
    await publish(
      'bsc',
      names.map((name, index) => statRecord(name, '7', index + 1)),
    )
    await until(isThrough, 'the batch is through')
    const good = names.filter((name) => name.startsWith('good'))
    assert.deepEqual(
      (await stats('bsc')).map(({ token }) => token),
      good.toSorted(),
    )
    const found = await letters(group)
    assert.deepEqual(
      found.map(({ source, stage, error, stays }) => [source.offset, stage, error, stays]),
      [17, 40].map((offset) => [offset, 'insert', 'InvalidInput.refused-by-store', null]),
    )
    assert.match(found[0]?.message ?? '', /decimal/i)
    const dropped = await metrics.eventsDropped.get()
    assert.deepEqual(
      dropped.values.map(({ value, labels }) => [value, labels.stage, labels.reason]),
      [[2, 'sink', 'refused-by-store']],
    )
    fixed = true
    assert.equal((await replayDeadLetters({ bus, group, limit: 100 })).published, 2)
    await until(async () => (await stats('bsc')).length === names.length, 'both are stored')
    assert.ok((await letters(group)).every(({ replayed }) => replayed))
  } finally {
    await running.stop()
  }
})

test('rows of a table that lacks a column wait for it: nothing is dropped, and nothing becomes a dead letter', async () => {
  await warehouse.command('ALTER TABLE op_token_stats DROP COLUMN buys')
  const { running, group, isThrough } = await started(sinkOf('tradeStats'), 'op')
  try {
    await publish('op', [statRecord('a', '5', 1), statRecord('b', '5', 2)])
    await until(() => running.failing?.().length === 1, 'the lane says why it waits')
    assert.match(running.failing?.()[0]?.error ?? '', /table op_token_stats lacks column buys/)
    assert.deepEqual([await stats('op'), await letters(group)], [[], []])
    await warehouse.command('ALTER TABLE op_token_stats ADD COLUMN buys UInt64')
    await until(isThrough, 'the batch is through', 30_000)
    const { rows } = await warehouse.query({
      sql: 'SELECT toUInt32(buys) AS n FROM op_token_stats',
    })
    assert.deepEqual(rows, [{ n: 102 }, { n: 102 }])
  } finally {
    await running.stop()
  }
})

test('the insert of the same records has the same token, and another one once the topic was made anew', async () => {
  const sink = sinkOf('tradeStats')
  const topic = topicName(sink.topic, 'polygon')
  const tokenIn = async (life: string): Promise<string> => {
    const tokens: string[] = []
    const metrics = makeMetrics()
    const insert = async (_table: string, { token }: { readonly token: string }) => {
      tokens.push(token)
      throw new Error('away')
    }
    const running = await startSink(sink, {
      chain: 'polygon',
      metrics,
      log,
      insertLimit: sinkConcurrency(),
      inserter: { insert },
      bus: { ...bus, life: async (name) => `${life}/${name}` },
      makeRows: async (_topic, values) => batchRows(codec, sink, values),
    })
    await until(() => tokens.length > 0, 'an insert is tried')
    await running.stop()
    return tokens[0] ?? ''
  }
  await publish('polygon', [statRecord('a', '5', 1)])
  assert.equal((await bus.ends(topic))[0]?.end, 1)
  const [first, same, other] = [await tokenIn('1'), await tokenIn('1'), await tokenIn('2')]
  assert.equal(first, same)
  assert.notEqual(first, other)
})

test('a transient insert error is retried and counted, sets nothing aside, and is reported with the time of its first failure', async () => {
  const { running, metrics, group, isThrough } = await started(sinkOf('tradeStats'), 'base')
  try {
    await warehouse.command('RENAME TABLE base_token_stats TO base_token_stats_away')
    await publish('base', [statRecord('one', '1', 1)])
    const failing = await until(() => running.failing?.()[0], 'the lane says that it fails')
    assert.equal(failing.partition, 0)
    assert.ok(failing.sinceMs <= Date.now())
    assert.match(failing.error, /base_token_stats/)
    const since = failing.sinceMs
    await until(async () => (await metrics.sinkRetries.get()).values[0]?.value === 2, 'two tries')
    assert.equal(running.failing?.()[0]?.sinceMs, since, 'the first failure counts')
    const [count] = (await metrics.sinkRetries.get()).values
    assert.deepEqual(count?.labels, { group, reason: 'UNKNOWN_TABLE' })
    await warehouse.command('RENAME TABLE base_token_stats_away TO base_token_stats')
    await until(isThrough, 'the batch is through')
    assert.deepEqual(running.failing?.(), [])
    assert.deepEqual(await stats('base'), [{ token: 'one', usd: '1' }])
    assert.deepEqual(await letters(group), [])
  } finally {
    await running.stop()
  }
})

const DAY_MS = 86_400_000

test('a batch over more days than one insert may touch is stored in several', async () => {
  const days: Sink = {
    topic: 'tradeStats',
    map: (codecOfSink, bytes) => {
      const { meta, events } = codecOfSink.decode('trade.stat.TradeStatEvents', bytes)
      const rows = events.map(({ version, token_address }) => ({
        owner: 'me',
        token_address,
        event_index: version,
        block_time: new Date(version * DAY_MS).toISOString(),
      }))
      return { meta, tables: [{ table: 'balance_updates', rows }] }
    },
  }
  const { running, group, isThrough } = await started(days, 'arb')
  try {
    const count = 150
    await publish(
      'arb',
      Array.from({ length: count }, (_, index) => statRecord(`t${index}`, '1', index + 1)),
    )
    await until(isThrough, 'the batch is through')
    const sql = 'SELECT toUInt32(count()) AS n FROM arb_balance_updates FINAL'
    assert.deepEqual((await warehouse.query({ sql })).rows, [{ n: count }])
    assert.deepEqual(await letters(group), [])
  } finally {
    await running.stop()
  }
})

/** The sink of statistics with something wrong in how it makes rows of the token `x`. */
const failingAt = (fail: () => void): Sink => {
  const sink = sinkOf('tradeStats')
  return {
    topic: 'tradeStats',
    map: (codecOfSink, bytes) => {
      const { events } = codecOfSink.decode('trade.stat.TradeStatEvents', bytes)
      if (events.some(({ token_address }) => token_address === 'x')) fail()
      return sink.map(codecOfSink, bytes)
    },
  }
}

test('a record that a mapper calls invalid becomes a dead letter', async () => {
  const invalid = failingAt(() => {
    throw new InvalidInput('amount', 'not a whole number')
  })
  const { running, group, isThrough } = await started(invalid, 'sol')
  try {
    await publish('sol', [statRecord('12', '1', 1), statRecord('x', '1', 2)])
    await until(isThrough, 'the batch is through')
    assert.deepEqual(
      (await letters(group)).map(({ source, error }) => [source.offset, error]),
      [[1, 'InvalidInput.amount']],
    )
  } finally {
    await running.stop()
  }
})

test('a bug in a mapper puts nothing aside: the lane fails with the error and its stack, and continues without the bug', async () => {
  let fixed = false
  const buggy = failingAt(() => {
    if (!fixed) throw new TypeError('row is not iterable')
  })
  const captured = createCapturedLogger()
  const { running, metrics, group, isThrough } = await started(buggy, 'avax', captured.log)
  try {
    await publish('avax', [statRecord('12', '1', 1), statRecord('x', '1', 2)])
    const failing = await until(() => running.failing?.()[0], 'the lane says that it fails')
    assert.equal(failing.error, 'row is not iterable')
    const [line] = captured.lines
    assert.equal(line?.message, 'batch was not stored, retrying same batch')
    const { err } = line.facts
    assert.ok(err instanceof TypeError)
    assert.match(err.stack ?? '', /sinks-refused\.test/)
    assert.deepEqual([await letters(group), await stats('avax')], [[], []])
    assert.deepEqual((await metrics.eventsDropped.get()).values, [])
    fixed = true
    await until(isThrough, 'the batch is through', 30_000)
    assert.deepEqual(
      (await stats('avax')).map(({ token }) => token),
      ['12', 'x'],
    )
    assert.deepEqual(await letters(group), [])
  } finally {
    await running.stop()
  }
})
