import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { localCodec } from '../../core/codec/local-codec.ts'
import { InvalidInput } from '../../core/errors.ts'
import { rowVersion } from '../../core/event-version.ts'
import { validateTrades } from '../../processors/runtime/validate-records.ts'
import { LATEST_STATE_KEYS } from '../../processors/sinks/batch-rows.ts'
import { blockRows, finalityRows } from '../../processors/sinks/columns.ts'
import { insertToken } from '../../processors/sinks/runner.ts'
import { SINKS } from '../../processors/sinks/tables.ts'
import { tradeRows } from '../../processors/sinks/trade-rows.ts'
import type { TradeEvents } from '../../schemas/wire.ts'
import {
  type TapeOp,
  type TapeTrade,
  tapeBlockEvent,
  tapeMeta,
  tapeTradeEvent,
} from '../support/builders/trade-tape.ts'

const TABLES = new URL('../../schemas/tables/', import.meta.url)
const ddl = readdirSync(TABLES)
  .toSorted()
  .map((name) => readFileSync(new URL(name, TABLES), 'utf8'))
  .join('\n')

const trade: TapeTrade = {
  base: '0xaaa',
  quote: '0xweth',
  pool: '0xp1',
  baseRaw: 3_000_000n,
  quoteRaw: 500_000_000_000_000_000n,
  baseDecimals: 6,
  quoteDecimals: 18,
  buy: true,
  quoteUsd: '2000',
  quoteNative: '1',
  suspect: false,
}

const tradesOf = (op: TapeOp['op'], change: Partial<TapeTrade> = {}): TradeEvents => {
  const block = {
    height: 5,
    hash: '0xb5',
    parent: '0xb4',
    timeMs: 1_700_000_000_123,
    trades: [{ ...trade, ...change }],
  }
  return {
    meta: tapeMeta({ op, seq: 9, block, finalHeight: 0 }),
    events: [tapeTradeEvent(block, 0)],
  }
}

test('a trade gives one row with the bought and the sold leg', () => {
  const [row] = tradeRows(tradesOf('apply'))
  assert.deepEqual(
    [row?.buy_token, row?.buy_amount, row?.sell_token, row?.sell_amount, row?.base_is_buy],
    ['0xaaa', '3000000', '0xweth', '500000000000000000', 1],
  )
  assert.deepEqual(
    [row?.buy_amount_usd, row?.sell_amount_usd, row?.sell_amount_native],
    ['1000', '1000', '0.5'],
  )
  assert.deepEqual(
    [row?.tx_fee, row?.tx_fee_native, row?.tx_fee_usd],
    ['21000000000000', '0.000021', '0.042'],
  )
  assert.equal(row?.block_time, '2023-11-14T22:13:20.123Z')
  const [sale] = tradeRows(tradesOf('apply', { buy: false }))
  assert.deepEqual([sale?.sell_token, sale?.buy_token, sale?.base_is_buy], ['0xaaa', '0xweth', 0])
})

test('unknown prices, values and decimals are stored as NULL', () => {
  const [row] = tradeRows(tradesOf('apply', { quoteUsd: '', quoteNative: '', baseDecimals: null }))
  assert.deepEqual(
    [
      row?.buy_decimals,
      row?.buy_price_usd,
      row?.buy_amount_usd,
      row?.buy_amount_native,
      row?.tx_fee_usd,
    ],
    [null, null, null, null, null],
  )
})

test('a retraction row has the same key, a newer version and the deleted flag', () => {
  const [applied] = tradeRows(tradesOf('apply'))
  const [reverted] = tradeRows({
    ...tradesOf('revert'),
    meta: {
      ...tapeMeta({
        op: 'revert',
        seq: 10,
        block: { height: 5, hash: '0xb5', parent: '0xb4', timeMs: 1_700_000_000_123, trades: [] },
        finalHeight: 0,
      }),
    },
  })
  const key = (row: typeof applied) => [
    row?.block_slot,
    row?.tx_index,
    row?.event_index,
    row?.block_time,
  ]
  assert.deepEqual(key(reverted), key(applied))
  assert.deepEqual([applied?._del, reverted?._del], [0, 1])
  assert.ok(BigInt(String(reverted?._ver)) > BigInt(String(applied?._ver)))
})

test('versions keep 40 bits of seq above 24 bits of index', () => {
  assert.equal(rowVersion(2 ** 40 - 1, 2 ** 24 - 1), 2n ** 64n - 1n)
})

test('a block row counts its trades by partition; FINALIZE is the final row of the chain', () => {
  const op: TapeOp = {
    op: 'apply',
    seq: 3,
    block: { height: 5, hash: '0xb5', parent: '0xb4', timeMs: 0, trades: [] },
    finalHeight: 4,
  }
  const span = { base_offset: 0, records: 1 }
  const block = tapeBlockEvent(op, [
    { ...span, topic: 'eth.dex.trades', partition: 2, events: 7 },
    { ...span, topic: 'eth.dex.trades', partition: 0, events: 1 },
    { ...span, topic: 'eth.dex.pools', partition: 1, events: 20 },
  ])
  const [row] = blockRows(block)
  assert.deepEqual(
    [row?.trades_count, row?.trades_by_partition, row?.events_count],
    [8, [1, 0, 7], 28],
  )
  assert.deepEqual(finalityRows(block), [])
  const final = tapeBlockEvent({ ...op, op: 'finalize' })
  assert.deepEqual(blockRows(final), [])
  assert.equal(finalityRows(final)[0]?.final_slot, 4)
})

