/** Generated rows of the tables behind the paged lists of the REST API, as statements of the engine. */
import { DAY_MS, HOUR_MS } from '../../../core/time.ts'
import { ASKED, HEAD_MS } from '../paged-lists.ts'

/** How much is generated of what the lists are asked for: one row of so many. */
export const SHARES = { token: 10, wallet: 1_000, pool: 100 } as const

const DAYS = 30
const ROWS_PER_BLOCK = 10
const POOLS_OF_TOKEN = 20
const FIRST_SLOT = 1_000_000

/** Columns of a table by name, as SQL of `number`. */
type GeneratedColumns = Readonly<Record<string, string>>

const text = (value: string): string => `'${value}'`
const random = (purpose: string, below: number, of = 'number'): string =>
  `(cityHash64('${purpose}', ${of}) % ${Math.max(1, Math.floor(below))})`
/** An address of a kind by its number, in no order; `length` hexadecimal digits. */
const address = (kind: string, n: string, length = 40): string =>
  `concat('0x', leftPad(lower(hex(cityHash64('${kind}', toUInt64(${n})))), ${length}, '0'))`
const hash = (kind: string, n: string): string => address(kind, n, 64)
const oneOf = (share: number, asked: string, other: string, rest = 0): string =>
  `if(number % ${share} = ${rest}, ${text(asked)}, ${other})`
const timeOf = (ms: string): string => `fromUnixTimestamp64Milli(toInt64(${ms}))`
const money = (purpose: string): string => `toDecimal128(${random(purpose, 10 ** 9)} / 100., 12)`
const amount = (purpose: string): string => `toUInt256(cityHash64('${purpose}', number))`

/** Rows of one table, for a run of so many rows. */
export interface GeneratedTable {
  readonly table: string
  readonly columns: GeneratedColumns
}

/** Blocks of ten rows at equal distances over thirty days, the last of them at the head. */
const eventColumns = (rows: number): GeneratedColumns => {
  const blocks = Math.ceil(rows / ROWS_PER_BLOCK)
  const block = `intDiv(number, ${ROWS_PER_BLOCK})`
  return {
    block_time: timeOf(
      `${HEAD_MS} - intDiv((${blocks} - 1 - ${block}) * ${DAYS * DAY_MS}, ${blocks})`,
    ),
    block_slot: `${FIRST_SLOT} + ${block}`,
    block_height: `${FIRST_SLOT} + ${block}`,
    block_hash: hash('block', block),
    tx_hash: hash('tx', 'number'),
    tx_index: `number % ${ROWS_PER_BLOCK}`,
    event_index: `number % ${ROWS_PER_BLOCK}`,
    _ver: '1',
  }
}

const without = (columns: GeneratedColumns, ...names: readonly string[]): GeneratedColumns =>
  Object.fromEntries(Object.entries(columns).filter(([name]) => !names.includes(name)))

const otherToken = (rows: number): string => random('token', rows / 100)
const eventToken = (rows: number): string =>
  oneOf(SHARES.token, ASKED.token, address('token', otherToken(rows)))
const eventPool = (rows: number): string =>
  `multiIf(number % ${SHARES.pool} = 0, ${text(ASKED.pool)},
  number % ${SHARES.token} = 0, ${address('token-pool', `intDiv(number, ${SHARES.token}) % ${POOLS_OF_TOKEN}`)}, ${address('pool', otherToken(rows))})`
const eventWallet = (rows: number, kind = 'wallet'): string =>
  oneOf(SHARES.wallet, ASKED.wallet, address('wallet', random(kind, rows / 50)), 10)

