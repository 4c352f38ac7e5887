import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { buildTrades, storeTrades } from '../support/builders/stored-trades.ts'
import { EXPENSIVE_QUERIES } from '../support/expensive-queries.ts'
import { type GraphqlResponse, startGraphql, type TestGraphql } from '../support/graphql-stack.ts'

const START = Date.UTC(2026, 2, 1)

let api: TestGraphql
before(async () => {
  api = await startGraphql(['eth', 'bsc', 'sol'], START + 3_600_000)
  await storeTrades(api.warehouse, 'sol', buildTrades(50, START))
})
/** One: the last test makes it. */
after(() => api.stop(1))

const post = async (body: string): Promise<{ status: number; answer: GraphqlResponse }> => {
  const response = await api.send({ method: 'POST', body })
  return { status: response.status, answer: (await response.json()) as GraphqlResponse }
}

/** The answer of a request that is served or refused with a typed error, and nothing else. */
const typed = async (request: object, what: string): Promise<GraphqlResponse> => {
  const { status, answer } = await post(JSON.stringify(request))
  assert.equal(status, 200, `${what}: ${JSON.stringify(answer).slice(0, 500)}`)
  if (!answer.errors) assert.ok(answer.data, what)
  for (const { message, locations } of answer.errors ?? []) {
    assert.ok(message.length > 0 && message.length < 600, what)
    assert.ok(Array.isArray(locations), what)
  }
  return answer
}

const sol = (cube: string): string => `{ Solana { ${cube} } }`

/** Values of every kind, and of kinds inside kinds. */
const VALUES: readonly unknown[] = [
  ...[1, -1, 1.5, 1e300, 1e-300, 1e29, 2 ** 53],
  ...['x', '', '\u0000', '\ud800', 'constructor', '__proto__', '5', '+5', '5.', '1e-999', '1e999'],
  ...[true, false, null, [], {}, [null], [[[[1]]]], [['x']], { is: {} }, { is: [null] }],
  ...[{ in: { in: [] } }, { constructor: 1, toString: 2 }, { a: { b: [1, { c: null }] } }],
  ...[{ any: [{ any: [[[]]] }] }, { any: {} }, { any: null }, { any: [null, 1] }, { count: {} }],
  ...[{ by: {} }, { ascending: [] }, { descendingByField: 5 }, { in: 'hours', count: [] }],
  JSON.parse('['.repeat(39) + ']'.repeat(39)),
  JSON.parse(`${'{"a":'.repeat(39)}1${'}'.repeat(39)}`),
]

const USES: readonly string[] = [
  'DEXTrades(where: $v) { count }',
  'DEXTrades(tokenAddress: $v, date: $v) { count }',
  'DEXTrades(limit: $v) { count }',
  'DEXTrades(limit: {count: $v, offset: $v}) { count }',
  'DEXTrades(orderBy: $v) { count }',
  'DEXTrades(limitBy: $v) { count }',
  'DEXTrades(limitBy: {by: $v, count: $v}) { count }',
  'DEXTrades { count(if: $v, selectWhere: $v) }',
  'DEXTrades { quantile(of: Block_Slot, level: $v) sum(of: $v) }',
  'DEXTrades { calculate(expression: $v, selectWhere: {gt: $v}) }',
  'DEXTrades { Block { Time(interval: $v) } }',
  'DEXTrades { Block { Time(interval: {in: $v, count: $v}) Slot(maximum: $v) } }',
  'DEXTrades @skip(if: $v) { count @include(if: $v) }',
  'DEXTrades(where: {Block: {Time: {since: $v, in: $v}, Slot: {eq: $v, in: $v}, Date: $v}, IsSuspect: $v}) { count }',
  'DEXTrades(where: {Trade: {Buy: {AmountInUSD: {eq: $v}, PriceInUSD: {in: $v}, Currency: {Symbol: {like: $v}}}}}) { count }',
]

