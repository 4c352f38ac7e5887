import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CUBES } from '../../schemas/cubes/all.ts'
import { compileQuery } from '../../serving/graphql/compile.ts'
import { QUERY_LIMITS } from '../../serving/graphql/limits.ts'
import { createPlanner } from '../../serving/graphql/plan.ts'
import type { RecordLayout } from '../../serving/graphql/record-layout.ts'
import { formatBoundTime, parseTimeMs } from '../../serving/graphql/scalars.ts'
import { buildCubeSchema } from '../../serving/graphql/schema.ts'
import { createAnswerBudget, writeRecords } from '../../serving/graphql/write-records.ts'

const { plan: planner } = createPlanner(buildCubeSchema(CUBES, ['eth', 'bsc']), QUERY_LIMITS)
const NOW = Date.UTC(2026, 2, 2)

const compiled = (cube: string, group = 'EVM(network: eth)') => {
  const [selection] = planner({ query: `{ ${group} { ${cube} } }` }).selections
  assert.ok(selection)
  return compileQuery(selection, NOW)
}

test('tables that are upserts are read FINAL, roll-up states never', () => {
  assert.match(compiled('DEXTrades { Block { Time } }').sql, /FROM eth_dex_trades FINAL WHERE/)
  assert.match(
    compiled('DEXTradeByTokens { Trade { Currency { Symbol } } }').sql,
    /eth_dex_trades_enriched FINAL LEFT ANY JOIN .*eth_tokens FINAL/,
  )
  const { sql } = compiled('Pairs { TimeMinute }')
  assert.match(sql, /FROM eth_ohlc_1m WHERE bucket < /)
  assert.match(sql, /eth_dex_trades_enriched FINAL WHERE block_time >= /)
})

test('token names are joined only where a field or filter needs them', () => {
  assert.doesNotMatch(
    compiled('DEXTrades { Trade { Buy { Currency { MintAddress } } } }').sql,
    /JOIN/,
  )
  const joins = (text: string): number => text.match(/LEFT ANY JOIN/g)?.length ?? 0
  assert.equal(joins(compiled('DEXTrades { Trade { Buy { Currency { Name Symbol } } } }').sql), 1)
  assert.equal(
    joins(
      compiled(
        'DEXTrades(where: {Trade: {Sell: {Currency: {Symbol: "X"}}}}) { Trade { Buy { Currency { Name } } } }',
      ).sql,
    ),
    2,
  )
})

test('rows ordered by time are in chain order, and every order has a unique tie-breaker', () => {
  assert.match(
    compiled('DEXTrades { Block { Time } }').sql,
    /ORDER BY block_slot DESC, tx_index DESC, event_index DESC LIMIT/,
  )
  assert.match(
    compiled('DEXTrades(orderBy: {ascending: Trade_Buy_PriceInUSD}) { Block { Time } }').sql,
    /ORDER BY buy_price_usd ASC, block_slot ASC, tx_index ASC/,
  )
  assert.match(
    compiled('DEXTrades(orderBy: {descending: Block_Time}) { Pool { Address } count }').sql,
    /maxOrNull\(block_time\) AS c2 .*ORDER BY c2 DESC, c0 DESC/,
  )
})

test('the Trading group reads every chain, and joins names within one', () => {
  const { sql } = compiled('Pairs { Token { Symbol } }', 'Trading')
  assert.match(sql, /eth_ohlc_1m[\s\S]*UNION ALL[\s\S]*bsc_ohlc_1m/)
  assert.match(sql, /own_key = token_address AND own_chain = chain/)
})

test('the window of a dataset is measured from the given clock', () => {
  const { params } = compiled('DEXTrades { count }', 'EVM(network: eth, dataset: realtime)')
  assert.ok(Object.values(params ?? {}).includes('2026-03-01 00:00:00.000'))
})

test('addresses are compared in lower case, other text as written', () => {
  const values = (cube: string): readonly unknown[] => Object.values(compiled(cube).params ?? {})
  assert.ok(values('DEXTrades(poolAddress: "0xABC") { count }').includes('0xabc'))
  assert.ok(
    values('DEXTrades(where: {Trade: {Buy: {Currency: {Symbol: "WETH"}}}}) { count }').includes(
      'WETH',
    ),
  )
})

test('times are parsed in every documented format', () => {
  const at = Date.UTC(2026, 0, 2, 3, 4, 5)
  for (const text of [
    '2026-01-02T03:04:05Z',
    '2026-01-02 03:04:05',
    '2026-01-02T03:04:05.000000Z',
    '2026-01-02T05:04:05+02:00',
    '2026-01-02 03:04:05.000',
  ])
    assert.equal(parseTimeMs(text), at, text)
  assert.equal(parseTimeMs('2026-01-02'), Date.UTC(2026, 0, 2))
  for (const text of ['2026-02-30', '2026-13-01', 'now', '2026-01-01T25:00:00Z', ''])
    assert.equal(parseTimeMs(text), undefined, text)
  assert.equal(formatBoundTime(-1e15), '1970-01-01 00:00:00.000')
})

const writing = (maxBytes = QUERY_LIMITS.maxAnswerBytes) => ({
  budget: createAnswerBudget(maxBytes),
  signal: new AbortController().signal,
})

