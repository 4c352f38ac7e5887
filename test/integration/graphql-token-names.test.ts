/** What queries read of a chain's table of tokens, which has millions of rows: those of the tokens that they are about. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { buildTrades, storeTrades, transactionHash } from '../support/builders/stored-trades.ts'
import { startGraphql, type TestGraphql } from '../support/graphql-stack.ts'

const START = Date.UTC(2026, 2, 1)
const OTHER_TOKENS = 200_000
/** Rows of the index granules in which a few tokens stand, and of the other tables. */
const MAX_ROWS_READ = 60_000

let api: TestGraphql
before(async () => {
  api = await startGraphql(['eth'], START + 3_600_000)
  const trades = buildTrades(60, START)
  await storeTrades(api.warehouse, 'eth', trades)
  const transfers = trades.map((trade) => ({
    block_time: trade.timeMs,
    block_slot: trade.slot,
    tx_hash: transactionHash(trade),
    tx_index: trade.txIndex,
    event_index: trade.eventIndex,
    token_address: trade.buyToken,
    amount: '1',
    sender: 'A',
    receiver: 'B',
    success: 1,
    _ver: 1,
  }))
  await api.warehouse.insert('eth_transfers', transfers)
  for (let from = 0; from < OTHER_TOKENS; from += 50_000) {
    const tokens = Array.from({ length: 50_000 }, (_, index) => ({
      token_address: `0xf${(from + index).toString(16).padStart(39, '0')}`,
      name: `Another Coin ${from + index}`,
      symbol: `AC${from + index}`,
      decimals: 18,
      _ver: 1,
    }))
    await api.warehouse.insert('eth_tokens', tokens)
  }
})
after(() => api.stop())

const CURRENCY = 'Currency { MintAddress Symbol Name }'

/** Selections that read names in each way. */
const SELECTIONS: Readonly<Record<string, string>> = {
  'names of a page': `DEXTrades(limit: {count: 5}) { Trade { Buy { ${CURRENCY} } Sell { ${CURRENCY} } } }`,
  'names of both sides of a page': `DEXTradeByTokens(limit: {count: 5}) { Trade { ${CURRENCY} Side { ${CURRENCY} } } }`,
  'names as group keys': `DEXTradeByTokens { Trade { ${CURRENCY} } count }`,
  'an order by name': `DEXTradeByTokens(orderBy: {ascending: Trade_Currency_Symbol}) { Trade { ${CURRENCY} } }`,
  'a filter by name or side': `DEXTradeByTokens(where: {any: [{Trade: {Currency: {Symbol: {is: "TC1"}}}}, {Trade: {Side: {Type: {is: buy}}}}]}) { Trade { ${CURRENCY} } }`,
  'names of joined rows': `DEXTrades(limit: {count: 5}) { Trade { Buy { ${CURRENCY} } } joinTransfers { Transfer { ${CURRENCY} } } }`,
}

const NAMED = /"Symbol":"TC\d","Name":"Test Coin \d"/

for (const [title, selection] of Object.entries(SELECTIONS)) {
  test(`of the table of tokens a query with ${title} reads a few rows`, async () => {
    const { data, errors, extensions } = await api.ask(`{ EVM(network: eth) { ${selection} } }`)
    assert.equal(errors, undefined, JSON.stringify(errors))
    assert.match(JSON.stringify(data), NAMED)
    const read = extensions?.stats?.rows_read
    assert.ok(read !== undefined && read < MAX_ROWS_READ, `${read} rows`)
  })
}