test('invalid values, and values that no table can hold, are dead letters', () => {
  const spoilt = (change: object): TradeEvents => {
    const value = tradesOf('apply')
    return {
      ...value,
      events: value.events.map((event) => ({
        ...event,
        trade: event.trade && { ...event.trade, ...change },
      })),
    }
  }
  const cases = [
    { user_a_amount: '-1' },
    { user_a_amount: '1e5' },
    { user_b_amount: String(2n ** 256n) },
    { token_a_decimals: 256 },
    { vault_a_pre_amount: 'x' },
  ]
  for (const change of cases)
    assert.throws(() => validateTrades(spoilt(change)), InvalidInput, JSON.stringify(change))
  const curved = (real_token_reserves: string): TradeEvents => {
    const value = tradesOf('apply')
    const reserves = { virtual_quote_reserves: '1', virtual_token_reserves: '2' }
    const bonding_curve = { ...reserves, real_quote_reserves: '', real_token_reserves }
    return { ...value, events: value.events.map((event) => ({ ...event, bonding_curve })) }
  }
  assert.throws(() => validateTrades(curved('x')), InvalidInput)
  assert.doesNotThrow(() => validateTrades(curved('3')))
  assert.doesNotThrow(() =>
    validateTrades(spoilt({ user_b_amount: String(2n ** 256n - 1n), vault_a_pre_amount: '-5' })),
  )
})

test('every sink rejects undecodable records', () => {
  const codec = localCodec()
  for (const { map } of SINKS) assert.throws(() => map(codec, Buffer.from('no avro')), InvalidInput)
})

test('the insert token is the same for the same offset range of a lane, and differs for any other', () => {
  assert.equal(insertToken('t', 'life/0', 5, 9), insertToken('t', 'life/0', 5, 9))
  const tokens = [
    insertToken('t', 'life/0', 5, 9),
    insertToken('t', 'life/1', 5, 9),
    insertToken('t', 'another/0', 5, 9),
    insertToken('u', 'life/0', 5, 9),
    insertToken('t', 'life/0', 5, 10),
  ]
  assert.equal(new Set(tokens).size, 5)
})

/** Views with the table they read from and what they select. */
const views = [
  ...ddl.matchAll(/CREATE MATERIALIZED VIEW IF NOT EXISTS (\S+) TO (\S+) AS\s+([\s\S]*?);\s*$/gm),
].map(([, name = '', target = '', select = '']) => ({
  name,
  target,
  source: /FROM\s+(\S+)/.exec(select)?.[1] ?? '',
  sums: /GROUP BY|State\(|\bsum\(|\bcount\(/i.test(select),
}))

test('no view that sums over inserts is fed by a sink: they all read the Null table of the finalizer', () => {
  assert.ok(views.length >= 7)
  const summing = views.filter(({ sums }) => sums)
  assert.ok(summing.length >= 5)
  for (const { name, source } of summing) assert.equal(source, '{chain}_trades_final', name)
})

test('every table that a sink or a view writes replaces, aggregates finals, or is Null', () => {
  const engines = new Map(
    [...ddl.matchAll(/CREATE TABLE IF NOT EXISTS (\S+) \([\s\S]*?\) ENGINE=(\w+)/g)].map(
      ([, name = '', engine = '']) => [name, engine] as const,
    ),
  )
  const sunk = [
    'blocks',
    'chain_state',
    'dex_trades',
    'dex_pool_events_enriched',
    'dex_pools',
    'dex_pool_births',
    'dex_pool_positions',
    'dex_pool_bins',
    'tokens',
    'transfers',
  ]
  const written = [
    ...sunk.map((table) => `{chain}_${table}`),
    ...views.filter(({ sums }) => !sums).map(({ target }) => target),
  ]
  for (const table of written) assert.equal(engines.get(table), 'ReplacingMergeTree', table)
  assert.equal(engines.get('{chain}_trades_final'), 'Null')
})

test('migrations carry no TTL: retention is a setting', () => {
  assert.doesNotMatch(ddl, /\bTTL\b/)
})

test('tables of latest states are sorted by the key of their subject', () => {
  for (const [table, columns] of LATEST_STATE_KEYS) {
    const [, sorted = ''] =
      new RegExp(
        `TABLE IF NOT EXISTS \\{chain\\}_${table} [^;]*?ENGINE=ReplacingMergeTree[^;]*?ORDER BY \\(?([a-z_, ]+)`,
      ).exec(ddl) ?? []
    const key = sorted.trim().split(', ')
    // The retraction of a pool is written beside the pool that a reorg made at its address.
    const beside = table === 'dex_pools' ? ['token_a', 'token_b'] : []
    assert.deepEqual([...key, ...beside].toSorted(), columns.toSorted(), table)
  }
})