test('rows are written as records without losing a byte or a digit', async () => {
  const shape: RecordLayout = {
    columns: ['a', 'b', 'c', 'd', 'e'],
    literals: ['{"n":', ',"t":', ',"u":', ',"b":', ',"d":', '}'],
    slots: [
      { column: 0, format: 'as-is', places: -1 },
      { column: 1, format: 'time', places: -1 },
      { column: 2, format: 'units', places: 3 },
      { column: 4, format: 'boolean', places: -1 },
      { column: 1, format: 'date', places: -1 },
    ],
  }
  const hostile = '], [ "\\ é😀 \n\u0000,'
  const rows = [
    [JSON.stringify(hostile), '"2026-03-01 00:39:48.000"', '1500000', '6', '1'],
    ['null', 'null', '12', 'null', '0'],
    ['""', '"2026-03-01 00:39:48"', '5', '3', 'true'],
    ['"\\\\"', '"2026-03-01 00:39:48"', '1000', '3', 'null'],
    ['1', '"2026-03-01 00:39:48"', '0', '18', 'false'],
    ['1', '"2026-03-01 00:39:48"', '123456789012345678901234567890', '18', 'false'],
    ['1', '"2026-03-01 00:39:48"', '-1500000', '6', '1'],
    ['1', '"2026-03-01 00:39:48"', '-5', '3', '1'],
    ['1', '"2026-03-01 00:39:48"', '-12000', '3', '1'],
    ['1', '"2026-03-01 00:39:48"', '-7', '0', '1'],
  ]
  const text = rows.map((row) => `\n\t\t[${row.join(', ')}]`).join(',')
  const out = (await writeRecords(text, rows.length, shape, writing())).toString()
  const units = [...out.matchAll(/"u":([^,]+)/g)].map(([, value]) => value)
  assert.deepEqual(units, [
    ...['1.5', 'null', '0.005', '1', '0', '123456789012.34567890123456789'],
    ...['-1.5', '-0.005', '-12', '-7'],
  ])
  const records = JSON.parse(out) as readonly Readonly<Record<string, unknown>>[]
  assert.deepEqual(records[0], {
    n: hostile,
    t: '2026-03-01T00:39:48Z',
    u: 1.5,
    b: true,
    d: '2026-03-01',
  })
  assert.deepEqual(records[1], { n: null, t: null, u: null, b: false, d: null })
  assert.deepEqual(
    records.slice(2, 6).map(({ n, b }) => [n, b]),
    [
      ['', true],
      ['\\', null],
      [1, false],
      [1, false],
    ],
  )
  assert.equal((await writeRecords('\n\t', 0, shape, writing())).toString(), '[]')
})

/** One column under many names, as aliases make it. */
const aliased = (aliases: number): RecordLayout => ({
  columns: ['a'],
  literals: Array.from({ length: aliases + 1 }, (_, i) =>
    i === 0 ? '{"a0":' : i === aliases ? '}' : `,"a${i}":`,
  ),
  slots: Array.from({ length: aliases }, () => ({ column: 0, format: 'as-is', places: -1 })),
})
const rowsOf = (count: number): string =>
  Array.from({ length: count }, () => `\n\t["${'x'.repeat(66)}"]`).join(',')

test('the records of a request stay within its byte budget, over all selections', async () => {
  const expected = (await writeRecords(rowsOf(50), 50, aliased(100), writing())).length
  const exact = writing(expected)
  assert.equal((await writeRecords(rowsOf(50), 50, aliased(100), exact)).length, expected)
  await assert.rejects(writeRecords(rowsOf(50), 50, aliased(100), exact), {
    name: 'QueryTooExpensive',
  })
  await assert.rejects(writeRecords(rowsOf(50), 50, aliased(100), writing(expected - 10)), {
    name: 'QueryTooExpensive',
    message: `The answer has more than ${expected - 10} bytes`,
  })
  let most = 0
  const alloc = Buffer.allocUnsafe
  Buffer.allocUnsafe = (size) => {
    most = Math.max(most, size)
    return alloc(size)
  }
  try {
    const longRow = `["${'x'.repeat(1_000_000)}"]`
    await assert.rejects(writeRecords(longRow, 1, aliased(20_000), writing(4_000_000)), {
      name: 'QueryTooExpensive',
    })
  } finally {
    Buffer.allocUnsafe = alloc
  }
  assert.ok(most < 4_100_000, `${most} bytes at once`)
})

test('a result with fewer rows than its count is an error', async () => {
  await assert.rejects(writeRecords(rowsOf(1), 2, aliased(1), writing()), /fewer rows/)
})

test('writing a large response yields to other work, and ends when the client disconnects', async () => {
  let turns = 0
  let counting = true
  const count = (): void => {
    turns += 1
    if (counting) setImmediate(count)
  }
  setImmediate(count)
  await writeRecords(rowsOf(400), 400, aliased(2_000), writing())
  counting = false
  assert.ok(turns >= 2, `${turns} turns`)
  const left = new AbortController()
  const written = writeRecords(rowsOf(400), 400, aliased(2_000), {
    ...writing(),
    signal: left.signal,
  })
  left.abort(new Error('left'))
  await assert.rejects(written, /left/)
})
