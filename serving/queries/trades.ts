import { optionalQueryTime, RESOLUTIONS } from '../../core/time.ts'
import type { TradeQuery } from '../../schemas/api/trade.ts'
import type { KeysetList, KeysetRow, OrderColumn } from './keyset-list.ts'
import { headTimeSql } from './latest-block.ts'
import { WALLET_WINDOWS_MS, WHOLE_CHAIN_WINDOWS_MS } from './read-in-windows.ts'
import { wideMoney } from './valued-amounts.ts'

/** A trade, or another activity on a pool, seen from one of its tokens. Amounts are base units. */
export interface TradeRow extends KeysetRow {
  readonly height: string
  readonly time_ms: string
  readonly tx_hash: string
  readonly tx_status: string
  readonly fee_raw: string
  readonly fee_native: string
  readonly fee_usd: string | null
  readonly trader: string
  readonly activity: string
  readonly pool: string
  readonly program: string
  readonly family: string
  readonly token: string
  readonly token_decimals: number | null
  readonly token_raw: string
  readonly price_usd: number | null
  readonly price_native: number | null
  readonly value_usd: string | null
  readonly value_native: string | null
  readonly side: string
  readonly side_decimals: number | null
  readonly side_raw: string
  readonly side_price_usd: number | null
  /** null: not a trade. */
  readonly is_suspect: 0 | 1 | null
}

/** A trade's place in its chain, and the side that is shown. */
const POSITION_ORDER: readonly OrderColumn[] = [
  { sql: 't.block_slot', type: 'UInt64' },
  { sql: 't.tx_index', type: 'UInt32' },
  { sql: 't.event_index', type: 'UInt32' },
  { sql: 'toUInt32(t.is_base)', type: 'UInt32' },
]

/** Columns of a trade `t`, by the names of `TradeRow`. */
export const TRADE_COLUMNS = `toString(t.block_height) AS height, toString(toUnixTimestamp64Milli(t.block_time)) AS time_ms,
  t.tx_hash AS tx_hash, toString(t.tx_status) AS tx_status, toString(t.tx_fee) AS fee_raw,
  toString(t.tx_fee_native) AS fee_native, toString(t.tx_fee_usd) AS fee_usd,
  t.owner AS trader, toString(t.side) AS activity, t.pool_address AS pool,
  toString(t.program_address) AS program, toString(t.protocol_family) AS family,
  t.token_address AS token, t.decimals AS token_decimals, toString(t.amount) AS token_raw,
  t.price_usd AS price_usd, t.price_native AS price_native,
  toString(t.amount_usd) AS value_usd, toString(t.amount_native) AS value_native,
  t.side_token AS side, t.side_decimals AS side_decimals, toString(t.side_amount) AS side_raw,
  t.side_price_usd AS side_price_usd, t.is_suspect AS is_suspect`

/** A parameter that is true or false, as the tables write it. */
export const optionalFlag = (value: boolean | undefined): 0 | 1 | undefined =>
  value === undefined ? undefined : value ? 1 : 0

interface Condition {
  readonly sql: string
  readonly value: string | number | undefined
}

/** Conditions of a trade query by parameter; bounds are exclusive, by the names of the parameters. */
const tradeConditions = (query: TradeQuery): Readonly<Record<string, Condition>> => ({
  token: { sql: 't.token_address = {token:String}', value: query.tokenAddress },
  wallet: { sql: 't.owner = {wallet:String}', value: query.walletAddress },
  pool: { sql: 't.pool_address = {pool:String}', value: query.poolAddress },
  tx: { sql: 't.tx_hash = {tx:String}', value: query.transactionsSignature },
  type: { sql: 't.side = {type:String}', value: query.type },
  suspect: { sql: 't.is_suspect = {suspect:UInt8}', value: optionalFlag(query.isSuspect) },
  before: {
    sql: 't.block_time < fromUnixTimestamp64Milli({before:Int64})',
    value: optionalQueryTime(query.beforeTimestamp),
  },
  after: {
    sql: 't.block_time > fromUnixTimestamp64Milli({after:Int64})',
    value: optionalQueryTime(query.afterTimestamp),
  },
  below: { sql: 't.block_height < {below:UInt64}', value: query.beforeBlockHeight },
  above: { sql: 't.block_height > {above:UInt64}', value: query.afterBlockHeight },
})

const LEG_COLUMNS = [
  ...['token', 'decimals', 'amount', 'owner', 'price_usd', 'price_native', 'amount_usd'],
  'amount_native',
] as const

/** What a column of the base leg is called in a trade that is seen from it. */
const LEG_COLUMN_NAMES: Readonly<Record<string, string>> = { token: 'token_address' }

const legColumn = (column: string, isBase: boolean, name: string): string =>
  `if(base_is_buy = ${isBase ? 1 : 0}, buy_${column}, sell_${column}) AS ${name}`

/** Every trade once, seen from its base token, in the order in which the table is kept. */
export const baseTradesSelect = (
  chain: string,
): string => `SELECT block_slot, block_height, block_time, tx_hash, tx_index, tx_status, tx_fee, tx_fee_native, tx_fee_usd,
    event_index, program_address, protocol_family, pool_address, is_suspect, toUInt8(1) AS is_base, if(base_is_buy = 1, 'BUY', 'SELL') AS side,
    ${LEG_COLUMNS.map((column) => legColumn(column, true, LEG_COLUMN_NAMES[column] ?? column)).join(', ')},
    ${['token', 'decimals', 'amount', 'price_usd'].map((column) => legColumn(column, false, `side_${column}`)).join(', ')}
  FROM ${chain}_dex_trades FINAL`