/** Both legs of a trade; every second is a purchase of the base token. */
const tradeColumns = (rows: number): GeneratedColumns => {
  const leg = (isBase: boolean): GeneratedColumns => ({
    token: isBase ? eventToken(rows) : text(ASKED.quote),
    decimals: isBase ? '18' : '6',
    amount: amount(isBase ? 'base' : 'quote'),
    owner: eventWallet(rows),
    price_usd: isBase ? `${random('price', 10_000)} / 100. + 1` : '1.',
    price_native: `${random('price', 10_000)} / 100. + 1`,
    amount_usd: money('usd'),
    amount_native: money('native'),
  })
  const [base, quote] = [leg(true), leg(false)]
  const legs = (name: 'buy' | 'sell', isBase: string): [string, string][] =>
    Object.keys(base).map((column) => [
      `${name}_${column}`,
      `if(${isBase}, ${base[column]}, ${quote[column]})`,
    ])
  const isBuy = 'intDiv(number, 10) % 2 = 0'
  return {
    ...eventColumns(rows),
    tx_status: "'SUCCESS'",
    protocol_family: "'uniswap_v2'",
    pool_address: eventPool(rows),
    base_is_buy: isBuy,
    is_suspect: '0',
    ...Object.fromEntries([...legs('buy', isBuy), ...legs('sell', `NOT (${isBuy})`)]),
  }
}

const poolEventColumns = (rows: number): GeneratedColumns => ({
  ...eventColumns(rows),
  event_type: `multiIf(${random('event', 10)} = 0, 'INCREASE_LIQUIDITY', ${random('event', 10)} = 1, 'DECREASE_LIQUIDITY', 'SWAP')`,
  pool_address: eventPool(rows),
  base_token: eventToken(rows),
  base_decimals: '18',
  quote_token: text(ASKED.quote),
  quote_decimals: '6',
  base_change: `toInt256(${amount('base')})`,
  quote_change: `toInt256(${amount('quote')})`,
  base_post: amount('base-post'),
  quote_post: amount('quote-post'),
  base_price_usd: `${random('price', 10_000)} / 100. + 1`,
  quote_price_usd: '1.',
  liquidity_usd: money('usd'),
  liquidity_native: money('native'),
  lp_wallet: eventWallet(rows),
})

/** Pairs of a wallet and a token, most of them once. */
const pairColumns = (wallet: string): GeneratedColumns => ({
  token_address: oneOf(SHARES.token, ASKED.token, address('token', 'number')),
  [wallet]: oneOf(SHARES.wallet, ASKED.wallet, address('wallet', 'number'), 11),
  _ver: '1',
})
const balanceColumns: GeneratedColumns = {
  ...pairColumns('holder'),
  decimals: '18',
  balance: amount('balance'),
  first_seen: timeOf(`${HEAD_MS} - ${random('first', DAYS * DAY_MS)}`),
  last_seen: timeOf(`${HEAD_MS} - ${random('last', HOUR_MS)}`),
}
const profitColumns: GeneratedColumns = {
  ...pairColumns('wallet'),
  buys: '2',
  sells: '1',
  wins: '1',
  losses: '0',
  buy_amount: '100',
  sell_amount: '40',
  position_amount: '60',
  buy_amount_usd: money('buy'),
  sell_amount_usd: money('sell'),
  realized_usd: money('realized'),
  total_realized_usd: money('total'),
  position_cost_usd: money('cost'),
  open_time: timeOf(`${HEAD_MS}`),
  first_time: timeOf(`${HEAD_MS} - ${random('first', DAYS * DAY_MS)}`),
  last_time: timeOf(`${HEAD_MS} - ${random('last', HOUR_MS)}`),
}

const saleColumns = (rows: number): GeneratedColumns => ({
  ...without(eventColumns(rows), 'tx_index'),
  wallet: eventWallet(rows),
  token_address: eventToken(rows),
  side: "if(number % 2 = 0, 'BUY', 'SELL')",
  amount: '1',
  amount_usd: money('usd'),
  realized_usd: money('realized'),
})

const poolColumns: GeneratedColumns = {
  pool_address: `multiIf(number = 0, ${text(ASKED.pool)}, number <= ${POOLS_OF_TOKEN}, ${address('token-pool', 'number - 1')}, ${address('pool', 'number')})`,
  token_a: `if(number <= ${POOLS_OF_TOKEN} OR number % ${SHARES.wallet} = 0, ${text(ASKED.token)}, ${address('token', 'number')})`,
  token_b: text(ASKED.quote),
  protocol_family: "'uniswap_v2'",
  decimals_a: '18',
  decimals_b: '6',
  base_is_a: '1',
  reserve_a: amount('a'),
  reserve_b: amount('b'),
  liquidity_usd: money('usd'),
  liquidity_native: money('native'),
  last_updated: timeOf(`${HEAD_MS}`),
  _ver: '1',
}

