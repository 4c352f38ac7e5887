import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import { topicSpecs } from '../../core/bus/topic-specs.ts'
import type { JsonLines, Warehouse } from '../../core/clickhouse/client.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { Outage } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { type BatchRows, batchRows } from '../../processors/sinks/batch-rows.ts'
import { createInserter, type Inserter } from '../../processors/sinks/inserter.ts'
import {
  type SinkDeps,
  sinkConcurrency,
  sinkGroup,
  startSink,
} from '../../processors/sinks/runner.ts'
import { SINKS } from '../../processors/sinks/tables.ts'
import { topicName } from '../../schemas/topics.ts'
import { tapeMeta } from '../support/builders/trade-tape.ts'
import { until } from '../support/until.ts'

const PARTITIONS = 16
const TOPIC = 'tokenPrices'
const [codec, log] = [localCodec(), makeSilentLogger()]
const folder = mkdtempSync(join(tmpdir(), 'sluice-sinks-'))
const bus = await openEmbeddedBus({
  path: join(folder, 'log'),
  mapSizeBytes: 268_435_456,
  retention: 'off',
  log,
})
await bus.createTopics(
  topicSpecs({ chains: ['eth', 'bsc'], partitions: PARTITIONS, retention: 'off' }),
)
after(async () => {
  await bus.close()
  rmSync(folder, { recursive: true, force: true })
})

const sink = SINKS.find(({ topic }) => topic === TOPIC)
assert.ok(sink)

/** An address that makes a record so long that its batch is a large one. */
const LARGE = '0xaaa'.padEnd(100_000, 'a')

/** A price in every partition of a chain. */
const publishPrices = async (chain: string, usd: string, address = '0xaaa'): Promise<void> => {
  const writer = await bus.writer(`test.${chain}`)
  const block = { height: 1, hash: '0xb1', parent: '0xb0', timeMs: 1_700_000_000_000, trades: [] }
  const value = codec.encode('token.price.TokenPriceEvents', {
    meta: tapeMeta({ op: 'apply', seq: 1, block, finalHeight: 0 }),
    events: [{ token_price: { token_address: address, price_in_usd: usd, price_in_native: '1' } }],
  })
  const records = Array.from({ length: PARTITIONS }, (_, partition) => ({
    topic: topicName(TOPIC, chain),
    partition,
    key: '0xaaa',
    value,
  }))
  await writer.commit({ records })
}

const committed = async (chain: string): Promise<number> => {
  const topic = topicName(TOPIC, chain)
  const offsets = await bus.offsets(sinkGroup(sink, chain), [topic])
  return offsets.filter(({ offset }) => offset > 0).length
}

const makeRows: SinkDeps['makeRows'] = async (_topic, values) => batchRows(codec, sink, values)

test('large batches are made into rows at most as many at a time as the concurrency limit, over all sinks', async () => {
  let [now, most] = [0, 0]
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const inserter: Inserter = {
    insert: async () => {
      await gate
      now -= 1
    },
  }
  const counted = async (...order: Parameters<typeof makeRows>): Promise<BatchRows> => {
    now += 1
    most = Math.max(most, now)
    return makeRows(...order)
  }
  const insertLimit = sinkConcurrency()
  const deps = { bus, inserter, insertLimit, makeRows: counted, metrics: makeMetrics(), log }
  const sinks = [
    await startSink(sink, { ...deps, chain: 'eth' }),
    await startSink(sink, { ...deps, chain: 'bsc' }),
  ]
  try {
    await publishPrices('eth', '1', LARGE)
    await publishPrices('bsc', '1', LARGE)
    await until(
      () => insertLimit.pendingCount > 0 && now === insertLimit.concurrency,
      'every place is taken, and batches wait for one',
    )
    open()
    await until(async () => (await committed('eth')) + (await committed('bsc')) === 2 * PARTITIONS)
    assert.equal(most, insertLimit.concurrency)
  } finally {
    for (const running of sinks) await running.stop()
  }
})

test('batches that the lanes of a sink have at the same time are inserted in one statement', async () => {
  const statements: { readonly rows: number; readonly token: string }[] = []
  const warehouse: Pick<Warehouse, 'insert'> = {
    insert: async (_table, rows, options) => {
      statements.push({ rows: (rows as JsonLines).count, token: options?.token ?? '' })
    },
  }
  const metrics = makeMetrics()
  const deps = {
    inserter: createInserter({ warehouse, metrics }),
    insertLimit: sinkConcurrency(),
    makeRows,
  }
  const running = await startSink(sink, { ...deps, bus, metrics, log, chain: 'eth' })
  const written = () => statements.reduce((sum, { rows }) => sum + rows, 0)
  try {
    for (const usd of ['3', '4']) {
      const before = statements.length
      await publishPrices('eth', usd)
      await until(() => written() >= PARTITIONS * (Number(usd) - 2))
      const few = statements.length - before
      assert.ok(few <= PARTITIONS / 4, `${few} statements for ${PARTITIONS} lanes`)
    }
    assert.equal(written(), 2 * PARTITIONS)
    assert.equal(new Set(statements.map(({ token }) => token)).size, statements.length)
  } finally {
    await running.stop()
  }
})

test('a table whose inserts fail does not delay the inserts of other tables', async () => {
  let refused = 0
  const warehouse = {
    insert: async (table: string) => {
      if (table.startsWith('bsc_')) return
      refused += 1
      throw new Outage('warehouse', 'injected')
    },
  } as unknown as Warehouse
  const metrics = makeMetrics()
  const inserter = createInserter({ warehouse, metrics })
  const deps = { bus, inserter, insertLimit: sinkConcurrency(), makeRows, metrics, log }
  const offsetsOf = (chain: string) =>
    bus.offsets(sinkGroup(sink, chain), [topicName(TOPIC, chain)])
  const before = await offsetsOf('eth')
  const ethereum = await startSink(sink, { ...deps, chain: 'eth' })
  await publishPrices('eth', '2')
  await until(() => refused > PARTITIONS, 'every lane of the one was refused')
  const bnb = await startSink(sink, { ...deps, chain: 'bsc' })
  try {
    await publishPrices('bsc', '2')
    const ends = (await bus.ends(topicName(TOPIC, 'bsc'))).map(({ end }) => end)
    await until(
      async () =>
        (await offsetsOf('bsc')).filter(({ partition, offset }) => offset === ends[partition])
          .length === PARTITIONS,
      'the other is through',
    )
    assert.deepEqual(await offsetsOf('eth'), before, 'what was not stored is not committed')
  } finally {
    await ethereum.stop()
    await bnb.stop()
  }
})
