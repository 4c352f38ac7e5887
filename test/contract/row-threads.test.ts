import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { type BatchRows, batchRows } from '../../processors/sinks/batch-rows.ts'
import { openRowWorkerPool } from '../../processors/sinks/row-worker-pool.ts'
import { SINKS } from '../../processors/sinks/tables.ts'
import type { Topic } from '../../schemas/topics.ts'
import {
  type TapeBlock,
  tapeBlockEvent,
  tapeMeta,
  tapeTradeEvent,
} from '../support/builders/trade-tape.ts'
import { createCapturedLogger } from '../support/captured-logger.ts'
import { freePort } from '../support/ports.ts'
import { until } from '../support/until.ts'

const codec = localCodec()
const threads = openRowWorkerPool({ registry: null }, makeSilentLogger())
after(() => threads.close())

const blockAt = (height: number): TapeBlock => ({
  height,
  hash: `0xb${height}`,
  parent: `0xb${height - 1}`,
  timeMs: 1_700_000_000_000 + height * 1_000,
  trades: ['0xaaa', '0xbbb'].map((base) => ({
    base,
    quote: '0xweth',
    pool: `${base}-pool`,
    baseRaw: 3_000_000n,
    quoteRaw: 5n * 10n ** 17n,
    baseDecimals: 6,
    quoteDecimals: 18,
    buy: true,
    quoteUsd: '2000',
    quoteNative: '1',
    suspect: false,
  })),
})

const operationAt = (height: number) =>
  ({ op: 'apply', seq: height, block: blockAt(height), finalHeight: 0 }) as const

const blockBytes = (height: number): Buffer =>
  codec.encode('block.BlockEvent', tapeBlockEvent(operationAt(height)))

const tradeBytes = (height: number): Buffer =>
  codec.encode('dex.trade.TradeEvents', {
    meta: tapeMeta(operationAt(height)),
    events: [0, 1].map((index) => tapeTradeEvent(blockAt(height), index)),
  })

const rowsHere = (topic: Topic, values: readonly (Uint8Array | null)[]): BatchRows => {
  const sink = SINKS.find((one) => one.topic === topic)
  assert.ok(sink)
  return batchRows(codec, sink, values)
}

const parsed = (rows: BatchRows | undefined, table: string): readonly Record<string, unknown>[] =>
  (rows?.tables.find((one) => one.table === table)?.text ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

test('a row thread makes the same rows as the main thread, for many batches at a time', async () => {
  const batches = Array.from({ length: 20 }, (_, index) => [
    tradeBytes(index),
    tradeBytes(index + 1),
  ])
  const made = await Promise.all(batches.map((batch) => threads.makeRows('tradesProcessed', batch)))
  for (const [index, batch] of batches.entries()) {
    assert.deepEqual(made[index], rowsHere('tradesProcessed', batch))
  }
  const rows = parsed(made[7], 'dex_trades')
  assert.deepEqual(
    rows.map(({ block_height }) => block_height),
    [7, 7, 8, 8],
  )
  assert.equal(made[7]?.tables[0]?.count, 4)
})

test('a row thread leaves the bytes of the bus unchanged', async () => {
  const [first, second] = [blockBytes(1), blockBytes(2)]
  const before = Buffer.concat([first, second])
  await threads.makeRows('blocks', [first, second])
  assert.deepEqual(Buffer.concat([first, second]), before)
})

test('records that cannot be decoded are reported by index and reason, and the rest becomes rows', async () => {
  const values = [blockBytes(1), Buffer.from('no avro'), null, blockBytes(2)]
  const made = await threads.makeRows('blocks', values)
  assert.deepEqual(
    made.refused.map(({ index, reason }) => [index, reason]),
    [
      [1, 'bad-frame'],
      [2, 'tombstone'],
    ],
  )
  assert.equal(parsed(made, 'blocks').length, 2)
  assert.equal(made.newest?.height, 2)
})

test('a batch without a readable record has no rows and no newest record', async () => {
  const made = await threads.makeRows('blocks', [Buffer.from('no avro')])
  assert.deepEqual([made.tables, made.newest], [[], null])
})

test('a newest state is written once per subject, as the batch left it', async () => {
  const priced = (usd: string, part: number): Buffer =>
    codec.encode('token.price.TokenPriceEvents', {
      meta: tapeMeta(operationAt(5), part, 2),
      events: [
        { token_price: { token_address: '0xaaa', price_in_usd: usd, price_in_native: '1' } },
      ],
    })
  const made = await threads.makeRows('tokenPrices', [priced('1', 0), priced('2', 1)])
  assert.deepEqual(
    parsed(made, 'token_prices').map(({ price_usd }) => price_usd),
    [2],
  )
  assert.deepEqual(made, rowsHere('tokenPrices', [priced('1', 0), priced('2', 1)]))
})

test('makeRows rejects a topic that no sink reads', async () => {
  await assert.rejects(threads.makeRows('candlesticks', [blockBytes(1)]), /no sink reads/)
})

test('a registry that does not answer is an Outage of each batch, and is requested again for the next one', async () => {
  const port = await freePort()
  const apart = openRowWorkerPool(
    { registry: { url: `http://127.0.0.1:${port}` } },
    makeSilentLogger(),
  )
  try {
    for (const height of [1, 2]) {
      await assert.rejects(apart.makeRows('blocks', [blockBytes(height)]), {
        name: 'Outage',
        of: 'registry',
      })
    }
  } finally {
    await apart.close()
  }
})

test('what the codec of a row thread warns of is logged by the process, with the error', async () => {
  const port = await freePort()
  // Every schema of ours is registered under one id, and no other is known.
  const registry = createServer(({ method }, answer) => {
    answer.writeHead(method === 'POST' ? 200 : 404, { 'content-type': 'application/json' })
    answer.end(
      JSON.stringify(method === 'POST' ? { id: 1 } : { error_code: 40_403, message: 'no' }),
    )
  })
  await new Promise<void>((resolve) => registry.listen(port, '127.0.0.1', resolve))
  const { log, lines } = createCapturedLogger()
  const apart = openRowWorkerPool({ registry: { url: `http://127.0.0.1:${port}` } }, log)
  try {
    const foreign = blockBytes(1)
    foreign.writeInt32BE(77, 1)
    await assert.rejects(apart.makeRows('blocks', [foreign]), /schema 77 is being fetched/)
    const line = await until(() => lines[0], 'a line of the log')
    assert.deepEqual([line.message, line.facts.id], ['failed to fetch schema', 77])
    assert.ok(line.facts.err instanceof Error)
    const { refused } = await apart.makeRows('blocks', [foreign])
    assert.deepEqual(
      refused.map(({ reason }) => reason),
      ['unknown-schema'],
    )
  } finally {
    await apart.close()
    registry.closeAllConnections()
    registry.close()
  }
})