test('a variable of any kind in any position is a value or a typed error', async () => {
  for (const use of USES)
    for (const [index, v] of VALUES.entries())
      await typed({ query: `query($v: X) ${sol(use)}`, variables: { v } }, `${use} ${index}`)
  for (const v of VALUES) {
    await typed(
      {
        query: 'query($v: X) { EVM(network: $v, dataset: $v) { DEXTrades { count } } }',
        variables: { v },
      },
      'group',
    )
    await typed(
      {
        query: 'query($v: X) { __type(name: $v) { name fields(includeDeprecated: $v) { name } } }',
        variables: { v },
      },
      'type',
    )
  }
})

test('the form of a GraphQL request is checked before its values, however deep either nests', async () => {
  const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
  const query = '"query":"{ __typename }"'
  const refused: readonly string[] = [
    ...['null', '5', '"x"', '[]', '{}', `{"query":["{ __typename }"]}`, `{"query":{}}`],
    ...['[]', '[[1]]', '5', 'true', '"x"', '"[1]"', deep(50_000)].map(
      (variables) => `{${query},"variables":${variables}}`,
    ),
    `{${query},"variables":${JSON.stringify(`{"a":${deep(50_000)}}`)}}`,
    ...['{}', '[]', '[["x"]]', '5', 'true'].map((name) => `{${query},"operationName":${name}}`),
  ]
  for (const body of refused) {
    const { status, answer } = await post(body)
    assert.equal(status, 400, body.slice(0, 80))
    assert.equal(answer.data, null)
    assert.equal(answer.errors?.length, 1)
  }
  for (const levels of [45, 50_000]) {
    const { status, answer } = await post(`{${query},"variables":{"a":${deep(levels)}}}`)
    assert.ok(status === 200 || status === 400, `${levels} levels: ${status}`)
    assert.equal(answer.data, null)
    assert.equal(answer.errors?.length, 1)
  }
})