/** The table whose order fits a query: trades are kept by token, by wallet, and by their place in the chain. */
const tradeTable = (chain: string, query: TradeQuery): string => {
  if (query.walletAddress !== undefined) return `${chain}_dex_trades_by_wallet AS t FINAL`
  return query.tokenAddress === undefined
    ? `(${baseTradesSelect(chain)}) AS t`
    : `${chain}_dex_trades_enriched AS t FINAL`
}

/** Windows of a list of what happens on a chain, to a token, or to a wallet. */
export const windowsOf = ({
  tokenAddress,
  walletAddress,
}: {
  readonly tokenAddress?: string | undefined
  readonly walletAddress?: string | undefined
}): Pick<KeysetList, 'windowsMs'> => {
  if (walletAddress !== undefined) return { windowsMs: WALLET_WINDOWS_MS }
  return tokenAddress === undefined ? { windowsMs: WHOLE_CHAIN_WINDOWS_MS } : {}
}

/** Trades of a chain, newest first: seen from the token that is asked for, else from the base token of each. */
export const tradesList = (chain: string, query: TradeQuery): KeysetList => {
  const asked = Object.entries(tradeConditions(query)).filter(
    ([, { value }]) => value !== undefined,
  )
  const base = query.tokenAddress === undefined ? ['t.is_base = 1'] : []
  return {
    columns: TRADE_COLUMNS,
    from: tradeTable(chain, query),
    where: [...base, ...asked.map(([, { sql }]) => sql)],
    order: POSITION_ORDER,
    time: 't.block_time',
    ...windowsOf(query),
    descending: true,
    params: Object.fromEntries(asked.map(([name, { value }]) => [name, value])),
  }
}

/** A wallet by what it traded of one token. */
export interface TopTraderRow extends KeysetRow {
  readonly wallet: string
  readonly token: string
  readonly decimals: number | null
  readonly buys: string
  readonly sells: string
  readonly buy_raw: string
  readonly sell_raw: string
  readonly buy_usd: string
  readonly sell_usd: string
  readonly buy_native: string
  readonly sell_native: string
}

const WINDOW_MS = { ...RESOLUTIONS, '24h': RESOLUTIONS['1d'] } as Readonly<
  Record<string, number | null>
>

/** Wallets by what they traded of a token in the last `timeFrame` of the chain's time. */
export const topTradersList = (
  chain: string,
  query: {
    readonly token: string
    readonly timeFrame: string
    readonly by: 'amount' | 'count'
    readonly descending: boolean
  },
): KeysetList => ({
  with: `${headTimeSql(chain)} AS head`,
  columns: `t.wallet AS wallet, t.token AS token, t.decimals AS decimals, toString(t.buys) AS buys, toString(t.sells) AS sells,
  toString(t.buy_raw) AS buy_raw, toString(t.sell_raw) AS sell_raw, toString(t.buy_usd) AS buy_usd,
  toString(t.sell_usd) AS sell_usd, toString(t.buy_native) AS buy_native, toString(t.sell_native) AS sell_native`,
  from: `(SELECT owner AS wallet, any(token_address) AS token, any(decimals) AS decimals,
  countIf(side = 'BUY') AS buys, countIf(side = 'SELL') AS sells,
  sumIf(amount, side = 'BUY') AS buy_raw, sumIf(amount, side = 'SELL') AS sell_raw,
  sumIf(${wideMoney('ifNull(amount_usd, 0)')}, side = 'BUY') AS buy_usd,
  sumIf(${wideMoney('ifNull(amount_usd, 0)')}, side = 'SELL') AS sell_usd,
  sumIf(${wideMoney('ifNull(amount_native, 0)')}, side = 'BUY') AS buy_native,
  sumIf(${wideMoney('ifNull(amount_native, 0)')}, side = 'SELL') AS sell_native
  FROM ${chain}_dex_trades_enriched FINAL
  WHERE token_address = {token:String} AND block_time > head - toIntervalMillisecond({window:UInt64})
  GROUP BY owner) AS t`,
  where: [],
  order: [
    query.by === 'amount'
      ? { sql: 't.buy_raw + t.sell_raw', type: 'UInt256' }
      : { sql: 't.buys + t.sells', type: 'UInt64' },
    { sql: 't.wallet', type: 'String' },
  ],
  descending: query.descending,
  params: { token: query.token, window: WINDOW_MS[query.timeFrame] ?? RESOLUTIONS['1d'] },
})

/** A wallet by what it realized. */
export interface GainerRow extends KeysetRow {
  readonly wallet: string
  readonly pnl: string
  readonly volume: string
  readonly trades: string
}

const RESOLUTION_DAYS = { '1d': 1, '7d': 7, '30d': 30 } as const

/** Wallets that sold in the last days of the chain's time, by what those sales realized. */
export const gainerList = (
  chain: string,
  query: { readonly resolution: keyof typeof RESOLUTION_DAYS; readonly descending: boolean },
): KeysetList => ({
  with: `${headTimeSql(chain)} AS head`,
  columns: `t.wallet AS wallet, toString(t.pnl) AS pnl, toString(t.volume) AS volume, toString(t.trades) AS trades`,
  from: `(SELECT wallet, sum(${wideMoney('realized_usd')}) AS pnl, sum(${wideMoney('ifNull(amount_usd, 0)')}) AS volume,
  count() AS trades FROM ${chain}_wallet_pnl_trades FINAL
  WHERE block_time > head - toIntervalDay({days:UInt8})
  GROUP BY wallet HAVING countIf(side = 'SELL') > 0) AS t`,
  where: [],
  order: [
    { sql: 't.pnl', type: 'Decimal256(12)' },
    { sql: 't.wallet', type: 'String' },
  ],
  descending: query.descending,
  params: { days: RESOLUTION_DAYS[query.resolution] },
})