const numberedToken = `if(number = 0, ${text(ASKED.token)}, ${address('token', 'number')})`
const RESOLUTIONS = ['1m', '5m', '15m', '30m', '1h', '4h', '24h']

const tokenTables = (rows: number): readonly GeneratedTable[] => [
  {
    table: 'eth_tokens',
    columns: {
      token_address: numberedToken,
      name: `concat(if(number % 10 = 0, 'Paged ', 'Token '), toString(number))`,
      symbol: `concat('T', toString(number))`,
      decimals: '18',
      total_supply: amount('supply'),
      created_tx: hash('tx', 'number'),
      created_at: timeOf(`${HEAD_MS} - ${random('made', DAYS * DAY_MS)}`),
      created_slot: 'number',
      dev: oneOf(SHARES.wallet, ASKED.wallet, address('wallet', random('dev', rows / 20))),
      _ver: '1',
    },
  },
  {
    table: 'eth_token_stats',
    columns: {
      token_address: address('token', `intDiv(number, ${RESOLUTIONS.length})`),
      resolution: `[${RESOLUTIONS.map(text).join(', ')}][number % ${RESOLUTIONS.length} + 1]`,
      stat_time: timeOf(`${HEAD_MS} - ${random('stat', 2 * DAY_MS)}`),
      buys: random('buys', 1_000),
      sells: '1',
      buyers: '1',
      sellers: '1',
      traders: '2',
      pools: '1',
      programs: '1',
      open_usd: '1.',
      close_usd: `${random('close', 1_000)} / 100.`,
      buy_volume_usd: money('buy'),
      sell_volume_usd: money('sell'),
      version: '1',
    },
  },
  {
    table: 'eth_token_prices',
    columns: {
      token_address: numberedToken,
      price_time: timeOf(`${HEAD_MS}`),
      _ver: '1',
      price_usd: `${random('price', 10_000)} / 100. + 1`,
      price_native: '1.',
    },
  },
]

const predictionTables = (rows: number): readonly GeneratedTable[] => {
  const condition = oneOf(SHARES.token, ASKED.condition, hash('condition', random('c', rows / 100)))
  const event = { ...eventColumns(rows), log_index: 'number % 10', condition_id: condition }
  const sums = {
    quantity: amount('quantity'),
    volume: amount('volume'),
    changes: '1',
    _ver: '1',
    realized: `toInt256(${amount('realized')})`,
    first_time: timeOf(`${HEAD_MS} - ${random('first', DAYS * DAY_MS)}`),
    last_time: timeOf(`${HEAD_MS} - ${random('last', HOUR_MS)}`),
  }
  const wallet = oneOf(SHARES.wallet, ASKED.wallet, address('wallet', 'number'), 11)
  const position = {
    condition_id: condition,
    wallet,
    ...sums,
    outcome_token: `if(number % ${SHARES.token} = 0, '7', toString(number + 10))`,
  }
  const totals = without({ ...sums, wallet: address('wallet', 'number') }, 'quantity', 'first_time')
  return [
    {
      table: 'polygon_prediction_trades',
      columns: {
        ...event,
        buyer: eventWallet(rows),
        seller: eventWallet(rows, 'seller'),
        outcome_token: "'7'",
        amount: amount('amount'),
        collateral_amount: amount('paid'),
        price: '0.5',
      },
    },
    {
      table: 'polygon_prediction_settlements',
      columns: {
        ...event,
        tx_hash: hash('settlement', 'number'),
        event_type: "'Redemption'",
        tx_index: '10 + number % 10',
        holder: eventWallet(rows),
        outcome_token_ids: "['7']",
        amounts: `[${amount('got')}]`,
      },
    },
    { table: 'polygon_prediction_positions', columns: position },
    { table: 'polygon_prediction_wallet_positions', columns: position },
    { table: 'polygon_prediction_wallets', columns: totals },
    {
      table: 'polygon_prediction_wallet_days',
      columns: { ...totals, day: `${Math.floor(HEAD_MS / DAY_MS)} - number % ${DAYS}` },
    },
  ]
}

