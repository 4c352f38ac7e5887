/** Rows as CSV and as lines of JSON, against the same rows in the envelope of GraphQL. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inBlock, swapRow } from '../support/documented/content.ts'
import { startGraphql, type TestGraphql } from '../support/graphql-stack.ts'

const NOW_MS = Date.UTC(2026, 2, 2)
const HOSTILE = 'a "quoted", b\\c\r\nd\te\u0001 é😀 =1+1'
type Row = Readonly<Record<string, unknown>>

let api: TestGraphql
before(async () => {
  api = await startGraphql(['eth', 'sol'], NOW_MS)
  const { warehouse } = api
  const leg = (token: string, priceUsd?: number) => ({
    token,
    decimals: 6,
    raw: '1500000',
    ...(priceUsd !== undefined && { priceUsd }),
  })
  await warehouse.insert(
    'sol_dex_trades',
    Array.from({ length: 12 }, (_, index) =>
      swapRow({
        place: inBlock(index + 1, `2026-03-01T00:00:${String(index + 10)}Z`, `t${index}`),
        wallet: `w${index % 3}`,
        bought: leg(index % 2 === 0 ? 'A' : 'B', index % 2 === 0 ? 0.1 : undefined),
        sold: leg('C'),
        ...(index % 2 === 0 && { usd: index / 4 }),
        pool: 'p',
        dex: ['prog', 'Orca', 'orca'],
      }),
    ),
  )
  await warehouse.insert('sol_tokens', [
    { token_address: 'A', symbol: HOSTILE, name: 'null', decimals: 6, _ver: 1 },
    { token_address: 'B', symbol: '', name: '', decimals: 6, _ver: 1 },
  ])
  await warehouse.insert('sol_instructions_enriched', [
    {
      ...inBlock(1, '2026-03-01T00:00:10Z', 't0'),
      program_address: 'prog',
      accounts: ['x', '"]"', 'y\\', 'a,b'],
      logs: [HOSTILE],
      call_path: [0, 3],
    },
    { ...inBlock(2, '2026-03-01T00:00:11Z', 't1'), program_address: 'prog' },
  ])
})
after(() => api.stop())

const send = (accept: string, query: string, variables?: object): Promise<Response> =>
  api.send({
    method: 'POST',
    headers: { accept, 'x-api-key': api.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  })

const recordsOf = async (query: string): Promise<readonly Row[]> => {
  const { data, errors } = await api.ask(query)
  assert.equal(errors, undefined, JSON.stringify(errors))
  const group = data?.Solana as { readonly r: readonly Row[] } | undefined
  return group?.r ?? []
}

/** Cells of a table, a quoted one as a text and a bare one as it stands in a list of one. Source: RFC 4180. */
const parseCsv = (text: string): readonly (readonly (string | readonly [string])[])[] => {
  const rows: (string | readonly [string])[][] = []
  let at = 0
  while (at < text.length) {
    const row: (string | readonly [string])[] = []
    for (;;) {
      if (text[at] === '"') {
        let cell = ''
        for (at++; text[at] !== '"' || text[at + 1] === '"'; at++) {
          assert.ok(at < text.length, 'a quote is closed')
          if (text[at] === '"') at++
          cell += text[at]
        }
        at++
        row.push(cell)
      } else {
        const [bare = ''] = /^[^,\r"]*/.exec(text.slice(at)) ?? []
        at += bare.length
        row.push([bare])
      }
      if (text[at] !== ',') break
      at++
    }
    assert.equal(text.slice(at, at + 2), '\r\n', 'every row ends in a line break')
    at += 2
    rows.push(row)
  }
  return rows
}

/** Leaves of a record in order, each with its path. */
const leavesOf = (record: Row, prefix = ''): readonly (readonly [string, unknown])[] =>
  Object.entries(record).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? leavesOf(value as Row, `${prefix}${key}_`)
      : [[prefix + key, value] as const],
  )
const cellOf = (value: unknown): string | readonly [string] => {
  if (value === null) return ['']
  if (typeof value === 'string') return value
  return Array.isArray(value) ? JSON.stringify(value) : [String(value)]
}
const comparable = (cell: string | readonly [string]): unknown =>
  typeof cell === 'string' ? cell : /^-?\d/.test(cell[0]) ? [Number(cell[0])] : cell

const SELECTIONS = [
  'DEXTrades(orderBy: {ascending: Block_Time}) { Block { Time Date Slot } hash: Transaction { h: Hash Fee } IsSuspect Trade { Buy { Amount AmountRaw AmountInUSD PriceInUSD Currency { Symbol Name } } } __typename }',
  'DEXTrades { Trade { Buy { Currency { Symbol } } } count sum(of: Trade_Buy_Amount) first: min(of: Block_Time) half: calculate(expression: "$count / 2") }',
  'Instructions { Instruction { Accounts Logs CallPath Program { Name } } Transaction { Signature } }',
  'DEXTrades(limit: {count: 3}) { Block { Slot } joinTransfers { Transfer { Amount Sender { Address } } } joinDEXPoolEvents { Pool { LiquidityInUSD } } }',
  'DEXTrades { __typename }',
  'DEXTrades { a: __typename b: count c: __typename }',
  'Transfers { Transfer { Amount } }',
  'DEXTrades(limit: {count: 0}) { Block { Time } }',
]

