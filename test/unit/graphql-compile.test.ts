import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CUBES } from '../../schemas/cubes/all.ts'
import { createAnswerBudget } from '../../serving/graphql/answer-budget.ts'
import { compileQuery } from '../../serving/graphql/compile.ts'
import { QUERY_LIMITS } from '../../serving/graphql/limits.ts'
import { createPlanner } from '../../serving/graphql/plan.ts'
import type { RecordLayout } from '../../serving/graphql/record-layout.ts'
import { createRecordTemplate, JSON_FRAME } from '../../serving/graphql/record-template.ts'
import { rewriteValues } from '../../serving/graphql/rewrite-values.ts'
import { formatBoundTime, parseTimeMs } from '../../serving/graphql/scalars.ts'
import { buildCubeSchema } from '../../serving/graphql/schema.ts'

const { plan: planner } = createPlanner(buildCubeSchema(CUBES, ['eth', 'bsc']), QUERY_LIMITS)
const NOW = Date.UTC(2026, 2, 2)

const compiled = (cube: string, group = 'EVM(network: eth)') => {
  const [selection] = planner({ query: `{ ${group} { ${cube} } }` }).selections
  assert.ok(selection)
  const { sql, shape, paramsAt } = compileQuery(selection)
  return { sql, shape, params: paramsAt(NOW) }
}