test('variables of a query string are JSON within bounds', async () => {
  const ask = async (parameters: Readonly<Record<string, string>>, more = ''): Promise<number> => {
    const text = new URLSearchParams({ query: '{ __typename }', ...parameters })
    return (await api.send({}, `?${text}${more}`)).status
  }
  const nests = (levels: number): string => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`
  for (const variables of ['', 'null', '{}', '{"a":1}', '{"__proto__":{"a":1}}', nests(30)])
    assert.equal(await ask({ variables }), 200, variables)
  for (const variables of ['x', '[', '[]', '1', '"x"', 'true', '{"a":1', nests(60), nests(900)])
    assert.equal(await ask({ variables }), 400, variables.slice(0, 80))
  assert.equal(await ask({ variables: '{}' }, '&variables={}'), 400)
  assert.equal(await ask({ operationName: 'a' }, '&operationName=b'), 400)
})

/** Operands at the edge of what the engine reads, and names that every object of JavaScript has. */
const EDGES: readonly string[] = [
  sol(
    'DEXTrades(where: {Trade: {Buy: {PriceInUSD: {in: ["+5", "5.", "1.e5", "1e-999", "0e999", 1e308, "-0"]}}}}) { count }',
  ),
  sol(
    'DEXTrades(where: {Trade: {Buy: {AmountInUSD: {in: ["+5", "5.", "1.e5", "1e-999", "0e999", 1e308, "-0"]}}}}) { count }',
  ),
  sol('DEXTrades(where: {Trade: {Buy: {AmountInUSD: {lt: "-1e25", gt: "1e26"}}}}) { count }'),
  sol(
    'DEXTrades(where: {Block: {Slot: {in: ["+5", "-0", -9223372036854775807, 9223372036854775807]}}}) { count }',
  ),
  sol('DEXTrades { count(selectWhere: {gt: "1e-999", lt: "+5", ge: "5.", ne: "-0"}) }'),
  sol(
    'DEXTrades(where: {Pool: {Address: {not: "\\u0000", like: "\\\\", startsWith: "\\n\\t\\r", endsWith: "\'"}}}) { count }',
  ),
  sol(
    'DEXTrades(where: {Pool: {Address: {in: ["\\u0000", "\\\\", "\'", "\\n", "", "]", ","]}}}) { count }',
  ),
  sol(
    'DEXTrades(where: {Block: {Time: {since: "0000-01-01", till: "9999-12-31T23:59:59.999999999Z"}, Date: {is: "0001-01-01"}}}) { count }',
  ),
  sol(
    'DEXTrades(limit: {count: 9223372036854775807, offset: 9223372036854775807}) { Pool { Address } }',
  ),
  sol(
    'DEXTrades { count c: calculate(expression: "round($count / 0, 19) + 1e300 * 1e300 + 1e999") }',
  ),
  sol(
    `DEXTrades { count c: calculate(expression: "${Array.from({ length: 100 }, () => '$count').join('+')}") }`,
  ),
  sol(`DEXTrades { count c: calculate(expression: "${'('.repeat(49)}$count${')'.repeat(49)}") }`),
  sol(`DEXTrades(limitBy: {by: [${'Pool_Address '.repeat(900)}], count: 1}) { Pool { Address } }`),
  sol(
    `DEXTrades(where: {Pool: {Address: {likeCaseInsensitive: "${'%Ä_'.repeat(10)}${'ä'.repeat(270)}"}}}) { count }`,
  ),
  '{ EVM(network: constructor) { DEXTrades { count } } }',
  '{ EVM(network: __proto__) { DEXTrades { count } } }',
  '{ DEXTrades(network: constructor) { count } }',
  sol('DEXTrades(where: {Block: {Time: {constructor: 1}}}) { count }'),
  sol(
    'DEXTrades(orderBy: {descendingByField: "constructor"}) { __proto__: count constructor: uniq(of: Pool_Address) }',
  ),
  '{ __proto__: __schema { constructor: queryType { __proto__: name } } }',
]

test('extreme operands and JavaScript property names get a result or a typed error', async () => {
  for (const query of EDGES) await typed({ query }, query.slice(0, 200))
})

test('queries that are expensive to plan get a result or a typed error, also from the engine', async () => {
  for (const { name, query, variables, ends } of EXPENSIVE_QUERIES) {
    const { errors } = await typed({ query, variables }, name)
    const code = (errors?.[0] as { extensions?: { code?: string } } | undefined)?.extensions?.code
    if (ends !== 'plan') assert.equal(code, ends, name)
    else assert.ok(!errors || code === 'QUERY_TOO_EXPENSIVE', `${name}: ${errors?.[0]?.message}`)
  }
})

test('too many rows times aliases are refused before the query runs, too many bytes while they are written', async () => {
  const aliases = (count: number, name = 'a'): string =>
    Array.from({ length: count }, (_, i) => `${name}${i}: Signature`).join(' ')
  const codes = async (query: string) => {
    const { errors } = await typed({ query }, query.slice(0, 60))
    return errors as readonly { locations: unknown[]; extensions: { code: string } }[] | undefined
  }
  const trades = (rows: number, fields: string): string =>
    `DEXTrades(limit: {count: ${rows}}) { Transaction { ${fields} } }`
  const evm = await codes(
    `{ EVM(network: eth) { Transfers(limit: {count: 1500}) { Transaction { ${aliases(2_000).replaceAll('Signature', 'Hash')} } } } }`,
  )
  assert.equal(evm?.[0]?.extensions.code, 'QUERY_TOO_EXPENSIVE')
  assert.equal(evm?.[0]?.locations.length, 1)
  assert.equal(await codes(sol(trades(50, aliases(2_000)))), undefined)
  const long = 'a'.repeat(700)
  const many = Array.from({ length: 10 }, (_, i) => `s${i}: ${trades(50, '...L')}`).join(' ')
  const bytes = await codes(
    `${sol(many)} fragment L on DEXTradesTransactionRecord { ${aliases(290, long)} }`,
  )
  assert.equal(bytes?.[0]?.extensions.code, 'QUERY_TOO_EXPENSIVE', 'long names in every row')
})

test('a GraphQL statement that ClickHouse rejects answers 500 without details', async () => {
  await api.warehouse.command('ALTER TABLE sol_transfers DROP COLUMN amount')
  const query = sol('Transfers { Transfer { Amount } }')
  const { status, answer } = await post(JSON.stringify({ query }))
  assert.equal(status, 500)
  const extensions = { code: 'INTERNAL_SERVER_ERROR' }
  assert.deepEqual(answer.errors, [{ message: 'Internal error', locations: [], extensions }])
})