test('a table has the values of the records, in their order, under their paths', async () => {
  for (const selection of SELECTIONS) {
    const query = `{ Solana { r: ${selection} } }`
    const table = await send('text/csv', query)
    assert.equal(table.status, 200, selection)
    assert.equal(table.headers.get('content-type'), 'text/csv; charset=utf-8')
    const [head = [], ...rows] = parseCsv(await table.text())
    const records = await recordsOf(query)
    const [first] = records
    const leaves = records.map((record) => leavesOf(record))
    if (first)
      assert.deepEqual(
        head.map((cell) => cell[0]),
        leavesOf(first).map(([path]) => path),
      )
    assert.ok(head.length > 0)
    assert.deepEqual(
      rows.map((row) => row.map(comparable)),
      leaves.map((record) => record.map(([, value]) => comparable(cellOf(value)))),
      selection,
    )
  }
})

test('a CSV cell keeps its text byte by byte, null is empty, and the only cell of a row is never empty', async () => {
  const ask = async (fields: string): Promise<string> => {
    const query = `{ Solana { DEXTrades(orderBy: {ascending: Block_Time}, limit: {count: 2}) { ${fields} } } }`
    return (await send('text/csv', query)).text()
  }
  const symbol = HOSTILE.replaceAll('"', '""')
  assert.equal(
    await ask('Trade { Buy { Currency { Symbol Name } PriceInUSD } }'),
    `Trade_Buy_Currency_Symbol,Trade_Buy_Currency_Name,Trade_Buy_PriceInUSD\r\n"${symbol}","null",0.1\r\n,,\r\n`,
  )
  assert.equal(await ask('Trade { Buy { PriceInUSD } }'), 'Trade_Buy_PriceInUSD\r\n0.1\r\n""\r\n')
  assert.equal(
    await ask('IsSuspect Block { Time }'),
    'IsSuspect,Block_Time\r\nfalse,"2026-03-01T00:00:10Z"\r\nfalse,"2026-03-01T00:00:11Z"\r\n',
  )
})

test('lines of JSON are the records', async () => {
  for (const type of ['application/x-ndjson', 'application/jsonl'])
    for (const selection of SELECTIONS) {
      const query = `{ Solana { r: ${selection} } }`
      const answer = await send(type, query)
      assert.equal(answer.headers.get('content-type'), `${type}; charset=utf-8`)
      const text = await answer.text()
      assert.ok(text === '' || text.endsWith('\n'))
      const records = await recordsOf(query)
      assert.deepEqual(
        text
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line) as Row),
        records,
      )
    }
})

test('a table format costs the same as the same rows in the envelope, and its cost is in a header', async () => {
  for (const selection of SELECTIONS) {
    const query = `{ Solana { r: ${selection} } }`
    const { extensions } = await api.ask(query)
    const table = await send('text/csv', query)
    await table.text()
    assert.equal(Number(table.headers.get('x-cu-cost')), extensions?.credits?.total ?? 0, selection)
  }
})

test('the response format is the most preferred of the Accept header, and JSON where none matches', async () => {
  const query = '{ Solana { Blocks { count } } }'
  const cases: readonly (readonly [string, string])[] = [
    ['text/csv', 'text/csv'],
    ['text/csv;q=0.5, application/json', 'application/json'],
    ['text/csv, application/json;q=0.5', 'text/csv'],
    ['text/*', 'text/csv'],
    ['application/x-ndjson, */*;q=0.1', 'application/x-ndjson'],
    ['*/*', 'application/json'],
    ['image/png', 'application/json'],
    ['text/csv;q=0', 'application/json'],
    [', ;;q=, ', 'application/json'],
    ['text/html', 'application/json'],
  ]
  for (const [accept, type] of cases) {
    const answer = await send(accept, query)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type'), `${type}; charset=utf-8`, accept)
    await answer.text()
  }
  const got = await api.send(
    { headers: { accept: 'text/csv', 'x-api-key': api.apiKey } },
    `?query=${encodeURIComponent(query)}`,
  )
  assert.equal(await got.text(), 'count\r\n0\r\n')
})

test('in CSV and JSON lines a query that is not the rows of one cube, or is invalid, answers 400 with its reason', async () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['{ Solana { Blocks { count } Transfers { count } } }', /rows of one cube/],
    ['{ Solana { Blocks { count } } EVM(network: eth) { Blocks { count } } }', /rows of one cube/],
    ['{ Solana { Blocks { count } __typename } }', /rows of one cube/],
    ['{ __typename Solana { Blocks { count } } }', /rows of one cube/],
    ['{ __schema { queryType { name } } }', /rows of one cube/],
    ['{ __typename }', /rows of one cube/],
    ['{ Solana { Blocks { nope } } }', /nope/],
    ['{ Solana { Blocks {', /Syntax Error/],
  ]
  for (const accept of ['text/csv', 'application/x-ndjson'])
    for (const [query, message] of cases) {
      const answer = await send(accept, query)
      assert.equal(answer.status, 400, query)
      assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
      assert.equal(answer.headers.get('x-cu-cost'), null)
      const { data, errors } = (await answer.json()) as {
        readonly data: null
        readonly errors: readonly { readonly message: string }[]
      }
      assert.equal(data, null)
      assert.match(errors[0]?.message ?? '', message)
    }
  const unknown = await api.send({
    method: 'POST',
    headers: { accept: 'text/csv', 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ Solana { Blocks { count } } }' }),
  })
  assert.equal(unknown.status, 401)
})