test('tables that are upserts are read FINAL, roll-up states never', () => {
  assert.match(compiled('DEXTrades { Block { Time } }').sql, /FROM eth_dex_trades FINAL WHERE/)
  assert.match(
    compiled('DEXTradeByTokens { Trade { Currency { Symbol } } }').sql,
    /FROM eth_dex_trades_enriched FINAL WHERE .* LEFT ANY JOIN .*FROM eth_tokens FINAL/,
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
  assert.ok(Object.values(params).includes('2026-03-01 00:00:00.000'))
})

test('addresses are compared in lower case, other text as written', () => {
  const values = (cube: string): readonly unknown[] => Object.values(compiled(cube).params)
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

/** Bytes of the engine whose marked values are rewritten. */
const rewrite = async (
  text: string,
  marked: readonly boolean[],
  options = writing(),
): Promise<string> => (await rewriteValues(Buffer.from(text), { marked, ...options })).toString()

test('an amount is written as a decimal without losing a digit, what stands around it as it is', async () => {
  const hostile = JSON.stringify('], [ "\\ é😀 \n\u0000,')
  const rows = [
    ['1500000', '6', '1.5'],
    ['12', 'null', 'null'],
    ['null', '3', 'null'],
    ['5', '3', '0.005'],
    ['1000', '3', '1'],
    ['0', '18', '0'],
    ['123456789012345678901234567890', '18', '123456789012.34567890123456789'],
    ['-1500000', '6', '-1.5'],
    ['-5', '3', '-0.005'],
    ['-12000', '3', '-12'],
    ['-7', '0', '-7'],
    ['7', '255', `0.${'0'.repeat(254)}7`],
  ] as const
  const record = (amount: string): string => `{"n":${hostile},"u":${amount},"m":${amount}}`
  const text = rows.map(([raw, places]) => record(`\x01${raw}\x01${places}\x01`)).join(',')
  const expected = rows.map(([, , amount]) => record(amount)).join(',')
  assert.equal(await rewrite(`[${text}]`, [true, true]), `[${expected}]`)
  assert.equal(await rewrite('[{"n":1}]', []), '[{"n":1}]')
})

/** One column under many names, as aliases make it. */
const aliased = (aliases: number): RecordLayout => ({
  columns: ['a'],
  literals: Array.from({ length: aliases + 1 }, (_, i) =>
    i === 0 ? '{"a0":' : i === aliases ? '}' : `,"a${i}":`,
  ),
  slots: Array.from({ length: aliases }, () => ({
    column: 0,
    rule: 'JSON',
    places: -1,
    isText: true,
  })),
})

test('the template of a record marks amounts, and counts what the engine cannot count', () => {
  const shape: RecordLayout = {
    columns: ['raw', 'places', 'text'],
    literals: ['{"u":', ',"t":', ',"again":', '}'],
    slots: [
      { column: 0, rule: 'JSON', places: 1, isText: false },
      { column: 2, rule: 'JSON', places: -1, isText: true },
      { column: 2, rule: 'Raw', places: -1, isText: true },
    ],
  }
  const { row, marked, repeats, rowBytes } = createRecordTemplate(shape, JSON_FRAME)
  assert.equal(row, `{"u":\x01\${0:JSON}\x01\${1:JSON}\x01,"t":\${2:JSON},"again":\${2:Raw}}`)
  assert.deepEqual(marked, [true])
  assert.equal(repeats, 2)
  assert.equal(rowBytes, '{"u":,"t":,"again":},'.length)
  assert.equal(createRecordTemplate(aliased(300), JSON_FRAME).repeats, 300)
})

test('the records of a request stay within its byte budget, over all selections', async () => {
  const plain = `[${'"x",'.repeat(1_000)}"x"]`
  const exact = writing(plain.length)
  assert.equal(await rewrite(plain, [], exact), plain)
  await assert.rejects(rewrite('[]', [], exact), { name: 'QueryTooExpensive' })
  const amounts = `[${'\x0115\x011\x01,'.repeat(1_000)}0]`
  const expected = `[${'1.5,'.repeat(1_000)}0]`
  assert.equal(await rewrite(amounts, [true], writing(expected.length)), expected)
  await assert.rejects(rewrite(amounts, [true], writing(expected.length - 1)), {
    name: 'QueryTooExpensive',
    message: `The answer has more than ${expected.length - 1} bytes`,
  })
})

test('what is written beyond the byte budget never stands in memory', async () => {
  let most = 0
  const alloc = Buffer.allocUnsafe
  Buffer.allocUnsafe = (size) => {
    most = Math.max(most, size)
    return alloc(size)
  }
  try {
    const grown = `\x011\x01255\x01`.repeat(50_000)
    await assert.rejects(rewrite(grown, [true], writing(4_000_000)), { name: 'QueryTooExpensive' })
  } finally {
    Buffer.allocUnsafe = alloc
  }
  assert.ok(most < 4_100_000, `${most} bytes at once`)
})

test('a value without its end is an error', async () => {
  await assert.rejects(rewrite('[\x0115', [true]), /without its end/)
})

test('writing a large response yields to other work, and ends when the client disconnects', async () => {
  const large = `[${'\x0112345678901234567890\x0118\x01,'.repeat(400_000)}0]`
  let turns = 0
  let counting = true
  const count = (): void => {
    turns += 1
    if (counting) setImmediate(count)
  }
  setImmediate(count)
  await rewrite(large, [true])
  counting = false
  assert.ok(turns >= 2, `${turns} turns`)
  const left = new AbortController()
  const written = rewrite(large, [true], { ...writing(), signal: left.signal })
  left.abort(new Error('left'))
  await assert.rejects(written, /left/)
})

test('copies of a text are columns of their own, so that the engine counts what it writes; numbers are read once', () => {
  const { columns, slots } = compiled(
    'DEXTrades { a: Transaction { Hash } b: Transaction { Hash } c: Block { Slot } d: Block { Slot } }',
  ).shape
  assert.deepEqual(columns, ['tx_hash', "CAST(tx_hash, 'Nullable(String)')", 'block_slot'])
  assert.deepEqual(
    slots.map(({ column }) => column),
    [0, 1, 2, 2],
  )
  const many = Array.from({ length: 70 }, (_, index) => `a${index}: Transaction { Hash }`).join(' ')
  const { shape } = compiled(`DEXTrades { ${many} }`)
  assert.equal(shape.columns.length, 32)
  assert.equal(createRecordTemplate(shape, JSON_FRAME).repeats, 3)
})

test('names that fragments repeat in a record are refused in planning, before a text is made of them', () => {
  const name = 'n'.repeat(50_000)
  const spreads = Array.from({ length: 11 }, (_, index) => `b${index}: Block { ...F }`).join(' ')
  const query = `{ EVM(network: eth) { DEXTrades { ${spreads} } } } fragment F on DEXTradesBlockRecord { ${name}: Slot }`
  assert.throws(() => planner({ query }), {
    name: 'PlanningTooExpensive',
    message: /more than 500000 characters of names/,
  })
})