const packetTables = (rows: number): readonly GeneratedTable[] => [
  {
    table: 'eth_redpackets',
    columns: {
      ...eventColumns(rows),
      packet_id: `if(number = 0, ${text(ASKED.packet)}, ${hash('packet', 'number')})`,
      creator: eventWallet(rows),
      total_amount: amount('total'),
      max_claims: '3',
      created_at: timeOf(`${HEAD_MS}`),
    },
  },
  {
    table: 'eth_redpacket_claims',
    columns: {
      ...eventColumns(rows),
      packet_id: oneOf(SHARES.wallet, ASKED.packet, hash('packet', random('packet', rows))),
      claimer: eventWallet(rows),
      amount: amount('amount'),
    },
  },
]

const attemptColumns = (rows: number, endpoint: string): GeneratedColumns => ({
  id: `concat('att_', leftPad(toString(number), 26, '0'))`,
  message_id: `concat('msg_', leftPad(toString(if(number % ${SHARES.wallet} = 0, 0, intDiv(number, 4))), 26, '0'))`,
  endpoint_id: oneOf(SHARES.token, endpoint, address('endpoint', random('endpoint', 1_000))),
  org_id: "'org'",
  url: "'https://receiver.example.com/'",
  channel: "'sol.token.created'",
  status: "'fail'",
  trigger: "'scheduled'",
  attempt: '1',
  _ver: '1',
  at: `fromUnixTimestamp64Milli(toInt64(toUnixTimestamp64Milli(now64(3)) - intDiv((${rows} - number) * ${DAY_MS}, ${rows})))`,
})

/** Every table behind the lists, each with `rows` rows; `endpoint` is a webhook endpoint of the caller. */
export const generatedTables = (rows: number, endpoint: string): readonly GeneratedTable[] => [
  { table: 'eth_dex_trades', columns: tradeColumns(rows) },
  {
    table: 'eth_transfers',
    columns: {
      ...eventColumns(rows),
      token_address: eventToken(rows),
      decimals: '18',
      sender: eventWallet(rows),
      receiver: address('wallet', random('to', rows / 50)),
      amount: amount('amount'),
      amount_usd: money('usd'),
      success: '1',
    },
  },
  { table: 'eth_dex_pool_events_enriched', columns: poolEventColumns(rows) },
  { table: 'eth_wallet_pnl_trades', columns: saleColumns(rows) },
  {
    table: 'eth_balance_updates',
    columns: {
      ...eventColumns(rows),
      token_address: eventToken(rows),
      decimals: '18',
      token_account: eventWallet(rows),
      owner: eventWallet(rows),
      pre_balance: '0',
      post_balance: amount('post'),
      owner_balance: amount('post'),
    },
  },
  {
    table: 'eth_token_supplies',
    columns: {
      ...eventColumns(rows),
      token_address: eventToken(rows),
      decimals: '18',
      event_type: "if(number % 20 = 0, 'MINT', 'BURN')",
      amount: amount('amount'),
    },
  },
  { table: 'eth_dex_pools', columns: poolColumns },
  ...tokenTables(rows),
  { table: 'eth_token_holders', columns: balanceColumns },
  { table: 'eth_wallet_balances', columns: balanceColumns },
  { table: 'eth_wallet_token_pnl', columns: profitColumns },
  ...packetTables(rows),
  ...predictionTables(rows),
  { table: 'webhook_attempts', columns: attemptColumns(rows, endpoint) },
]

/** Inserts the blocks of the generated events. */
export const generatedBlocksSql = (table: string, rows: number): string => {
  const { block_time, block_slot, block_height, block_hash } = eventColumns(rows)
  return `INSERT INTO ${table} (block_time, block_slot, block_height, block_hash, commitment, _ver)
SELECT ${block_time}, ${block_slot}, ${block_height}, ${block_hash}, 'CONFIRMED', 1
FROM (SELECT number * ${ROWS_PER_BLOCK} AS number FROM numbers(${Math.ceil(rows / ROWS_PER_BLOCK)}))`
}

/** Inserts `count` generated rows of a table from number `from` on. */
export const insertGeneratedSql = (
  { table, columns }: GeneratedTable,
  from: number,
  count: number,
): string => `INSERT INTO ${table} (${Object.keys(columns).join(', ')})
SELECT ${Object.values(columns).join(', ')} FROM numbers(${from}, ${count})`
